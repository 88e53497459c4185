//! A child whose engine was killed between making its log and writing the first line.

use troupe_agents::{Family, RecoveryPolicy};
use troupe_testkit::Stage;
use troupe_tree::CurrentStatus;

use super::logs;
use super::play::{invoke, numbered, scene_of};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_child_whose_log_is_empty_has_not_begun_and_begins_with_the_resume() {
    let errand = numbered(2, "found");
    let parent = [
        vec![invoke(
            "spawn_agent",
            r#"message = "errand", task_name = "a""#,
        )],
        numbered(5, "heard"),
    ];
    let scenes = [scene_of("errand", &errand), scene_of("", &parent.concat())];
    let stage = Stage::new(&scenes.concat()).await;
    let mut options = stage.tree_options(&[Family::Agents]);
    options.recovery = RecoveryPolicy::Continue;
    let stage = stage.with_tree(options);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("begin").await;
    actor.agents().wait_until_idle().await;
    let child = actor.agents().user().view("/root/a").await.unwrap();
    actor.shut_down().await;

    // As it was when the child had been made.
    let of_root = logs::path_of(&stage, session);
    let log = std::fs::read_to_string(&of_root).unwrap();
    let birth = log.find(r#""fact":"born""#).unwrap();
    let end = birth + log[birth..].find('\n').unwrap() + 1;
    std::fs::write(&of_root, &log[..end]).unwrap();
    let of_child = logs::path_of(&stage, child.session);
    std::fs::write(&of_child, "").unwrap();

    let actor = stage.resume(session).await;
    actor.agents().wait_until_idle().await;
    let child = actor.agents().user().view("/root/a").await.unwrap();
    assert_eq!(child.status, CurrentStatus::Completed);
    let log = std::fs::read_to_string(logs::path_of(&stage, child.session)).unwrap();
    assert!(log.contains("found"), "{log}");
    actor.shut_down().await;
}
