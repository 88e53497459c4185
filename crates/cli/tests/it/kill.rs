//! `kill -9` at random points of a task, again and again, over several lives of a session.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde_json::{Value, json};
use troupe_engine::events::expand;
use troupe_mock_model::MockServer;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::{Event, EventMsg, SessionId};

use crate::client::{Client, PATIENCE, user_turn};
use crate::machine::Machine;

const SESSIONS: usize = 20;
const KILLS_PER_SESSION: usize = 11;
/// Sessions that are played with at the same time.
const WORKERS: usize = 3;

/// Answers in one screenplay; no session asks so often.
const ANSWERS: usize = 400;

const PROCESSES_LOOKED_AT_EVERY: Duration = Duration::from_millis(5);

#[test]
fn what_was_seen_is_kept_whenever_the_engine_is_killed() {
    // Set it to repeat a failure.
    let seed = std::env::var("TROUPE_KILL_SEED").ok();
    let seed = seed.map_or_else(|| rand::rng().random(), |seed| seed.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let waiting = Mutex::new((0..SESSIONS).collect::<Vec<_>>());
    let tally = Mutex::new(Tally::default());
    let work = || {
        loop {
            let Some(number) = waiting.lock().unwrap().pop() else {
                return;
            };
            let story = Story::play(number, seed, &runtime);
            tally.lock().unwrap().add(&story);
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
    assert_eq!(tally.kills, SESSIONS * KILLS_PER_SESSION);
    // Without these the kills would have proved little.
    assert!(tally.in_mid_task >= tally.kills / 3, "{tally:?}");
    assert!(tally.with_a_process >= tally.kills / 20, "{tally:?}");
    assert!(tally.completed_items >= tally.kills, "{tally:?}");
}

/// What the kills met, over all sessions.
#[derive(Debug, Default)]
struct Tally {
    kills: usize,
    in_mid_task: usize,
    with_a_process: usize,
    completed_items: usize,
}

impl Tally {
    fn add(&mut self, story: &Story) {
        for life in &story.lives[..KILLS_PER_SESSION] {
            let has = |test: &dyn Fn(&EventMsg) -> bool| life.iter().any(|it| test(&it.msg));
            let began = has(&|msg| matches!(msg, EventMsg::TurnStarted(_)));
            let ended = has(&|msg| matches!(msg, EventMsg::TurnComplete(_)));
            let process = has(&|msg| match msg {
                EventMsg::ItemStarted {
                    item: TurnItem::CommandExecution(item),
                    ..
                } => item.command.iter().any(|word| word.contains(&story.marker)),
                _ => false,
            });
            self.kills += 1;
            self.in_mid_task += usize::from(began && !ended);
            self.with_a_process += usize::from(process);
            self.completed_items += completed(life).count();
        }
    }
}

/// The moment of a kill.
#[derive(Debug, Clone, Copy)]
enum Moment {
    /// While the session is being opened, or repaired after the kill before.
    Opening(Duration),
    /// When so many lines of the task have been read.
    Lines(usize),
    /// So long after the task was handed over.
    Elapsed(Duration),
    /// The task is over.
    End,
}

impl Moment {
    fn random(random: &mut SmallRng) -> Self {
        let mut micros = |max| Duration::from_micros(random.random_range(0..max));
        match micros(5).as_micros() {
            0 => Self::Opening(micros(60_000)),
            1 | 2 => Self::Elapsed(micros(400_000)),
            _ => Self::Lines(random.random_range(0..70)),
        }
    }
}

/// One session and its lives.
struct Story {
    machine: Machine,
    model: MockServer,
    /// An argument of commands that outlive the task, if they can.
    marker: String,
    /// Known once a client has seen it.
    session: Option<SessionId>,
    rollout: Option<PathBuf>,
    /// Everything that clients saw, life by life.
    lives: Vec<Vec<Event>>,
    requests_checked: usize,
}

impl Story {
    fn play(number: usize, seed: u64, runtime: &tokio::runtime::Runtime) -> Self {
        let mut random = SmallRng::seed_from_u64(seed.wrapping_add(number as u64));
        let marker = format!("8{:07}{number:03}", std::process::id());
        let screenplay = screenplay(&marker).parse().unwrap();
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let mut story = Self {
            machine: Machine::bare(),
            model: runtime
                .block_on(MockServer::start(screenplay, address))
                .unwrap(),
            marker,
            session: None,
            rollout: None,
            lives: Vec::new(),
            requests_checked: 0,
        };
        for _ in 0..KILLS_PER_SESSION {
            story.live(Moment::random(&mut random));
        }
        story.live(Moment::End);
        story.nothing_runs_but(None);
        story
    }

    /// Starts or resumes the session, gives it a task, and kills it at its moment.
    fn live(&mut self, moment: Moment) {
        let mut client = Client::start(self.troupe());
        let mut configure = json!({"type": "configure_session"});
        if let Some(session) = self.session {
            configure["resume"] = json!(session);
        }
        client.send("open", &configure);
        let events = match moment {
            Moment::Opening(time) => {
                let deadline = Instant::now() + time;
                while client.next_before(deadline).is_some() {}
                client.kill()
            }
            Moment::Lines(_) | Moment::Elapsed(_) | Moment::End => {
                client.until("session_configured");
                self.nothing_runs_but(Some(client.pid()));
                let life = self.lives.len();
                client.send(&format!("task-{life}"), &user_turn(&format!("Do {life}.")));
                kill_in_task(client, moment)
            }
        };
        self.check_identity(&events);
        self.check_numbers(&events);
        self.check_rollout(&events);
        self.check_requests();
        self.lives.push(events);
    }

    fn troupe(&self) -> std::process::Command {
        let base_url = format!("openai_base_url={}", self.model.base_url());
        let mut command = self.machine.troupe(&["-c", &base_url, "proto"]);
        command.env("OPENAI_API_KEY", "sk-test");
        command
    }

    /// What was resumed is the session that was asked for.
    fn check_identity(&mut self, events: &[Event]) {
        for event in events {
            if let EventMsg::SessionConfigured(configured) = &event.msg {
                let session = configured.session_id;
                assert_eq!(*self.session.get_or_insert(session), session);
                self.rollout.clone_from(&configured.rollout_path);
            }
        }
    }

    /// Waits until the processes of earlier lives are gone, which they do by themselves.
    fn nothing_runs_but(&self, engine: Option<u32>) {
        let directory = fs::canonicalize(self.machine.path("")).unwrap();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left: Vec<String> = processes()
                .filter(|(pid, command, cwd)| {
                    Some(*pid) != engine
                        && (command.contains(&self.marker) || cwd.starts_with(&directory))
                })
                .map(|(pid, command, _)| format!("{pid}: {command}"))
                .collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left by a killed run: {left:?}");
            std::thread::sleep(PROCESSES_LOOKED_AT_EVERY);
        }
    }

    /// A number that was seen is never used again.
    fn check_numbers(&self, events: &[Event]) {
        let before = self.lives.iter().flatten().map(|event| event.seq);
        let mut last = before.max().unwrap_or(0);
        for event in events {
            assert!(event.seq > last, "{} after {last}: {event:?}", event.seq);
            last = event.seq;
        }
    }

    /// Whatever was seen, except for pieces of text, is in the rollout word for word.
    fn check_rollout(&self, events: &[Event]) {
        let Some(rollout) = &self.rollout else {
            return assert_eq!(events, [], "nothing is told of a session without a place");
        };
        let text = fs::read(rollout).unwrap();
        let whole = text.iter().rposition(|byte| *byte == b'\n').unwrap();
        let mut kept = BTreeMap::new();
        for line in text[..whole].split(|byte| *byte == b'\n') {
            let line: Value = serde_json::from_slice(line).unwrap();
            let record = json!({"type": line["type"], "payload": line["payload"]});
            if let RolloutRecord::EventMsg(record) = serde_json::from_value(record).unwrap() {
                kept.extend(expand(record).into_iter().map(|event| (event.seq, event)));
            }
        }
        let seen = self.lives.iter().flatten().chain(events);
        for event in seen.filter(|event| !event.msg.is_delta()) {
            assert_eq!(kept.get(&event.seq), Some(event));
        }
    }

    /// Every request is valid, and the first one of this life has what earlier ones saw.
    fn check_requests(&mut self) {
        let requests = self.model.requests();
        let new = &requests[self.requests_checked..];
        for (nth, request) in new.iter().enumerate() {
            let body: Value = serde_json::from_slice(&request.body).unwrap();
            let input = body["input"].as_array().unwrap();
            check_input(input);
            if nth == 0 {
                self.check_memory(input);
            }
        }
        self.requests_checked = requests.len();
    }

    fn check_memory(&self, input: &[Value]) {
        let text = serde_json::to_string(input).unwrap();
        for item in self.lives.iter().flat_map(|life| completed(life)) {
            let expected = match item {
                TurnItem::UserMessage(item) => match item.content.as_slice() {
                    [UserInput::Text { text, .. }] => text.clone(),
                    other => panic!("nobody said {other:?}"),
                },
                TurnItem::AgentMessage(item) => item.text.clone(),
                TurnItem::CommandExecution(item) => item.id.to_string(),
                TurnItem::FileChange(item) => {
                    for path in item.changes.keys() {
                        assert!(path.exists(), "{} was seen", path.display());
                    }
                    item.id.to_string()
                }
                // It is left out when nothing followed it.
                TurnItem::Reasoning(_) => continue,
                other => panic!("the screenplay makes no {other:?}"),
            };
            assert!(text.contains(&expected), "{expected} is forgotten: {text}");
        }
    }
}

fn kill_in_task(mut client: Client, moment: Moment) -> Vec<Event> {
    let deadline = match moment {
        Moment::Opening(time) | Moment::Elapsed(time) => Instant::now() + time,
        Moment::Lines(_) | Moment::End => Instant::now() + PATIENCE,
    };
    let mut lines = 0;
    let mut is_over = false;
    while !is_over && !matches!(moment, Moment::Lines(count) if lines >= count) {
        let Some(event) = client.next_before(deadline) else {
            break;
        };
        lines += 1;
        is_over = matches!(event.msg, EventMsg::TurnComplete(_));
        assert!(!matches!(event.msg, EventMsg::Error(_)), "{event:?}");
    }
    if let Moment::End = moment {
        assert!(is_over, "{:#?}", client.seen);
    }
    client.kill()
}

fn completed(events: &[Event]) -> impl Iterator<Item = &TurnItem> {
    events.iter().filter_map(|event| match &event.msg {
        EventMsg::ItemCompleted { item, .. } => Some(item),
        _ => None,
    })
}

/// Checks what providers demand: each call is answered once, after it was made, and
/// reasoning is followed by what was reasoned about.
pub fn check_input(input: &[Value]) {
    let mut open = BTreeSet::new();
    let mut calls = BTreeSet::new();
    let mut reasoned = false;
    for item in input {
        let kind = item["type"].as_str().unwrap();
        let from_model = item["role"] == "assistant" || kind.ends_with("_call");
        assert!(!reasoned || from_model, "dangling reasoning: {input:#?}");
        reasoned = kind == "reasoning";
        let call = item["call_id"].as_str();
        match kind {
            "function_call" | "custom_tool_call" => {
                assert!(calls.insert(call.unwrap()), "called twice: {input:#?}");
                open.insert(call.unwrap());
            }
            "function_call_output" | "custom_tool_call_output" => {
                assert!(open.remove(call.unwrap()), "no such call: {input:#?}");
            }
            "message" => assert!(open.is_empty(), "unanswered: {input:#?}"),
            "reasoning" => {}
            other => panic!("{other} in {input:#?}"),
        }
    }
    assert!(open.is_empty() && !reasoned, "{input:#?}");
}

/// Every process that can be looked at: pid, command line, working directory.
pub fn processes() -> impl Iterator<Item = (u32, String, PathBuf)> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        // One that has ended meanwhile is none.
        let command = fs::read(entry.path().join("cmdline")).ok()?;
        let command = String::from_utf8_lossy(&command).replace('\0', " ");
        let cwd = fs::read_link(entry.path().join("cwd")).unwrap_or_default();
        Some((pid, command, cwd))
    })
}

/// Answers of every kind, each with words of its own.
fn screenplay(marker: &str) -> String {
    let steps = |n: usize| match n % 6 {
        0 => format!(
            r#"{{ think = "Thought {n}." }}, {{ call = "shell_command", arguments = {{ command = "echo output {n}" }} }}"#
        ),
        1 => format!(
            r#"{{ say = "Patch {n}." }}, {{ custom = "apply_patch", input = "*** Begin Patch\n*** Add File: file-{n}\n+line {n}\n*** End Patch\n" }}"#
        ),
        2 => format!(
            r#"{{ call = "shell_command", arguments = {{ command = "echo one {n}" }} }}, {{ call = "shell_command", arguments = {{ command = "echo two {n}" }} }}"#
        ),
        3 => format!(
            r#"{{ think = "Thought {n}." }}, {{ call = "exec_command", arguments = {{ cmd = "sleep {marker}", yield_time_ms = 250 }} }}"#
        ),
        4 => format!(
            r#"{{ say = "Many words are said in answer {n}.", pace_ms = 2 }}, {{ call = "shell_command", arguments = {{ command = "echo three {n}" }} }}"#
        ),
        _ => format!(r#"{{ think = "Thought {n}." }}, {{ say = "The end {n}." }}"#),
    };
    let turns = (0..ANSWERS).map(|n| format!("[[scene.turn]]\nsteps = [{}]\n", steps(n)));
    format!("[[scene]]\n{}", turns.collect::<String>())
}
