//! `fuzzyFileSearch`: files found by pieces of their paths.

use serde_json::{Value, json};
use troupe_app_server::AppServer;
use troupe_testkit::Stage;

use super::client::{Client, app};

/// A project with an ignored directory and a hidden one.
async fn project() -> (Stage, AppServer) {
    let stage = Stage::new("[[scene]]").await;
    for (path, text) in [
        (".gitignore", "target/\n"),
        (".git/parser.rs", ""),
        (".config/parser.toml", ""),
        ("src/parser.rs", ""),
        ("src/parser/tokens.rs", ""),
        ("target/parser.rs", ""),
        ("docs/printer.md", ""),
    ] {
        let path = stage.cwd().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let app = app(&stage);
    (stage, app)
}

fn paths(files: &Value) -> Vec<&str> {
    let files = files.as_array().unwrap().iter();
    files.map(|file| file["path"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn files_are_found_as_a_programmer_sees_them() {
    let (stage, app) = project().await;
    let mut client = Client::ready(&app).await;
    let look = |query: &str| json!({"query": query, "roots": [stage.cwd()]});
    let found = client.call("fuzzyFileSearch", look("parser")).await;
    let found = found.unwrap()["files"].take();
    assert_eq!(
        paths(&found),
        [
            "src/parser",
            "src/parser.rs",
            ".config/parser.toml",
            "src/parser/tokens.rs"
        ]
    );
    let directory = &found[0];
    assert_eq!(directory["match_type"], "directory");
    assert_eq!(directory["file_name"], "parser");
    assert_eq!(directory["root"], stage.cwd().display().to_string());
    assert_eq!(directory["indices"], json!([4, 5, 6, 7, 8, 9]));

    let nothing = client.call("fuzzyFileSearch", look("")).await.unwrap();
    assert_eq!(nothing["files"], json!([]));
    let relative = json!({"query": "x", "roots": ["src"]});
    let refused = client.call("fuzzyFileSearch", relative).await.unwrap_err();
    assert_eq!(refused["message"], "src is not an absolute path");
    client.leave().await;
}

#[tokio::test]
async fn a_session_answers_each_query() {
    let (stage, app) = project().await;
    let mut client = Client::ready(&app).await;
    let start = json!({"sessionId": "s", "roots": [stage.cwd()]});
    client
        .call("fuzzyFileSearch/sessionStart", start)
        .await
        .unwrap();
    for (query, first) in [("tok", "src/parser/tokens.rs"), ("prin", "docs/printer.md")] {
        let update = json!({"sessionId": "s", "query": query});
        client
            .call("fuzzyFileSearch/sessionUpdate", update)
            .await
            .unwrap();
        let told = client.told("fuzzyFileSearch/sessionUpdated").await;
        assert_eq!(
            (&told["sessionId"], &told["query"]),
            (&json!("s"), &json!(query))
        );
        assert_eq!(paths(&told["files"])[0], first);
        let over = client.told("fuzzyFileSearch/sessionCompleted").await;
        assert_eq!(over["sessionId"], "s");
    }
    let stop = json!({"sessionId": "s"});
    client
        .call("fuzzyFileSearch/sessionStop", stop)
        .await
        .unwrap();
    let late = json!({"sessionId": "s", "query": "x"});
    let late = client.call("fuzzyFileSearch/sessionUpdate", late).await;
    assert_eq!(late.unwrap_err()["message"], "no search session \"s\"");
    client.leave().await;
}

#[tokio::test]
async fn a_client_has_so_many_sessions() {
    let (stage, app) = project().await;
    let mut client = Client::ready(&app).await;
    let mut begun = 0;
    let refused = loop {
        let start = json!({"sessionId": format!("s{begun}"), "roots": [stage.cwd()]});
        match client.call("fuzzyFileSearch/sessionStart", start).await {
            Ok(_) => begun += 1,
            Err(refused) => break refused,
        }
    };
    let message = refused["message"].as_str().unwrap();
    let expected = format!("there are {begun} search sessions, and no more may be");
    assert!(message.starts_with(&expected), "{message}");
    let again = json!({"sessionId": "s0", "roots": [stage.cwd()]});
    let again = client.call("fuzzyFileSearch/sessionStart", again).await;
    assert!(again.is_ok(), "one takes the place of the other");
    client.leave().await;
}
