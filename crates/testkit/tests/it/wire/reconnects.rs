//! A client that loses its connection misses nothing and sees nothing twice.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use troupe_client::{ClientOptions, ClientUpdate};
use troupe_protocol::item::TurnItem;
use troupe_protocol::link::Secret;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::{ClientId, Event, EventMsg, SessionId};
use troupe_testkit::Stage;

use super::house::{ALL, Guest, House, following};

/// So much, and so slowly, that it is seldom over when the last connection is cut.
const TALK: &str = r#"
[[scene]]
[[scene.turn]]
steps = [{ say = "word ", deltas = 1500, pace_ms = 1 }, { call = "exec_command", arguments = { cmd = "true" } }]
[[scene.turn]]
steps = [{ say = "more ", deltas = 500, pace_ms = 1 }]
"#;

/// Puts together what a screen shows.
#[derive(Default)]
struct Screen {
    seen: Vec<Event>,
    text: String,
}

impl Screen {
    fn apply(&mut self, event: Event) {
        let last = self.seen.last().map_or(0, |event| event.seq);
        match &event.msg {
            EventMsg::AgentMessageContentDelta(delta) if delta.snapshot => {
                assert!(event.seq >= last, "{} after {last}", event.seq);
                self.text.clone_from(&delta.delta);
            }
            msg => {
                assert!(event.seq > last, "{} after {last}", event.seq);
                match msg {
                    EventMsg::AgentMessageContentDelta(delta) => self.text += &delta.delta,
                    EventMsg::ItemCompleted {
                        item: TurnItem::AgentMessage(item),
                        ..
                    } => {
                        // Deltas that came after the ring was left are made up for by the end.
                        assert!(item.text.starts_with(&self.text), "{:?}", self.text);
                        self.text.clear();
                    }
                    _ => {}
                }
            }
        }
        self.seen.push(event);
    }

    fn recorded(&self) -> Vec<&Event> {
        let events = self.seen.iter();
        events.filter(|event| !event.msg.is_delta()).collect()
    }

    /// Nothing follows by itself.
    fn has_task_ended(&self) -> bool {
        let mut recent = self.seen.iter().rev();
        recent.any(|event| matches!(event.msg, EventMsg::TurnComplete(_)))
    }

    fn has_ended(&self) -> bool {
        let last = self.seen.last().map(|event| &event.msg);
        matches!(last, Some(EventMsg::ShutdownComplete))
    }
}

#[tokio::test]
async fn killed_and_back_a_hundred_times() {
    let mut random = SmallRng::seed_from_u64(7);
    let stage = Stage::new(TALK).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("unix").await;
    let mut steady = house.follow("unix").await;
    let mut screen = Screen::default();
    driver.say("talk").await;
    let mut times = 0;
    while times < 100 {
        let kind = ALL[random.random_range(0..ALL.len())];
        let after = screen.seen.last().map_or(0, |event| event.seq);
        let mut guest = house.join(kind, following(after)).await.unwrap();
        for _ in 0..random.random_range(0..12) {
            if screen.has_task_ended() {
                break;
            }
            match guest.next().await {
                Some(ClientUpdate::Event(event)) => screen.apply(*event),
                Some(ClientUpdate::Notice(_)) => {}
                None => panic!("the session goes on"),
            }
        }
        times += 1;
    }
    driver.until_task_ends().await;
    driver.submit(Op::Shutdown).await;
    let after = screen.seen.last().map_or(0, |event| event.seq);
    let mut guest = house.join("ws", following(after)).await.unwrap();
    while !screen.has_ended() {
        if let ClientUpdate::Event(event) = guest.next().await.expect("the end is told") {
            screen.apply(*event);
        }
    }
    let expected = steady
        .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
        .await;
    let mut whole = Screen::default();
    for event in expected {
        whole.apply(event);
    }
    assert_eq!(screen.recorded(), whole.recorded());
}

#[tokio::test]
async fn a_cut_connection_is_made_again_and_every_submission_is_done_once() {
    for kind in ALL {
        let stage = Stage::new(TALK).await;
        let house = House::open(&stage).await;
        let mut driver = house.drive(kind).await;
        let submitter = driver.client.submitter();
        for number in 0..20 {
            let note = format!("note {number}");
            driver.submit(Op::SetThreadNote { note }).await;
            submitter.disconnect().await.unwrap();
        }
        driver.submit(Op::Shutdown).await;
        let mut screen = Screen::default();
        while !screen.has_ended() {
            if let ClientUpdate::Event(event) = driver.next().await.expect("the end is told") {
                screen.apply(*event);
            }
        }
        let notes: Vec<String> = screen
            .seen
            .iter()
            .filter_map(|event| match &event.msg {
                EventMsg::ThreadNoteUpdated { thread_note } => thread_note.clone(),
                _ => None,
            })
            .collect();
        let expected: Vec<String> = (0..20).map(|number| format!("note {number}")).collect();
        assert_eq!(notes, expected, "{kind}");
    }
}

#[tokio::test]
async fn a_client_from_another_life_of_the_server_is_told_everything() {
    let stage = Stage::new(TALK).await;
    let house = House::open(&stage).await;
    let options = ClientOptions {
        after: 10_000,
        ..ClientOptions::default()
    };
    let mut driver = house.join("tcp", options).await.unwrap();
    driver.submit(Op::Interrupt).await;
    let told = driver.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    assert_eq!(told[0].seq, 1);
}

/// What a server said while a client was away is in the rollout, also if the server is another.
#[tokio::test]
async fn a_client_of_an_earlier_run_is_told_what_it_missed_of_it() {
    let stage = Stage::new(TALK).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("unix").await;
    let mut steady = house.follow("unix").await;
    let seen = driver
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    let configured = seen.last().expect("it was waited for");
    let EventMsg::SessionConfigured(session) = &configured.msg else {
        unreachable!("it was waited for");
    };
    driver.say("talk").await;
    driver.until_task_ends().await;
    driver.shut_down().await;
    let is_end = |msg: &EventMsg| matches!(msg, EventMsg::ShutdownComplete);
    let mut expected = steady.until(is_end).await;
    expected.retain(|event| event.seq > configured.seq && !event.msg.is_delta());
    house.ended().await;

    let house = House::open(&stage).await;
    // One is there before the session is, the other comes after it.
    let mut early = house.join("tcp", following(configured.seq)).await.unwrap();
    let mut driver = house.join("unix", ClientOptions::default()).await.unwrap();
    let resume = ConfigureSession {
        resume: Some(session.session_id),
        ..ConfigureSession::default()
    };
    driver.submit(Op::ConfigureSession(resume)).await;
    let is_configured = |msg: &EventMsg| matches!(msg, EventMsg::SessionConfigured(_));
    let news = driver.until(is_configured).await;
    expected.extend(news.clone());
    let mut late = house.join("http", following(configured.seq)).await.unwrap();
    for guest in [&mut early, &mut late] {
        assert_eq!(guest.until(is_configured).await, expected);
    }
    assert_eq!(
        news.len(),
        1,
        "one who came with nothing hears of this run alone"
    );
}

/// Connects the client `desk` to a server and has it take the session up.
async fn desk(house: &House, secret: Option<Secret>, resume: Option<SessionId>) -> Guest {
    let options = ClientOptions {
        client: Some(ClientId("desk".to_owned())),
        secret,
        ..ClientOptions::default()
    };
    let mut desk = house.join("unix", options).await.unwrap();
    let configure = ConfigureSession {
        resume,
        ..ConfigureSession::default()
    };
    desk.submit(Op::ConfigureSession(configure)).await;
    desk
}

#[tokio::test]
async fn a_new_server_knows_the_tasks_of_a_client_that_shows_its_secret() {
    let stage = Stage::new(&format!(
        "[[scene]]\n{}",
        "[[scene.turn]]\nsteps = [{ say = 'ok' }]\n".repeat(4)
    ))
    .await;
    let house = House::open(&stage).await;
    let mut first = desk(&house, None, None).await;
    let secret = first.client.welcome().secret.clone();
    let configured = first
        .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    let session = match configured.last().map(|event| &event.msg) {
        Some(EventMsg::SessionConfigured(configured)) => Some(configured.session_id),
        other => panic!("{other:?}"),
    };
    first.say("hello").await;
    first.until_task_ends().await;
    first.shut_down().await;

    let house = House::open(&stage).await;
    let mut again = desk(&house, Some(secret), session).await;
    again.say("hello").await;
    let told = again
        .until(
            |msg| matches!(msg, EventMsg::Warning { message } if message.contains("s2 is known")),
        )
        .await;
    let began = |event: &Event| matches!(event.msg, EventMsg::TurnStarted(_));
    assert!(!told.iter().any(began), "{told:#?}");
    again.say("and now?").await;
    again.until_task_ends().await;
    again.shut_down().await;
    assert_eq!(stage.requests().len(), 2);

    // Who shows nothing begins anew, and counts from the beginning.
    let house = House::open(&stage).await;
    let mut simple = desk(&house, None, session).await;
    simple.say("hello").await;
    simple.until_task_ends().await;
    simple.shut_down().await;
    assert_eq!(stage.requests().len(), 3);
}
