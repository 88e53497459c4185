//! What a session is and has been: its settings, its history, its files.

use troupe_engine::SetupNotice;
use troupe_testkit::Stage;

use super::{GO, kept, play, told};

#[tokio::test]
async fn settings_name_and_note_are_told_and_come_back() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"override_turn_context","approval_policy":"on-request","effort":"high"}"#;
    told(&mut actor, op, &["turn_context_updated"]).await;
    let op = r#"{"type":"set_thread_name","name":"parser"}"#;
    told(&mut actor, op, &["thread_name_updated"]).await;
    let op = r#"{"type":"set_thread_note","note":"slow"}"#;
    told(&mut actor, op, &["thread_note_updated"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn going_back_and_making_smaller() {
    let patch = "{ custom = 'apply_patch', input = \"*** Begin Patch\\n*** Add File: a\\n+a\\n*** End Patch\" }";
    let stage = Stage::new(&play(&[
        patch,
        "{ say = 'done' }",
        "{ say = 'on' }",
        "{ say = 'summary' }",
    ]))
    .await;
    let mut actor = stage.start().await;
    told(&mut actor, GO, &["task_complete"]).await;
    told(&mut actor, GO, &["task_complete"]).await;
    let op = r#"{"type":"thread_rollback","num_turns":1}"#;
    told(&mut actor, op, &["thread_rolled_back"]).await;
    // What was taken out of the history is still what was done to files.
    told(
        &mut actor,
        r#"{"type":"undo"}"#,
        &["undo_started", "undo_completed"],
    )
    .await;
    assert!(!stage.cwd().join("a").exists());
    let op = r#"{"type":"compact"}"#;
    told(&mut actor, op, &["context_compacted", "task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn items_are_injected_and_come_back() {
    let stage = Stage::new(&play(&["{ say = 'seen' }"])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"inject_items","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"note"}]}]}"#;
    told(&mut actor, op, &["items_injected"]).await;
    let op = r#"{"type":"user_turn","items":[]}"#;
    told(&mut actor, op, &["task_complete"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn an_old_setting_is_told() {
    let notice = SetupNotice::Deprecated {
        summary: "the key is old".to_owned(),
        details: Some("write the new one".to_owned()),
    };
    let stage = Stage::new(&play(&[])).await.notice(notice);
    let mut actor = stage.enter();
    let op = r#"{"type":"configure_session"}"#;
    told(
        &mut actor,
        op,
        &["session_configured", "deprecation_notice"],
    )
    .await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn models_are_listed() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"list_models"}"#;
    told(&mut actor, op, &["list_models_response"]).await;
    kept(&stage, actor).await;
}

#[tokio::test]
async fn skills_are_listed() {
    let stage = Stage::new(&play(&[])).await;
    let mut actor = stage.start().await;
    let op = r#"{"type":"list_skills","cwds":[],"force_reload":true}"#;
    told(&mut actor, op, &["list_skills_response"]).await;
    kept(&stage, actor).await;
}
