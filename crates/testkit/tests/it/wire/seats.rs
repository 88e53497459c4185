//! One drives, the others follow.

use expect_test::expect;
use troupe_client::ClientOptions;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::link::{ClientRole, Seat, Secret, ServerNotice};
use troupe_protocol::op::Op;
use troupe_protocol::{ClientId, EventMsg};
use troupe_testkit::Stage;

use super::house::{ALL, Guest, House, TOKEN};
use super::raw;

const PLAY: &str = "[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n";

/// Waits until a client sees this one drive.
async fn driven_by(guest: &mut Guest, driver: &ClientId) -> Seat {
    let wanted = |seat: &Seat| seat.driver.as_ref() == Some(driver);
    let notice = guest
        .notice(|notice| matches!(notice, ServerNotice::Seat(seat) if wanted(seat)))
        .await;
    match notice {
        ServerNotice::Seat(seat) => seat,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_follower_may_not_submit_and_is_told_why() {
    for kind in ALL {
        let stage = Stage::new(PLAY).await;
        let house = House::open(&stage).await;
        let driver = house.drive("unix").await;
        let mut follower = house.follow(kind).await;
        assert_eq!(follower.client.welcome().seat.role, ClientRole::Follow);
        follower.submit(Op::Interrupt).await;
        let notice = follower
            .notice(|notice| matches!(notice, ServerNotice::Refused { .. }))
            .await;
        let ServerNotice::Refused { id, error } = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(id, Some("s1".into()), "{kind}");
        assert_eq!(error.error_info, Some(ErrorInfo::NotDriving));
        let message = error.message.replace(driver.id().as_str(), "DRIVER");
        expect!["client DRIVER drives this session; ask for the seat with take_seat"]
            .assert_eq(&message);
    }
}

#[tokio::test]
async fn the_seat_is_handed_over() {
    for kind in ALL {
        let stage = Stage::new(PLAY).await;
        let house = House::open(&stage).await;
        let mut first = house.drive(kind).await;
        let mut second = house.follow(kind).await;
        let ids = (first.id(), second.id());
        second.client.submitter().take_seat().await.unwrap();
        let seat = driven_by(&mut first, &ids.0).await;
        assert_eq!(seat.asking, std::slice::from_ref(&ids.1), "{kind}");

        first.client.submitter().release_seat().await.unwrap();
        assert_eq!(driven_by(&mut second, &ids.1).await.role, ClientRole::Drive);
        let seat = driven_by(&mut first, &ids.1).await;
        assert_eq!(seat.role, ClientRole::Follow);

        second.say("hello").await;
        second.until_task_ends().await;
        first.until_task_ends().await;
    }
}

#[tokio::test]
async fn a_driver_that_is_gone_makes_room_for_the_next_in_line() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let first = house.drive("tcp").await;
    // Whoever wants to drive and finds the seat taken waits for it.
    let mut second = house.join("ws", ClientOptions::default()).await.unwrap();
    assert_eq!(second.client.welcome().seat.role, ClientRole::Follow);
    drop(first);
    let own = second.id();
    driven_by(&mut second, &own).await;
    second.say("hello").await;
    second.until_task_ends().await;
}

#[tokio::test]
async fn a_driver_that_comes_back_in_time_keeps_the_seat() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let mut old = house.drive("unix").await;
    old.until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
        .await;
    let _waiting = house.join("unix", ClientOptions::default()).await.unwrap();
    let options = ClientOptions {
        client: Some(old.id()),
        secret: Some(old.client.welcome().secret.clone()),
        ..ClientOptions::default()
    };
    let new = house.join("unix", options).await.unwrap();
    assert_eq!(new.client.welcome().seat.role, ClientRole::Drive);
    let error = loop {
        match old.client.next().await {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("came back"), "{error}");
}

/// Everybody is told the name of the driver; it is no key to its seat.
#[tokio::test]
async fn a_follower_does_not_get_the_seat_by_taking_the_drivers_name() {
    for kind in ALL {
        let stage = Stage::new(PLAY).await;
        let house = House::open(&stage).await;
        let mut driver = house.drive(kind).await;
        driver
            .until(|msg| matches!(msg, EventMsg::SessionConfigured(_)))
            .await;
        for secret in [None, Some(Secret("0".repeat(64)))] {
            let options = ClientOptions {
                client: Some(driver.id()),
                secret,
                ..ClientOptions::default()
            };
            let refused = house.join(kind, options).await.err().unwrap();
            assert!(refused.to_string().contains("another one"), "{refused}");
        }
        driver.say("hello").await;
        driver.until_task_ends().await;
    }
}

/// Over HTTP the client of a submission is named by a header.
#[tokio::test]
async fn a_submission_proves_whose_it_is() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let driver = house.drive("http").await;
    let body = r#"{"id":"1","op":{"type":"interrupt"}}"#;
    let post = |secret: &str| {
        format!(
            "POST /v1/submissions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {TOKEN}\r\n\
             Troupe-Client: {}\r\n{secret}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            driver.id(),
            body.len()
        )
    };
    let place = house.socket_of("http");
    for wrong in ["", "Troupe-Client-Secret: 00000000\r\n"] {
        let answer = raw::http(&place, &post(wrong)).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
        assert!(answer.contains("another one"), "{answer}");
    }
    let own = &driver.client.welcome().secret.0;
    let own = format!("Troupe-Client-Secret: {own}\r\n");
    let answer = raw::http(&place, &post(&own)).await;
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
}

#[tokio::test]
async fn a_list_may_be_asked_for_by_anybody() {
    let stage = Stage::new(PLAY).await;
    let house = House::open(&stage).await;
    let _driver = house.drive("unix").await;
    let mut follower = house.follow("unix").await;
    let list = serde_json::json!({ "type": "list_models" });
    follower.submit(serde_json::from_value(list).unwrap()).await;
    follower
        .notice(|notice| matches!(notice, ServerNotice::Accepted { .. }))
        .await;
}
