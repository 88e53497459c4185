//! It makes no difference how a client is connected.

use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::{Event, EventMsg};
use troupe_server::ServerEnd;
use troupe_testkit::{Stage, line};

use super::house::{ALL, House};

const PLAY: &str = r#"
[[scene]]
[[scene.turn]]
steps = [
    { think = "First look." },
    { call = "exec_command", call_id = "c1", arguments = { cmd = "echo 'a line'" } },
]
[[scene.turn]]
steps = [{ say = "It said: a line." }]
"#;

/// An event without what differs from run to run.
fn shown(event: &Event) -> String {
    let line = line(&event.msg);
    // Named after the conversation, which is another one each time.
    let line = match line.split_once("resp_") {
        Some((before, _)) => before,
        None => &line,
    };
    format!("{} {} {line}", event.seq, event.id)
}

fn all_shown(events: &[Event]) -> Vec<String> {
    events.iter().map(shown).collect()
}

/// The conversation without any transport.
async fn in_process() -> Vec<String> {
    let stage = Stage::new(PLAY).await;
    let mut actor = stage.enter();
    let configure = Op::ConfigureSession(ConfigureSession::default());
    actor.submit(configure).await;
    actor.turn("what does it say?").await;
    actor.submit(Op::Shutdown).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    actor.seen().iter().map(|event| shown(event)).collect()
}

#[tokio::test]
async fn the_same_conversation_gives_the_same_events() {
    let expected = in_process().await;
    assert!(expected.len() > 15, "{expected:#?}");
    for kind in ALL {
        let stage = Stage::new(PLAY).await;
        let house = House::open(&stage).await;
        let mut driver = house.drive(kind).await;
        driver.say("what does it say?").await;
        let mut events = driver.until_task_ends().await;
        events.extend(driver.shut_down().await);
        assert_eq!(all_shown(&events), expected, "{kind}");
        assert_eq!(driver.client.next_event().await.unwrap(), None, "{kind}");
        assert_eq!(house.ended().await, ServerEnd::Orderly);
    }
}

#[tokio::test]
async fn all_clients_of_a_session_are_told_the_same() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut followers = Vec::new();
    for kind in ALL {
        followers.push(house.follow(kind).await);
    }
    let mut driver = house.drive("unix").await;
    driver.say("what does it say?").await;
    let mut expected = driver.until_task_ends().await;
    // One who comes late is told what was recorded.
    let mut late = house.follow("tcp").await;
    expected.extend(driver.shut_down().await);
    for follower in &mut followers {
        let events = follower
            .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await;
        assert_eq!(events, expected);
    }
    let told = late
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    expected.retain(|event| !event.msg.is_delta());
    let mut recorded = told;
    recorded.retain(|event| !event.msg.is_delta());
    assert_eq!(recorded, expected);
}

#[tokio::test]
async fn what_was_said_over_a_socket_is_resumed_without_one() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("ws").await;
    driver.say("what does it say?").await;
    let events = driver.until_task_ends().await;
    let session = events.iter().find_map(|event| match &event.msg {
        EventMsg::SessionConfigured(configured) => Some(configured.session_id),
        _ => None,
    });
    driver.shut_down().await;
    house.ended().await;

    let live = stage.store().read_live(session.unwrap()).await.unwrap();
    let said = live.records.iter().any(|(_, line)| {
        let text = serde_json::to_string(&line.record).unwrap();
        text.contains("It said: a line.")
    });
    assert!(said);
    let actor = stage.resume(session.unwrap()).await;
    assert_eq!(actor.session_id(), session.unwrap());
}

#[tokio::test]
async fn a_signal_ends_the_session_in_order_and_everybody_hears_it() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("http").await;
    let mut follower = house.follow("grpc").await;
    driver
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    house.stop();
    for guest in [&mut driver, &mut follower] {
        guest
            .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await;
        guest.rest().await;
    }
    assert_eq!(house.ended().await, ServerEnd::Orderly);
}
