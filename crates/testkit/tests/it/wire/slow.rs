//! Followers that do not keep up.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use troupe_client::ClientUpdate;
use troupe_protocol::link::ServerNotice;
use troupe_protocol::{Event, EventMsg};
use troupe_testkit::Stage;
use troupe_transport::{FromServer, ServerReader};

use super::house::House;

/// Says so many words, long ones, so that it comes to something.
fn talk(times: usize) -> String {
    let words = (0..times).map(|number| format!("a-word-that-is-long-and-has-a-number-{number} "));
    let words = words.collect::<Vec<String>>().concat();
    format!("[[scene]]\n[[scene.turn]]\nsteps = [{{ say = '{words}' }}]\n")
}

/// More than a socket holds, and less than the ring.
const MUCH: usize = 6_000;

/// More than the ring and a socket hold together.
const TOO_MUCH: usize = 20_000;

#[tokio::test]
async fn a_follower_that_never_reads_does_not_hold_up_the_driver() {
    let stage = Stage::new(&talk(MUCH)).await;
    let house = House::open(&stage).await;
    let mut silent = Vec::new();
    for _ in 0..10 {
        let mut stream = UnixStream::connect(house.socket_of("unix")).await.unwrap();
        let hello = b"{\"type\":\"hello\",\"role\":\"follow\"}\n";
        stream.write_all(hello).await.unwrap();
        let mut first = [0; 1];
        stream.read_exact(&mut first).await.unwrap();
        silent.push(stream);
    }
    let mut driver = house.drive("unix").await;
    driver.say("talk").await;
    let events = driver.until_task_ends().await;
    assert_eq!(deltas(&events), MUCH, "the driver is told each piece");
}

fn deltas(events: &[Event]) -> usize {
    let events = events.iter();
    events.filter(|event| event.msg.is_delta()).count()
}

#[tokio::test]
async fn one_that_lags_is_told_so_and_catches_up() {
    let stage = Stage::new(&talk(TOO_MUCH)).await;
    let house = House::open(&stage).await;
    let mut stream = UnixStream::connect(house.socket_of("unix")).await.unwrap();
    let hello = b"{\"type\":\"hello\",\"role\":\"follow\"}\n";
    stream.write_all(hello).await.unwrap();
    let mut driver = house.drive("unix").await;
    driver.say("talk").await;
    let told = driver.until_task_ends().await;

    // It begins to read when all is said.
    let mut reader = ServerReader::new(stream);
    let (mut recorded, mut lagged) = (Vec::new(), 0);
    while recorded
        .last()
        .is_none_or(|event: &Event| !is_end(&event.msg))
    {
        match reader.next().await.unwrap().expect("the end is told") {
            FromServer::Event(event) if !event.msg.is_delta() => recorded.push(*event),
            FromServer::Event(_) => {}
            FromServer::Notice(notice) => match *notice {
                ServerNotice::Lagged { after, upto } => {
                    assert!(after < upto);
                    lagged += 1;
                }
                ServerNotice::Welcome(_) | ServerNotice::Seat(_) => {}
                other => panic!("{other:?}"),
            },
        }
    }
    assert!(lagged > 0, "nothing was left out");
    let mut expected = told;
    expected.retain(|event| !event.msg.is_delta());
    assert_eq!(recorded, expected);
}

fn is_end(msg: &EventMsg) -> bool {
    matches!(msg, EventMsg::TurnComplete(_))
}

#[tokio::test]
async fn a_session_goes_on_without_anybody() {
    let stage = Stage::new(&talk(TOO_MUCH)).await;
    let house = House::open(&stage).await;
    let mut driver = house.drive("unix").await;
    driver.say("talk").await;
    driver
        .until(|msg| matches!(msg, EventMsg::TurnStarted(_)))
        .await;
    drop(driver);
    let mut later = house.follow("unix").await;
    while let Some(told) = later.next().await {
        if let ClientUpdate::Event(event) = told
            && is_end(&event.msg)
        {
            return;
        }
    }
    panic!("the end of the task is told");
}
