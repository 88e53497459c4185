use std::path::Path;

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;

async fn check(cwd: &Path, items: Value, expected: Expect) {
    let items: Vec<UserInput> = serde_json::from_value(items).unwrap();
    let place = MessageContext {
        cwd: cwd.to_owned(),
        skills: Arc::default(),
        author: MessageAuthor::User,
        pictures: Arc::default(),
    };
    let found = match read(&items, &place).await {
        Err(refusal) => format!("refused: {}", refusal.message),
        Ok(message) => match message.item.unwrap() {
            ResponseItem::Message { content, .. } => {
                serde_json::to_value(content).unwrap().to_string()
            }
            other => format!("{other:?}"),
        },
    };
    expected.assert_eq(&found.replace(&cwd.display().to_string(), "{cwd}"));
}

#[tokio::test]
async fn elements_of_a_text_are_for_people_and_must_be_parts_of_it() {
    let cwd = Path::new("/");
    let text = |text: &str, range: Value| {
        let elements = json!([{"byte_range": range, "placeholder": "[paste]"}]);
        json!([{"type": "text", "text": text, "text_elements": elements}])
    };
    check(
        cwd,
        text("häh", json!({"start": 0, "end": 3})),
        expect![[r#"[{"type":"input_text","text":"häh"}]"#]],
    )
    .await;
    check(cwd, text("häh", json!({"start": 0, "end": 2})), expect!["refused: text_elements[0] is no part of its text: bytes 0..2 of 4, which must lie between characters"]).await;
    check(cwd, text("häh", json!({"start": 3, "end": 1})), expect!["refused: text_elements[0] is no part of its text: bytes 3..1 of 4, which must lie between characters"]).await;
    check(cwd, text("häh", json!({"start": 0, "end": 9})), expect!["refused: text_elements[0] is no part of its text: bytes 0..9 of 4, which must lie between characters"]).await;
}

#[tokio::test]
async fn a_mention_is_a_name_with_where_it_leads() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("plan.md"), "x").unwrap();
    let mention = |name: &str, path: &str| json!([{"type": "text", "text": "see"}, {"type": "mention", "name": name, "path": path}]);
    check(dir.path(), mention("Mail", "app://mail_1"), expect![[r#"[{"type":"input_text","text":"see"},{"type":"input_text","text":"<mention name=\"Mail\">app://mail_1</mention>"}]"#]]).await;
    check(dir.path(), mention("plan", "plan.md"), expect![[r#"[{"type":"input_text","text":"see"},{"type":"input_text","text":"<mention name=\"plan\">{cwd}/plan.md</mention>"}]"#]]).await;
    check(dir.path(), mention("plan", "nowhere.md"), expect!["refused: the mention plan leads to {cwd}/nowhere.md, which is not there: No such file or directory (os error 2)"]).await;
    check(dir.path(), mention("plan", ""), expect!["refused: the mention plan leads nowhere: give it the path of a file, or an address such as app://ID, of at most 4096 bytes"]).await;
    check(dir.path(), mention("a\nb", "app://x"), expect!["refused: a mention has no usable name: give it one of at most 256 characters, in one line"]).await;
}

#[tokio::test]
async fn a_picture_that_cannot_be_sent_is_refused() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("text.png"), "no picture").unwrap();
    std::fs::create_dir(dir.path().join("folder")).unwrap();
    let image = |url: &str| json!([{"type": "image", "image_url": url}]);
    let local = |path: &str| json!([{"type": "local_image", "path": path}]);
    check(
        dir.path(),
        image("https://example.org/a.png"),
        expect![[r#"[{"type":"input_image","image_url":"https://example.org/a.png"}]"#]],
    )
    .await;
    check(dir.path(), image("file:///a.png"), expect!["refused: image_url begins with neither https:, http: nor data:; send a file as local_image"]).await;
    check(dir.path(), image("data:image/png;base64,AAAA"), expect!["refused: the picture of the data URL is not a PNG, JPEG, GIF or WebP image, by its first bytes"]).await;
    check(dir.path(), local("text.png"), expect!["refused: local_image: {cwd}/text.png is not a PNG, JPEG, GIF or WebP image, by its first bytes"]).await;
    check(
        dir.path(),
        local("folder"),
        expect![
            "refused: local_image: {cwd}/folder is a directory, not a file; list it with list_dir"
        ],
    )
    .await;
    check(
        dir.path(),
        local("nowhere.png"),
        expect!["refused: local_image: cannot open {cwd}/nowhere.png: it does not exist"],
    )
    .await;
    let many: Vec<Value> = vec![image("https://x/a.png")[0].clone(); 101];
    check(
        dir.path(),
        json!(many),
        expect!["refused: the message has 101 images; at most 100 are taken"],
    )
    .await;
}

#[tokio::test]
async fn a_message_says_something() {
    check(
        Path::new("/"),
        json!([]),
        expect!["refused: the message has no items; send at least one"],
    )
    .await;
    check(
        Path::new("/"),
        json!([{"type": "text", "text": " \n"}, {"type": "text", "text": ""}]),
        expect!["refused: the message is blank; say something"],
    )
    .await;
    let skill = json!([{"type": "skill", "name": "ship", "path": "/nowhere/SKILL.md"}]);
    check(Path::new("/"), skill, expect!["refused: there is no skill ship at {cwd}nowhere{cwd}SKILL.md; list_skills tells which there are, and what is wrong with others"]).await;
}
