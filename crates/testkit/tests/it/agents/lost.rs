//! Agents whose logs are gone.

use troupe_agents::tree::Status;
use troupe_agents::tree::command::Urgency;
use troupe_agents::tree::effect::{DeadWhy, Receipt};
use troupe_agents::{Family, Recovery};
use troupe_protocol::EventMsg;
use troupe_protocol::tree::AgentMessage;
use troupe_testkit::Stage;

use super::logs;
use super::script::{answers, call, root, scene};

/// A root that was shut down after its child had run a command and ended.
async fn with_a_finished_child() -> Stage {
    let errand = [
        vec![call("shell_command", r#"command = "echo ran >> ledger""#)],
        answers(3, "found"),
    ];
    let parent = [
        vec![
            call("spawn_agent", r#"message = "errand", task_name = "a""#),
            call("wait", r#"ids = ["a"]"#),
        ],
        answers(5, "heard"),
    ];
    let scenes = [scene("errand", &errand.concat()), root(&parent.concat())];
    let stage = Stage::new(&scenes.concat()).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.recovery = Recovery::Continue;
    stage.with_tree(options)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finished_child_whose_log_is_gone_is_lost_and_never_run_again() {
    let stage = with_a_finished_child().await;
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    actor.agents().quiet().await;
    let child = actor.agents().user().view("/root/a").await.unwrap();
    assert_eq!(child.status, Status::Completed);
    actor.shut_down().await;
    std::fs::remove_file(logs::path_of(&stage, child.session)).unwrap();
    let requests = stage.requests().len();

    let mut actor = stage.resume(session).await;
    let told = |msg: &EventMsg| matches!(msg, EventMsg::Warning { message } if message.contains("/root/a is lost"));
    actor.until(told).await;
    actor.agents().quiet().await;
    let desk = actor.agents().user();
    assert_eq!(desk.view("/root/a").await.unwrap().status, Status::Lost);
    let refused = desk.resume("/root/a").await.unwrap_err().to_string();
    assert!(refused.contains("agent 1 is lost"), "{refused}");
    let words = AgentMessage::text("go on");
    let sent = desk.send("/root/a", words, Urgency::Regular).await;
    let dead = Receipt::Dead { why: DeadWhy::Lost };
    assert_eq!(sent.unwrap().receipt, dead);
    actor.agents().quiet().await;
    assert_eq!(stage.requests().len(), requests, "no model was asked");
    assert_eq!(stage.read("ledger"), "ran\n", "no command ran again");
    actor.shut_down().await;
}
