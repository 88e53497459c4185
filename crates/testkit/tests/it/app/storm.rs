//! Every request is answered, whatever else is asked of the same agents at that moment.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use troupe_testkit::Stage;

use super::client::{Client, app, saying};

const PLAY: &str = r#"
    [[scene]]
    when = "hold"
    [[scene.turn]]
    steps = [{ say = "One, two", unfinished = true }, { end = "stall" }]
    [[scene.turn]]
    steps = [{ say = "held" }]

    [[scene]]
    [[scene.turn]]
    steps = [{ say = "done" }]
    [[scene.turn]]
    steps = [{ say = "done again" }]
"#;

async fn stage(running_max: usize) -> Stage {
    let stage = Stage::new(PLAY).await;
    let mut options = stage.tree_options(&[]);
    options.limits.max_threads = running_max;
    options.limits.max_spawns_per_minute = 10_000;
    stage.with_tree(options)
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

async fn spawned(client: &mut Client, root: &str, words: &str) -> String {
    let params = json!({"rootThreadId": root, "input": text(words)});
    let spawned = client.call("agent/spawn", params).await.unwrap();
    spawned["agent"]["threadId"].as_str().unwrap().to_owned()
}

/// The child never begins: it waits for a slot, and is cancelled there.
#[tokio::test]
async fn a_turn_for_a_child_that_is_cancelled_in_the_queue_is_answered() {
    let stage = stage(1).await;
    let app = app(&stage);
    let mut client = Client::ready(&app).await;
    let root = client.thread().await;
    spawned(&mut client, &root, "hold").await;
    client.told("turn/started").await;
    let queued = spawned(&mut client, &root, "work").await;
    let request = client.send("turn/start", saying(&queued, "and more")).await;
    let stop = json!({"rootThreadId": root, "agents": [queued], "verb": "cancel"});
    let stopped = client.call("agent/stop", stop).await.unwrap();
    assert_eq!(stopped["touched"][0]["agent"]["threadId"], json!(queued));
    let answer = client.answer(&request).await.unwrap();
    assert!(answer["turn"]["id"].is_string(), "{answer}");
    client.leave().await;
    app.end().await;
}

/// A small generator, so that a run that fails can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn pick<'a>(&mut self, among: &'a [String], otherwise: &'a str) -> &'a str {
        match among.len() {
            0 => otherwise,
            len => &among[self.roll(len)],
        }
    }
}

/// What the storm knows of the tree.
struct Storm {
    dice: Dice,
    root: String,
    children: Vec<String>,
    turns: Vec<String>,
}

const CHILDREN_MAX: usize = 24;

impl Storm {
    fn operation(&mut self) -> (&'static str, Value) {
        let Self {
            dice,
            root,
            children,
            turns,
        } = self;
        let words = ["hold", "work", "more work"][dice.roll(3)];
        let child = dice.pick(children, root).to_owned();
        let turn = dice.pick(turns, "nowhere").to_owned();
        let anyone: &str = if dice.roll(8) == 0 { root } else { &child };
        match dice.roll(12) {
            0 if children.len() < CHILDREN_MAX => (
                "agent/spawn",
                json!({"rootThreadId": root, "input": text(words)}),
            ),
            0 | 1 => {
                let interrupt = dice.roll(3) == 0;
                let params = json!({"rootThreadId": root, "agent": child, "input": text(words), "interrupt": interrupt});
                ("agent/send", params)
            }
            2 | 3 => {
                let verb =
                    ["interrupt", "cancel", "cancel", "close", "release", "prune"][dice.roll(6)];
                let params = json!({"rootThreadId": root, "agents": [child], "verb": verb});
                ("agent/stop", params)
            }
            4 => {
                let time = dice.roll(5);
                (
                    "agent/wait",
                    json!({"rootThreadId": root, "timeoutMs": time}),
                )
            }
            5 => (
                "agent/result",
                json!({"rootThreadId": root, "agent": child}),
            ),
            6..=8 => ("turn/start", saying(anyone, words)),
            9 => {
                let mut params = saying(anyone, words);
                params["expectedTurnId"] = json!(turn);
                ("turn/steer", params)
            }
            10 => (
                "turn/interrupt",
                json!({"threadId": anyone, "turnId": turn}),
            ),
            _ => ("tree/read", json!({"rootThreadId": root})),
        }
    }

    /// Learns from what the server says.
    fn hear(&mut self, message: &Value) {
        if let Some(child) = message["result"]["agent"]["threadId"].as_str()
            && !self.children.iter().any(|known| known == child)
        {
            self.children.push(child.to_owned());
        }
        if message["method"] == "turn/started" {
            let turn = message["params"]["turn"]["id"].as_str().unwrap();
            self.turns.push(turn.to_owned());
        }
    }
}

const OPERATIONS: usize = 1_200;
const BURST_MAX: usize = 24;

/// Requests of two clients about the same agents, sent without waiting for answers.
#[tokio::test]
async fn every_request_of_a_storm_is_answered() {
    let stage = stage(2).await;
    let app = app(&stage);
    let mut clients = [Client::ready(&app).await, Client::ready(&app).await];
    let root = clients[0].thread().await;
    let seed = 0x5eed_1234_abcd;
    let mut storm = Storm {
        dice: Dice(seed),
        root,
        children: Vec::new(),
        turns: Vec::new(),
    };
    let mut sent = 0;
    while sent < OPERATIONS {
        let mut open: [BTreeMap<String, &str>; 2] = Default::default();
        let burst = 1 + storm.dice.roll(BURST_MAX);
        for _ in 0..burst {
            let at = storm.dice.roll(2);
            let (method, params) = storm.operation();
            let id = clients[at].send(method, params).await;
            open[at].insert(id.to_string(), method);
        }
        sent += burst;
        // What runs for ever is ended, so that whoever waits for an end hears of it.
        let all =
            json!({"rootThreadId": storm.root, "agents": storm.children, "verb": "interrupt"});
        let stop = clients[0].send("agent/stop", all).await;
        open[0].insert(stop.to_string(), "agent/stop");
        for (client, open) in clients.iter_mut().zip(&mut open) {
            while !open.is_empty() {
                let message = client.next_or(|| format!("unanswered: {open:?}")).await;
                storm.hear(&message);
                if message.get("method").is_none() {
                    open.remove(&message["id"].to_string());
                }
            }
        }
    }
    for client in clients {
        client.leave().await;
    }
    app.end().await;
}
