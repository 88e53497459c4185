//! A client that does not read is in nobody's way.

use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app};

const HELLO: &str = r#"
    [[scene]]
    [[scene.turn]]
    steps = [{ say = "Hello to you." }]
"#;

/// Less than the answers to a handful of requests.
const ROOM_BYTES: usize = 512;

#[tokio::test]
async fn threads_begin_and_work_beside_a_client_that_does_not_read() {
    let stage = Stage::new(HELLO).await;
    let app = app(&stage);
    let mut deaf = Client::with_room(&app, ROOM_BYTES);
    deaf.introduce(json!({})).await;
    let mut client = Client::ready(&app).await;
    let thread = client.thread().await;
    // Together more than fits into its outbox.
    for _ in 0..100 {
        deaf.send("thread/read", json!({"threadId": thread})).await;
        client.thread().await;
    }
    let turn = client.whole_turn(&thread, "hello").await;
    assert_eq!(turn["status"], "completed");
    client.leave().await;
    // It hears what it missed when it reads again.
    deaf.told("thread/started").await;
    app.end().await;
}
