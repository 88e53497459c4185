//! What is known of limits and tokens.

use serde_json::json;
use troupe_testkit::Stage;

use super::client::{Client, app};

#[tokio::test]
async fn limits_are_what_the_provider_said_last() {
    let stage = Stage::new(
        r#"
        [[scene]]
        [[scene.turn]]
        headers = { "x-codex-primary-used-percent" = "41.6", "x-codex-primary-window-minutes" = "300", "x-codex-primary-reset-at" = "1794800000" }
        steps = [{ say = "one" }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let read = client.call("account/rateLimits/read", json!({})).await;
    assert_eq!(read.unwrap()["rateLimits"]["primary"], json!(null));
    let thread = client.thread().await;
    client.whole_turn(&thread, "hello").await;
    let told = client.told("account/rateLimits/updated").await;
    let window = json!({"usedPercent": 42, "windowDurationMins": 300, "resetsAt": 1_794_800_000});
    assert_eq!(told["rateLimits"]["primary"], window);
    let read = client.call("account/rateLimits/read", json!(null)).await;
    assert_eq!(read.unwrap()["rateLimits"]["primary"], window);
    client.leave().await;
    app.end().await;
}

#[tokio::test]
async fn tokens_of_all_threads_are_added_up() {
    let stage = Stage::new(
        r#"
        [[scene]]
        [[scene.turn]]
        usage = { input = 100, output = 20 }
        steps = [{ say = "one" }]
        "#,
    )
    .await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    for _ in 0..2 {
        let thread = client.thread().await;
        client.whole_turn(&thread, "hello").await;
    }
    let read = client.call("account/usage/read", json!({})).await.unwrap();
    assert_eq!(read["summary"]["lifetimeTokens"], 240);
    assert_eq!(read["summary"]["longestStreakDays"], 1);
    let days = read["dailyUsageBuckets"].as_array().unwrap();
    // Midnight may have come between the two.
    let tokens: u64 = days.iter().map(|day| day["tokens"].as_u64().unwrap()).sum();
    assert_eq!(tokens, 240);
    client.leave().await;
    app.end().await;
}
