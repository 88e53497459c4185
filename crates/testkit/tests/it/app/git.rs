//! `gitDiffToRemote`: what a working tree has that its remote does not.

use std::path::Path;
use std::process::Command;

use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@t"])
        .args(arguments)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[tokio::test]
async fn the_difference_begins_at_the_newest_commit_that_the_remote_has() {
    let stage = Stage::new("[[scene]]").await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let cwd = stage.cwd();
    git(&cwd, &["init", "-q", "-b", "main"]);
    stage.write("kept", "one\n");
    git(&cwd, &["add", "kept"]);
    git(&cwd, &["commit", "-qm", "one"]);
    let params = json!({"cwd": cwd});
    let alone = client.call("gitDiffToRemote", params.clone()).await;
    let alone = alone.unwrap_err()["message"].to_string();
    assert!(alone.contains("has no remote branches"), "{alone}");

    let shared = git(&cwd, &["rev-parse", "HEAD"]);
    git(&cwd, &["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let same = client.call("gitDiffToRemote", params.clone()).await;
    assert_eq!(same.unwrap(), json!({"sha": shared, "diff": ""}));

    stage.write("kept", "two\n");
    git(&cwd, &["commit", "-qam", "two"]);
    stage.write("new", "a new file\n");
    let found = client.call("gitDiffToRemote", params).await.unwrap();
    assert_eq!(found["sha"], shared);
    let diff = found["diff"].as_str().unwrap();
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    assert!(diff.contains("+a new file\n"), "{diff}");
    let nowhere = json!({"cwd": cwd.parent().unwrap()});
    let nowhere = client.call("gitDiffToRemote", nowhere).await.unwrap_err();
    let nowhere = nowhere["message"].as_str().unwrap();
    assert!(nowhere.starts_with("git failed: "), "{nowhere}");
    client.leave().await;
}
