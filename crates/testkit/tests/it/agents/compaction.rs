//! A parent whose history is replaced does not forget its children.

use expect_test::expect;
use troupe_agents::Family;
use troupe_engine::WindowSettings;
use troupe_model::WireApi;
use troupe_protocol::EventMsg;
use troupe_testkit::Stage;

use super::cast::{has_mail, is_running};
use super::play::{agents, requests_of, until_there};

/// The root makes two children and waits for a file. Meanwhile one of them ends, and the
/// root's context is full.
fn play() -> String {
    let (slow, go) = (until_there("never"), until_there("go"));
    format!(
        r#"
[[scene]]
when = "slow work"
[[scene.turn]]
steps = [{slow}]

[[scene]]
when = "quick work"
[[scene.turn]]
steps = [{{ say = "quick is done" }}]

[[scene]]
when = "delegate"
[[scene.turn]]
steps = [
    {{ call = "spawn_agent", arguments = {{ message = "slow work", task_name = "slow" }} }},
    {{ call = "spawn_agent", arguments = {{ message = "quick work", task_name = "quick" }} }},
]
[[scene.turn]]
usage = {{ input = 9500, output = 100 }}
steps = [{go}]
[[scene.turn]]
expect = "hand-over"
steps = [{{ say = "SUMMARY" }}]
[[scene.turn]]
steps = [{{ say = "I go on." }}]
[[scene.turn]]
expect = "quick is done"
steps = [{{ say = "heard" }}]
"#
    )
}

#[tokio::test]
async fn open_children_and_pending_results_outlive_a_compaction_on_every_wire() {
    for wire in [WireApi::Responses, WireApi::Chat, WireApi::Messages] {
        let stage = Stage::new(&play())
            .await
            .wire(wire)
            .window(WindowSettings {
                context_window: Some(10_000),
                auto_compact_token_limit: None,
            })
            .with_agents(&[Family::Agents]);
        let mut actor = stage.start().await;
        actor.say("delegate").await;
        actor.until(has_mail(0, 1, 0)).await;
        let is_at_work = is_running(1);
        if !actor.seen().iter().any(|event| is_at_work(&event.msg)) {
            actor.until(is_at_work).await;
        }
        stage.write("go", "");
        actor.until_task_ends().await;
        // What was compacted away is not lost: the callback starts the next task.
        let events = actor.until_task_ends().await;
        let Some(EventMsg::TurnComplete(complete)) = events.last() else {
            panic!("{wire:?} {events:#?}");
        };
        assert_eq!(complete.last_agent_message.as_deref(), Some("heard"));

        let requests = requests_of(&stage, actor.session_id());
        let after = requests[3].to_string();
        let (_, told) = after.split_once("<agents>").expect("the model is told");
        let (told, _) = told.split_once("</agents>").expect("and that has an end");
        let mut told = told.replace("\\n", "\n");
        for agent in agents(&actor).await {
            told = told.replace(&agent.session.short(), "ID");
        }
        let expected = expect![[r#"

            The agents that you made, as they stand now. Do not make them again.
            - /root/slow (agent 1, session ID): running; you will be told when it ends, or wait for it
            - /root/quick (agent 2, session ID): completed; its result waits in your inbox and will be told to you
        "#]];
        expected.assert_eq(&told);
        actor.shut_down().await;
    }
}
