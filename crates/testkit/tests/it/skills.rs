//! Skills through the wire: what the model is told, what a message chooses, what changes.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use expect_test::expect;
use serde_json::Value;
use troupe_engine::skills::{SkillLibrary, SkillPlaces};
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::SkillsEntry;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{SkillItem, TurnItem};
use troupe_protocol::op::Op;
use troupe_testkit::{Actor, Stage};

const TALK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "one" }]
[[scene.turn]]
steps = [{ say = "two" }]
[[scene.turn]]
steps = [{ say = "three" }]
"#;

fn skill(stage: &Stage, place: &str, description: &str, body: &str) -> PathBuf {
    let directory = stage.cwd().join(place);
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join("SKILL.md");
    let text = format!("---\ndescription: {description}\n---\n{body}\n");
    fs::write(&path, text).unwrap();
    path.canonicalize().unwrap()
}

/// Returns the texts of the user's side of the n-th request that begin like this.
fn told(stage: &Stage, n: usize, begin: &str) -> Vec<String> {
    let input = stage.input_of(n);
    let texts = input
        .iter()
        .filter_map(|item| item["content"][0]["text"].as_str());
    let texts = texts.filter(|text| text.starts_with(begin));
    texts.map(ToOwned::to_owned).collect()
}

fn listings(stage: &Stage, n: usize) -> Vec<String> {
    told(stage, n, "<skills_instructions>")
}

fn bodies(stage: &Stage, n: usize) -> Vec<String> {
    told(stage, n, "<skill>")
}

fn items(msgs: &[EventMsg]) -> Vec<SkillItem> {
    let items = msgs.iter().filter_map(|msg| match msg {
        EventMsg::ItemCompleted {
            item: TurnItem::Skill(item),
            ..
        } => Some(item.clone()),
        _ => None,
    });
    items.collect()
}

fn turn(items: Vec<UserInput>) -> Op {
    Op::UserInput {
        items,
        final_output_json_schema: None,
        last_response_id: None,
    }
}

async fn listed(actor: &mut Actor, cwds: Vec<PathBuf>) -> Vec<SkillsEntry> {
    let op = Op::ListSkills {
        cwds,
        force_reload: true,
    };
    actor.submit(op).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ListSkillsResponse { .. }))
        .await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::ListSkillsResponse { skills }) => skills,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

#[tokio::test]
async fn without_skills_nothing_is_said_of_them() {
    let stage = Stage::new(TALK).await;
    let mut actor = stage.start().await;
    actor.turn("what does $ship cost?").await;
    assert_eq!(listings(&stage, 0), [""; 0]);
    let entries = listed(&mut actor, Vec::new()).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].cwd, stage.cwd());
    assert_eq!((entries[0].skills.len(), entries[0].errors.len()), (0, 0));
}

#[tokio::test]
async fn the_model_is_told_which_skills_there_are_once() {
    let stage = Stage::new(TALK).await;
    let path = skill(&stage, ".agents/skills/ship", "Ships it.", "Do it.");
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("hi").await;
    let lists = listings(&stage, 0);
    assert_eq!(lists.len(), 1);
    let entry = format!("\n- ship: Ships it. (file: {})\n", path.display());
    assert!(lists[0].contains(&entry), "{}", lists[0]);
    assert!(bodies(&stage, 0).is_empty());
    actor.turn("again").await;
    assert_eq!(listings(&stage, 1), lists);
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("and after resume").await;
    assert_eq!(listings(&stage, 2), lists);
}

#[tokio::test]
async fn a_skill_that_is_named_comes_before_the_message() {
    let stage = Stage::new(TALK).await;
    let path = skill(
        &stage,
        ".troupe/skills/ship",
        "Ships it.",
        "Tag, then push.",
    );
    let mut actor = stage.start().await;
    let session = actor.session_id();
    let msgs = actor.turn("use $ship, not $shop").await;
    let shown = items(&msgs);
    assert_eq!(shown.len(), 1, "{msgs:#?}");
    assert_eq!((shown[0].name.as_str(), &shown[0].path), ("ship", &path));
    assert!(!shown[0].truncated);
    let bodies = bodies(&stage, 0);
    let body = bodies[0].replace(&path.display().to_string(), "PATH");
    expect![[r#"
        <skill>
        <name>ship</name>
        <path>PATH</path>
        Tag, then push.
        </skill>"#]]
    .assert_eq(&body);
    let input = stage.input_of(0);
    let last = &input[input.len() - 1]["content"][0]["text"];
    assert_eq!(last, "use $ship, not $shop");
    assert_eq!(input[input.len() - 2]["content"][0]["text"], bodies[0]);
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("go on").await;
    assert_eq!(self::bodies(&stage, 1), bodies, "said once, and kept");
}

#[tokio::test]
async fn a_chosen_skill_may_be_all_that_is_said() {
    let stage = Stage::new(TALK).await;
    let near = skill(&stage, ".agents/skills/ship", "near", "Near.");
    let far = skill(&stage, ".codex/skills/ship", "far", &"x".repeat(9_000));
    let mut actor = stage.start().await;
    let choose = |path: &PathBuf| UserInput::Skill {
        name: "ship".to_owned(),
        path: path.clone(),
    };
    // By its path even a skill can be had whose name means another.
    actor.submit(turn(vec![choose(&far), choose(&far)])).await;
    let shown = items(&actor.until_task_ends().await);
    assert_eq!(shown.len(), 1);
    assert!(shown[0].truncated && shown[0].path == far);
    let body = &bodies(&stage, 0)[0];
    assert!(body.len() <= 8_000 && body.contains("[… cut"), "{body}");
    let input = stage.input_of(0);
    let said = &input[input.len() - 1]["content"][0]["text"];
    assert_eq!(said, "Use the skill ship.");
    actor.turn("$ship").await;
    assert_eq!(bodies(&stage, 1).len(), 2);
    assert!(bodies(&stage, 1)[1].contains(&near.display().to_string()));
}

#[tokio::test]
async fn a_skill_that_is_not_there_is_refused_and_loses_nothing() {
    let stage = Stage::new(TALK).await;
    stage.write("SKILL.md", "---\ndescription: lies in no place\n---\nx");
    let mut actor = stage.start().await;
    let item = UserInput::Skill {
        name: "stray".to_owned(),
        path: "SKILL.md".into(),
    };
    actor.submit(turn(vec![item])).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        panic!("until returns what it waited for");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
    assert!(
        error.message.starts_with("there is no skill stray at "),
        "{}",
        error.message
    );
    actor.turn("hi").await;
    assert_eq!(stage.requests().len(), 1);
}

#[tokio::test]
async fn a_change_is_noticed_at_the_next_turn() {
    let stage = Stage::new(TALK).await;
    skill(&stage, ".agents/skills/ship", "Ships it.", "Do it.");
    let mut actor = stage.start().await;
    actor.turn("hi").await;
    skill(&stage, ".agents/skills/test", "Tests it.", "Test it.");
    let msgs = actor.turn("now with $test").await;
    assert_eq!(items(&msgs).len(), 1);
    let lists = listings(&stage, 1);
    assert_eq!(lists.len(), 2);
    assert!(lists[1].contains("- test: Tests it."), "{}", lists[1]);
    fs::remove_dir_all(stage.cwd().join(".agents")).unwrap();
    actor.turn("and without").await;
    let lists = listings(&stage, 2);
    assert!(lists[2].contains("no skills any more"), "{}", lists[2]);
}

#[tokio::test]
async fn a_broken_skill_is_warned_of_once_and_listed() {
    let stage = Stage::new(TALK).await;
    skill(&stage, ".agents/skills/ship", "Ships it.", "Do it.");
    let broken = skill(&stage, ".agents/skills/bad", "", "No description.");
    let mut actor = stage.start().await;
    let warnings = |msgs: &[EventMsg]| {
        let warnings = msgs.iter().filter_map(|msg| match msg {
            EventMsg::Warning { message } => Some(message.clone()),
            _ => None,
        });
        warnings.collect::<Vec<_>>()
    };
    let first = warnings(&actor.turn("hi").await);
    assert_eq!(
        first,
        [format!(
            "{} has no description: say in its front matter when to use it",
            broken.display()
        )]
    );
    assert_eq!(warnings(&actor.turn("again").await), [""; 0]);
    let nowhere = stage.cwd().join("nowhere");
    let entries = listed(&mut actor, vec![stage.cwd(), nowhere.clone()]).await;
    assert_eq!(entries[0].skills[0].name, "ship");
    assert_eq!(entries[0].errors[0].path, broken);
    assert_eq!(entries[1].errors[0].path, nowhere);
}

#[tokio::test]
async fn a_message_that_joins_a_task_chooses_too() {
    let stage = Stage::new(
        r#"
[[scene]]
[[scene.turn]]
steps = [{ call = "shell_command", call_id = "c", arguments = '{"command": "cat pipe"}' }]
[[scene.turn]]
steps = [{ say = "done" }]
"#,
    )
    .await;
    skill(&stage, ".agents/skills/ship", "Ships it.", "Do it.");
    let pipe = stage.cwd().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut actor = stage.start().await;
    actor.say("begin").await;
    actor
        .until(|msg| matches!(msg, EventMsg::ExecCommandBegin(_)))
        .await;
    let items = vec![UserInput::text("and $ship")];
    actor
        .submit(Op::Steer {
            items,
            client_id: None,
        })
        .await;
    actor
        .until(|msg| matches!(msg, EventMsg::SteerReceipt(_)))
        .await;
    tokio::task::spawn_blocking(move || fs::write(pipe, "go"))
        .await
        .unwrap()
        .unwrap();
    let msgs = actor.until_task_ends().await;
    assert_eq!(self::items(&msgs).len(), 1);
    assert_eq!(bodies(&stage, 1).len(), 1);
}

#[tokio::test]
async fn the_user_has_skills_too_and_a_summary_keeps_the_list() {
    let stage = Stage::new(TALK).await;
    let home = stage.home().join("skills");
    fs::create_dir_all(home.join("mine")).unwrap();
    fs::write(
        home.join("mine/SKILL.md"),
        "---\ndescription: Mine.\n---\nx",
    )
    .unwrap();
    let places = SkillPlaces {
        user: vec![home],
        system: Vec::new(),
    };
    let skills = Arc::new(SkillLibrary::new(places));
    let stage = stage.adjusting(move |setup| setup.instructions.skills = Arc::clone(&skills));
    let mut actor = stage.start().await;
    actor.turn("hi").await;
    actor.submit(Op::Compact).await;
    actor.until_task_ends().await;
    actor.turn("go on").await;
    let lists = listings(&stage, 2);
    assert_eq!(lists.len(), 1, "{:#?}", stage.input_of(2));
    assert!(lists[0].contains("- mine: Mine."), "{}", lists[0]);
}

#[tokio::test]
async fn listing_is_recorded_and_too_much_is_refused() {
    let stage = Stage::new(TALK).await;
    skill(&stage, ".agents/skills/ship", "Ships it.", "Do it.");
    let mut actor = stage.start().await;
    listed(&mut actor, Vec::new()).await;
    let op = Op::ListSkills {
        cwds: vec![stage.cwd(); 65],
        force_reload: false,
    };
    actor.submit(op).await;
    actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let configured = actor.seen().iter().find_map(|event| match &event.msg {
        EventMsg::SessionConfigured(configured) => configured.rollout_path.clone(),
        _ => None,
    });
    actor.shut_down().await;
    let rollout = fs::read_to_string(configured.unwrap()).unwrap();
    let kinds: Vec<Value> = rollout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["payload"]["msg"]["type"].clone())
        .collect();
    assert!(kinds.contains(&Value::from("list_skills_response")));
}
