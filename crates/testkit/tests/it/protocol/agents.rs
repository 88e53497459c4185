//! Work with other agents.

use expect_test::expect;
use troupe_agents::Family;
use troupe_testkit::Stage;

use super::{GO, kept, play, tag, told};

#[tokio::test]
async fn work_with_other_agents_is_told() {
    let child = "[[scene]]\nwhen = \"errand\"\n[[scene.turn]]\nsteps = [{ say = \"fetched\" }]\n[[scene.turn]]\nsteps = [{ say = \"again\" }]\n[[scene.turn]]\nsteps = [{ say = \"once more\" }]\n";
    let root = play(&[
        "{ call = 'spawn_agent', arguments = { message = 'errand' } }",
        "{ call = 'wait', arguments = { ids = ['1'] } }",
        "{ call = 'send_input', arguments = { id = '1', message = 'errand two' } }",
        "{ call = 'wait', arguments = { ids = ['1'] } }",
        "{ call = 'close_agent', arguments = { id = '1' } }",
        "{ call = 'resume_agent', arguments = { id = '1' } }",
        "{ say = 'done' }",
        "{ say = 'done' }",
    ]);
    let stage = Stage::new(&(child.to_owned() + &root))
        .await
        .with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let msgs = told(&mut actor, GO, &["task_complete"]).await;
    let mut heard: Vec<String> = msgs.iter().map(tag).collect();
    heard.retain(|tag| {
        tag.starts_with("collab")
            || tag.starts_with("subagent")
            || tag == "agent_inbox"
            || tag == "background_event"
    });
    heard.sort();
    heard.dedup();
    expect![[r#"
        agent_inbox
        background_event
        collab_agent_interaction_begin
        collab_agent_interaction_end
        collab_agent_spawn_begin
        collab_agent_spawn_end
        collab_close_begin
        collab_close_end
        collab_resume_begin
        collab_resume_end
        collab_waiting_begin
        collab_waiting_end
        subagent_lifecycle"#]]
    .assert_eq(&heard.join("\n"));
    actor.agents().wait_until_idle().await;
    kept(&stage, actor).await;
}
