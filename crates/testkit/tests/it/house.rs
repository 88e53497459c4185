//! Many threads in one process.

use std::collections::BTreeSet;
use std::time::Duration;

use troupe_agents::Family;
use troupe_engine::EventStream;
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ConfigureSession, ForkPoint, Op};
use troupe_protocol::{EventMsg, SessionId};
use troupe_server::limits::THREADS_UNUSED_MAX;
use troupe_server::{OpenError, RootSession, SessionPool};
use troupe_testkit::Stage;

const PATIENCE: Duration = Duration::from_mins(1);

const GREETING: &str = r#"
    [[scene]]
    when = "hello"
    [[scene.turn]]
    steps = [{ say = "Good day." }]
    [[scene.turn]]
    steps = [{ say = "Again?" }]
"#;

fn say(text: &str) -> Op {
    Op::UserInput {
        items: vec![UserInput::text(text)],
        final_output_json_schema: None,
        last_response_id: None,
    }
}

/// Returns what the model said last in the task that ends next.
async fn answer(events: &mut EventStream) -> Option<String> {
    let read = async {
        while let Some(event) = events.next().await {
            match &event.msg {
                EventMsg::TurnComplete(complete) => return complete.last_agent_message.clone(),
                EventMsg::Error(error) => panic!("{error:?}"),
                _ => {}
            }
        }
        panic!("the session ended");
    };
    let answer = tokio::time::timeout(PATIENCE, read).await;
    answer.expect("the task ends")
}

async fn turn(thread: &RootSession, text: &str) -> Option<String> {
    let mut events = thread.events_after(thread.last_seq());
    thread.submit(say(text)).await.unwrap();
    answer(&mut events).await
}

async fn start(house: &SessionPool) -> RootSession {
    house.start(ConfigureSession::default()).await.unwrap()
}

async fn loaded(house: &SessionPool) -> BTreeSet<SessionId> {
    house.loaded().await.iter().map(RootSession::id).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_work_side_by_side() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let (first, second) = (start(&house).await, start(&house).await);
    let (one, two) = tokio::join!(turn(&first, "hello"), turn(&second, "hello"));
    assert_eq!(one.as_deref(), Some("Good day."));
    assert_eq!(two.as_deref(), Some("Good day."));
    assert_eq!(
        loaded(&house).await,
        BTreeSet::from([first.id(), second.id()])
    );
    house.end().await;
    assert!(first.is_over() && second.is_over());
    let late = house.start(ConfigureSession::default()).await;
    assert_eq!(late.unwrap_err(), OpenError::Ending);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_was_unloaded_comes_back_with_its_history() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let thread = start(&house).await;
    turn(&thread, "hello").await;
    let id = thread.id();
    let same = house.resume(id, ConfigureSession::default()).await.unwrap();
    assert_eq!(same.last_seq(), thread.last_seq());
    house.unload(id).await;
    assert!(thread.is_over() && house.get(id).await.is_none());

    let back = house.resume(id, ConfigureSession::default()).await.unwrap();
    assert!(back.configured().history_entry_count > 0);
    assert_eq!(turn(&back, "hello").await.as_deref(), Some("Again?"));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_while_a_thread_leaves_gets_it_back() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let id = start(&house).await.id();
    let request = ConfigureSession::default;
    let ((), one, two) = tokio::join!(
        house.unload(id),
        house.resume(id, request()),
        house.resume(id, request()),
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert!(!one.is_over());
    assert_eq!(one.id(), two.id());
    house.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fork_goes_on_by_itself() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let thread = start(&house).await;
    turn(&thread, "hello").await;
    let point = ForkPoint {
        session_id: thread.id(),
        last_response_id: None,
        turns: None,
        turn: None,
    };
    let fork = house
        .fork(point, ConfigureSession::default())
        .await
        .unwrap();
    assert_eq!(fork.configured().forked_from_id, Some(thread.id()));
    turn(&fork, "hello").await;
    let input = serde_json::to_string(&stage.input_of(1)).unwrap();
    assert!(input.contains("Good day."), "{input}");
    assert_eq!(turn(&thread, "hello").await.as_deref(), Some("Again?"));
    house.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thread_that_never_was_is_not_found() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let nobody = SessionId::random();
    let missing = house.resume(nobody, ConfigureSession::default()).await;
    let error = missing.unwrap_err();
    assert!(error.is_not_found(), "{error:?}");
    assert!(error.to_string().contains(&nobody.to_string()), "{error}");
    assert!(house.loaded().await.is_empty());
}

/// A crowd that nobody looks at does not stay in memory; one that is held does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn threads_that_nobody_uses_leave_when_there_are_too_many() {
    let stage = Stage::new(GREETING).await;
    let house = SessionPool::new(stage.ground());
    let held = start(&house).await;
    let first = start(&house).await.id();
    for _ in 0..=THREADS_UNUSED_MAX {
        start(&house).await;
    }
    let settled = async {
        while loaded(&house).await.len() > THREADS_UNUSED_MAX + 1 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, settled).await.unwrap();
    let left = loaded(&house).await;
    assert!(left.contains(&held.id()));
    assert!(!left.contains(&first));
    let back = house.resume(first, ConfigureSession::default()).await;
    assert_eq!(
        turn(&back.unwrap(), "hello").await.as_deref(),
        Some("Good day.")
    );
    house.end().await;
}

/// Whoever watches a root sees its children at work, from their first word.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn children_can_be_watched() {
    let stage = Stage::new(
        r#"
        [[scene]]
        when = "count the files"
        [[scene.turn]]
        steps = [{ say = "There are three." }]

        [[scene]]
        when = "delegate"
        [[scene.turn]]
        steps = [{ call = "spawn_agent", arguments = { message = "count the files", task_name = "counter" } }]
        [[scene.turn]]
        steps = [{ call = "wait", arguments = { ids = ["/root/counter"] } }]
        [[scene.turn]]
        steps = [{ say = "Three." }]
        "#,
    )
    .await
    .with_agents(&[Family::Agents]);
    let house = SessionPool::new(stage.ground());
    let thread = start(&house).await;
    assert!(thread.agents().arrivals().await.is_none(), "no child yet");
    assert_eq!(turn(&thread, "delegate").await.as_deref(), Some("Three."));
    let mut arrivals = thread.agents().arrivals().await.expect("there is a child");
    let arrival = arrivals.next().await.expect("it is in memory");
    assert_eq!(arrival.view.path, "/root/counter");
    assert_eq!(arrival.view.parent_session, Some(thread.id()));
    let said = answer(&mut arrival.events.after(0)).await;
    assert_eq!(said.as_deref(), Some("There are three."));
    house.end().await;
    assert!(arrivals.next().await.is_none(), "the tree has ended");
}
