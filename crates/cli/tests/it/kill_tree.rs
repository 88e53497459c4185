//! `kill -9` at random points in the life of a tree: every result reaches the parent once,
//! whoever was killed in between.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use troupe_mock_model::MockServer;
use troupe_protocol::agent::SubagentLifecycle;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{AgentLine, MessageId, TaskEnding, TreeFact};
use troupe_protocol::{AgentId, Event, EventMsg, SessionId};

use crate::client::{Client, PATIENCE, user_turn};
use crate::kill::{check_input, processes};
use crate::machine::Machine;

const TREES: usize = 8;
const KILLS_PER_TREE: usize = 26;
/// Trees that are played with at the same time.
const WORKERS: usize = 2;
const CHILDREN: usize = 12;

/// Answers in one scene; no agent asks so often.
const ANSWERS: usize = 600;

const PROCESSES_LOOKED_AT_EVERY: Duration = Duration::from_millis(5);

#[test]
fn every_result_is_delivered_once_whenever_the_engine_is_killed() {
    // Set it to repeat a failure.
    let seed = std::env::var("TROUPE_KILL_SEED").ok();
    let seed = seed.map_or_else(|| rand::rng().random(), |seed| seed.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let waiting = Mutex::new((0..TREES).collect::<Vec<_>>());
    let tally = Mutex::new(Tally::default());
    let work = || {
        loop {
            let Some(number) = waiting.lock().unwrap().pop() else {
                return;
            };
            let told = Grove::play(number, seed, &runtime);
            tally.lock().unwrap().add(&told);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                let played = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
                assert!(played.is_ok(), "repeat it with TROUPE_KILL_SEED={seed}");
            });
        }
    });
    let tally = tally.into_inner().unwrap();
    println!("seed {seed}: {tally:?}");
    // Without these the kills would have proved little.
    assert_eq!(tally.kills, TREES * KILLS_PER_TREE);
    assert!(tally.children >= TREES * CHILDREN / 2, "{tally:?}");
    assert!(tally.grandchildren >= TREES, "{tally:?}");
    assert!(tally.cut_off >= tally.kills / 2, "{tally:?}");
    assert!(tally.called_back >= tally.kills / 4, "{tally:?}");
    assert!(tally.waited_for >= TREES, "{tally:?}");
}

/// What the kills met, over all trees.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    children: usize,
    /// Of them, those whose parent is not the root.
    grandchildren: usize,
    /// Tasks that a kill ended.
    cut_off: usize,
    /// Results that came as a message, and as the answer of a wait.
    called_back: usize,
    waited_for: usize,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.kills += other.kills;
        self.children += other.children;
        self.grandchildren += other.grandchildren;
        self.cut_off += other.cut_off;
        self.called_back += other.called_back;
        self.waited_for += other.waited_for;
    }
}

/// The moment of a kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// While the tree is being taken up again.
    Opening(Duration),
    /// When so many lines were read.
    Lines(usize),
    /// So long after the user's input was handed over.
    Elapsed(Duration),
}

impl Moment {
    fn random(random: &mut SmallRng) -> Self {
        let mut micros = |max| Duration::from_micros(random.random_range(0..max));
        match micros(5).as_micros() {
            0 => Self::Opening(micros(200_000)),
            1 | 2 => Self::Elapsed(micros(900_000)),
            _ => Self::Lines(random.random_range(0..250)),
        }
    }
}

/// One tree and its lives.
struct Grove {
    machine: Machine,
    model: MockServer,
    /// An argument of commands that outlive a task, if they can.
    marker: String,
    /// What becomes of those that were at work.
    on_resume: &'static str,
    root: Option<SessionId>,
    lives: usize,
    /// Agents that a client was told of.
    seen: BTreeMap<AgentId, SessionId>,
}

impl Grove {
    fn play(number: usize, seed: u64, runtime: &tokio::runtime::Runtime) -> Tally {
        let mut random = SmallRng::seed_from_u64(seed.wrapping_add(number as u64));
        let marker = format!("7{:07}{number:03}", std::process::id());
        let screenplay = screenplay(&marker).parse().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let server = MockServer::start(screenplay, address);
        let mut grove = Self {
            machine: Machine::bare(),
            model: runtime.block_on(server).unwrap(),
            marker,
            on_resume: ["leave", "continue"][number % 2],
            root: None,
            lives: 0,
            seen: BTreeMap::new(),
        };
        for _ in 0..KILLS_PER_TREE {
            grove.live(Moment::random(&mut random));
            grove.story().check();
        }
        grove.live_to_the_end();
        grove.nothing_runs_but(None);
        let story = grove.story();
        story.check();
        story.check_everything_arrived(grove.on_resume);
        story.check_told(&grove.last_request_of_root());
        for request in grove.model.requests() {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            check_input(body["input"].as_array().unwrap());
        }
        story.tally()
    }

    /// Opens the tree, gives its root something to do, and kills the engine at its moment.
    fn live(&mut self, moment: Moment) {
        let mut client = self.open();
        let deadline = match moment {
            Moment::Opening(time) => Instant::now() + time,
            Moment::Elapsed(_) | Moment::Lines(_) => {
                client.until("session_configured");
                self.nothing_runs_but(Some(client.pid()));
                self.hand_over(&mut client);
                match moment {
                    Moment::Elapsed(time) => Instant::now() + time,
                    Moment::Lines(_) | Moment::Opening(_) => Instant::now() + PATIENCE,
                }
            }
        };
        let mut lines = 0;
        while !matches!(moment, Moment::Lines(count) if lines >= count) {
            let Some(event) = client.next_before(deadline) else {
                break;
            };
            lines += 1;
            if matches!(moment, Moment::Lines(_)) && is_end_of_task(event) {
                break;
            }
        }
        let events = client.kill();
        self.look(&events);
        self.lives += 1;
    }

    /// Lets everything that is left be done.
    fn live_to_the_end(&mut self) {
        let mut client = self.open();
        client.until("session_configured");
        self.hand_over(&mut client);
        let events = client.finish();
        self.look(&events);
    }

    fn open(&self) -> Client {
        let base_url = format!("openai_base_url={}", self.model.base_url());
        let max_agents = format!("agents.max_agents={}", CHILDREN + 1);
        let on_resume = format!("agents.on_resume={}", self.on_resume);
        let mut command = self.machine.troupe(&[
            "-c",
            &base_url,
            "-c",
            &max_agents,
            "-c",
            &on_resume,
            "-c",
            "agents.max_spawns_per_minute=10000",
            "-c",
            "agents.max_threads=6",
            "proto",
        ]);
        command.env("OPENAI_API_KEY", "sk-test");
        let mut client = Client::start(command);
        let mut configure = json!({"type": "configure_session"});
        if let Some(root) = self.root {
            configure["resume"] = json!(root);
        }
        client.send("open", &configure);
        client
    }

    fn hand_over(&self, client: &mut Client) {
        let life = self.lives;
        client.send(&format!("life-{life}"), &user_turn(&format!("Do {life}.")));
    }

    /// What was seen once stays as it was, and no line of the tree was in the way.
    fn look(&mut self, events: &[Event]) {
        for event in events {
            match &event.msg {
                EventMsg::SessionConfigured(configured) => {
                    let root = configured.session_id;
                    assert_eq!(*self.root.get_or_insert(root), root);
                }
                EventMsg::SubagentLifecycle(SubagentLifecycle::Created { subagent }) => {
                    let agent = subagent.agent_id;
                    let session = *self.seen.entry(agent).or_insert(subagent.session_id);
                    assert_eq!(session, subagent.session_id, "{agent} is used twice");
                }
                EventMsg::Warning { message } => {
                    assert!(!message.contains("of the agent tree"), "{message}");
                }
                _ => {}
            }
        }
    }

    /// Waits until the processes of earlier lives are gone, which they do by themselves.
    fn nothing_runs_but(&self, engine: Option<u32>) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left: Vec<String> = processes()
                .filter(|(pid, command, _)| Some(*pid) != engine && command.contains(&self.marker))
                .map(|(pid, command, _)| format!("{pid}: {command}"))
                .collect();
            if left.is_empty() {
                return;
            }
            // The children of this life may have begun.
            if engine.is_some() && self.on_resume == "continue" {
                return;
            }
            assert!(Instant::now() < deadline, "left by a killed run: {left:?}");
            std::thread::sleep(PROCESSES_LOOKED_AT_EVERY);
        }
    }

    fn story(&self) -> Story {
        let mut logs = Vec::new();
        find_logs(&self.machine.path("home/sessions"), &mut logs);
        let mut lines = Vec::new();
        for log in logs {
            let of_log = agent_lines(&log);
            // Else a kill between two of them would keep the later one alone.
            let is_in_order = of_log.is_sorted_by_key(|line| line.record.order);
            assert!(is_in_order, "not in the order of the tree: {of_log:#?}");
            lines.extend(of_log);
        }
        lines.sort_by_key(|line| line.record.order);
        Story {
            root: self.root,
            kills: self.lives,
            lines,
        }
    }

    fn last_request_of_root(&self) -> Vec<Value> {
        let root = self.root.unwrap().to_string();
        let requests = self.model.requests().into_iter().rev();
        let mut bodies = requests.map(|it| serde_json::from_slice::<Value>(&it.body).unwrap());
        let last = bodies.find(|body| body["prompt_cache_key"] == root);
        last.unwrap()["input"].as_array().unwrap().clone()
    }
}

/// What the logs of a tree say, in its order.
struct Story {
    root: Option<SessionId>,
    kills: usize,
    lines: Vec<AgentLine>,
}

impl Story {
    /// What holds at any moment.
    fn check(&self) {
        let mut orders = BTreeSet::new();
        let mut agents = BTreeSet::new();
        let mut sessions = BTreeSet::new();
        let mut paths = BTreeSet::new();
        let mut ended = BTreeSet::new();
        for line in &self.lines {
            let record = &line.record;
            assert_eq!(Some(line.tree), self.root);
            assert!(orders.insert(record.order), "a number twice: {line:?}");
            match &record.fact {
                TreeFact::Born(birth) => {
                    assert!(agents.insert(birth.agent), "born twice: {line:?}");
                    assert!(sessions.insert(birth.session), "born twice: {line:?}");
                    assert!(paths.insert(birth.path.clone()), "born twice: {line:?}");
                    assert!(line.spec.is_some() && line.message.is_some(), "{line:?}");
                }
                TreeFact::Ended { agent, task, .. } => {
                    assert!(ended.insert((*agent, task)), "ended twice: {line:?}");
                    let result = line.result.as_ref().unwrap();
                    assert_eq!(result.task_id, *task, "{line:?}");
                }
                _ => {}
            }
        }
        assert!(agents.len() <= CHILDREN);
        for (message, deliveries) in self.deliveries() {
            assert!(
                deliveries.len() <= 1,
                "{message} came twice: {deliveries:?}"
            );
        }
    }

    /// Once everything is quiet, nothing is left in an inbox. Only who was cut off and is not
    /// to go on hears nothing until somebody writes to it.
    fn check_everything_arrived(&self, on_resume: &str) {
        let deliveries = self.deliveries();
        for (message, target, line) in self.callbacks() {
            if target != AgentId::ROOT && on_resume == "leave" {
                continue;
            }
            assert!(
                deliveries.contains_key(&message),
                "never delivered: {line:?}"
            );
        }
    }

    /// The model was sent each result: as a message, or as the answer of a wait.
    fn check_told(&self, input: &[Value]) {
        let deliveries = self.deliveries();
        let messages = texts(input, "message", "content");
        let answers = texts(input, "function_call_output", "output");
        for (message, _, line) in self.callbacks_of_root() {
            let result = line.result.as_ref().unwrap();
            let id = format!("task_id: \\\"{}\\\"", result.task_id);
            let as_message = messages.iter().filter(|text| text.contains(&id)).count();
            match &deliveries[&message][0].record.fact {
                TreeFact::Consumed { .. } => {
                    assert_eq!(as_message, 0, "told twice: {line:?}");
                    let session = result.session_id.to_string();
                    let said = result.last_message.as_deref().unwrap_or_default();
                    let told = |text: &&String| text.contains(&session) && text.contains(said);
                    assert!(answers.iter().any(|text| told(&text)), "not told: {line:?}");
                }
                _ => assert_eq!(as_message, 1, "{line:?} in {messages:#?}"),
            }
        }
    }

    /// The results that somebody is to be told of: under which name, and whom.
    fn callbacks(&self) -> impl Iterator<Item = (MessageId, AgentId, &AgentLine)> {
        self.lines.iter().filter_map(|line| match line.record.fact {
            TreeFact::Ended { callback, .. } => callback.map(|it| (it.id, it.target, line)),
            _ => None,
        })
    }

    fn callbacks_of_root(&self) -> impl Iterator<Item = (MessageId, AgentId, &AgentLine)> {
        let callbacks = self.callbacks();
        callbacks.filter(|(_, target, _)| *target == AgentId::ROOT)
    }

    /// The lines that took a message out of an inbox.
    fn deliveries(&self) -> BTreeMap<MessageId, Vec<&AgentLine>> {
        let mut deliveries: BTreeMap<MessageId, Vec<&AgentLine>> = BTreeMap::new();
        for line in &self.lines {
            let messages = match &line.record.fact {
                TreeFact::Started { message, .. } => message.as_slice(),
                TreeFact::Took { messages, .. } | TreeFact::Consumed { messages, .. } => messages,
                _ => &[],
            };
            for message in messages {
                deliveries.entry(*message).or_default().push(line);
            }
        }
        deliveries
    }

    fn tally(&self) -> Tally {
        let count = |is_it: &dyn Fn(&TreeFact) -> bool| {
            let facts = self.lines.iter().map(|line| &line.record.fact);
            facts.filter(|fact| is_it(fact)).count()
        };
        let cut_off = |end: &TaskEnding| matches!(end, TaskEnding::Interrupted { .. });
        let deliveries = self.deliveries();
        let waited_for = self.callbacks_of_root().filter(|(message, _, _)| {
            let line = deliveries[message][0];
            matches!(line.record.fact, TreeFact::Consumed { .. })
        });
        let waited_for = waited_for.count();
        Tally {
            kills: self.kills,
            children: count(&|fact| matches!(fact, TreeFact::Born(_))),
            grandchildren: count(&|fact| matches!(fact, TreeFact::Born(it) if it.parent.0 != 0)),
            cut_off: count(&|fact| matches!(fact, TreeFact::Ended { end, .. } if cut_off(end))),
            called_back: self.callbacks_of_root().count() - waited_for,
            waited_for,
        }
    }
}

fn is_end_of_task(event: &Event) -> bool {
    matches!(
        event.msg,
        EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)
    )
}

fn texts(input: &[Value], kind: &str, key: &str) -> Vec<String> {
    let items = input.iter().filter(|item| item["type"] == kind);
    items.map(|item| item[key].to_string()).collect()
}

fn find_logs(directory: &Path, logs: &mut Vec<PathBuf>) {
    // Before the first session there is none.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            find_logs(&path, logs);
        } else if path.extension().is_some_and(|it| it == "jsonl") {
            logs.push(path);
        }
    }
}

/// The lines of the tree in one log. The last line of any log may be torn.
fn agent_lines(log: &Path) -> Vec<AgentLine> {
    let text = fs::read(log).unwrap();
    let whole = text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let lines = text[..whole].split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| {
            let line: Value = serde_json::from_slice(line).ok()?;
            let record = json!({"type": line["type"], "payload": line["payload"]});
            match serde_json::from_value(record).ok()? {
                RolloutRecord::Agent(line) => Some(*line),
                _ => None,
            }
        })
        .collect()
}

/// A root that makes children, writes to them, waits for them, and hears from them; and the
/// children, whose tasks are a few commands long.
fn screenplay(marker: &str) -> String {
    let root = (0..ANSWERS).map(|n| turn(&root_answer(n)));
    let child = (0..ANSWERS).map(|n| turn(&child_answer(n, marker)));
    format!(
        "[[scene]]\nwhen = \"Job\"\n{}\n[[scene]]\n{}",
        child.collect::<String>(),
        root.collect::<String>()
    )
}

fn turn(steps: &str) -> String {
    format!("[[scene.turn]]\nsteps = [{steps}]\n")
}

/// Says little enough to all that one day everything is said.
fn root_answer(n: usize) -> String {
    let call = |tool: &str, arguments: &str| {
        format!(r#"{{ call = "{tool}", arguments = {{ {arguments} }} }}"#)
    };
    let spawn = |k: usize| call("spawn_agent", &format!(r#"message = "Job {n}-{k}""#));
    let send = |k: usize| {
        let (to, urgent) = (k % CHILDREN + 1, k.is_multiple_of(5));
        let arguments = format!(r#"id = {to}, message = "More {n}-{k}", interrupt = {urgent}"#);
        call("send_input", &arguments)
    };
    let wait = |k: usize| {
        let ids = [0, 3, 5].map(|d| ((k + d) % CHILDREN + 1).to_string());
        call("wait", &format!("ids = [{}]", ids.join(", ")))
    };
    match n % 10 {
        0 => (0..5).map(spawn).collect::<Vec<_>>().join(", "),
        1 => (0..2).map(spawn).collect::<Vec<_>>().join(", "),
        2 => wait(n / 10),
        5 => [send(n), send(n + 7), send(n + 3)].join(", "),
        6 => [wait(n), wait(n + 1)].join(", "),
        _ => format!(r#"{{ think = "Thought {n}." }}, {{ say = "Heard {n}." }}"#),
    }
}

fn child_answer(n: usize, marker: &str) -> String {
    let shell = |command: String| {
        format!(r#"{{ call = "shell_command", arguments = {{ command = "{command}" }} }}"#)
    };
    match n % 4 {
        0 if n.is_multiple_of(8) => {
            format!(
                r#"{{ call = "spawn_agent", arguments = {{ message = "Job {n} of a child" }} }}"#
            )
        }
        0 => shell(format!("echo one {n}")),
        1 => format!(
            r#"{{ call = "exec_command", arguments = {{ cmd = "sleep {marker}", yield_time_ms = 250 }} }}"#
        ),
        2 => format!(r#"{{ say = "Result {n}.", pace_ms = 2 }}"#),
        _ => format!(r#"{{ think = "Thought {n}." }}, {{ say = "Answer {n}." }}"#),
    }
}
