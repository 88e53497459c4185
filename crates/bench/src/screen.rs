//! What the screen costs, at a terminal that logs every byte with its time.
//!
//! CPU and memory are those of the screen, its engine and whatever else has their home; times are
//! from what was done at the terminal to the bytes that show it.

mod fixtures;
mod household;
mod terminal;

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

pub use self::household::Household;
use self::household::HouseholdUse;
use self::terminal::{BenchTerminal, BenchWindow, OutputMark, let_pass};
use crate::limits::{BENCH_IDLE, BENCH_KEY_INTERVAL, BENCH_PACE_MS, BENCH_SETTLE};
use crate::subject::BenchSubject;
use crate::workload::BenchStage;

const WINDOW: BenchWindow = BenchWindow {
    columns: 120,
    rows: 40,
};
const NARROW: BenchWindow = BenchWindow {
    columns: 100,
    rows: 40,
};

/// What the empty line says while nothing runs, and while something does.
const READY: &str = "Message, /command";
const WORKS: &str = "Enter: with the next request";
/// What every answer of these scenes ends with.
const END: &str = "finis";
/// A frame begins with this.
const FRAME: &str = "\x1b[?2026h";
/// Empties the line.
const CTRL_U: &str = "\x15";
const CTRL_T: &str = "\x14";

pub const BURST: &str = "speak in a burst";
pub const PACED: &str = "speak in time";
pub const STREAM: &str = "speak without end";
pub const THINK: &str = "think without a word";
pub const GREET: &str = "greet";
pub const CROWD: &str = "lead a crowd";
pub const AT_WORK: &str = "be at work";

pub const SCREEN_DELTAS: u32 = 1_000;
pub const SCREEN_AGENTS: u32 = 64;
/// Messages of a stream without end, and words of each: one message every ten milliseconds.
const STREAM_MESSAGES: usize = 1_500;
const STREAM_WORDS: usize = 100;

/// Letters that stand nowhere on the screen, so that their echo is known.
const LETTERS: &str = "бгджзийлпфцчшщъыьэюя";
const KEYS: usize = 200;
const KEYS_STREAMING: usize = 100;

/// One row of the report.
#[derive(Debug, Default)]
pub struct ScreenFigure {
    pub what: &'static str,
    pub cpu: Duration,
    pub wall: Duration,
    pub rss: u64,
    pub note: String,
}

/// Scenes of the scripted model for these measurements.
pub fn scenes() -> String {
    let mut play = String::new();
    let mut scene = |when: &str, steps: &str| {
        write!(
            play,
            "[[scene]]\nwhen = \"{when}\"\n[[scene.turn]]\nsteps = [{steps}]\n"
        )
        .expect("text takes text");
    };
    let text = paragraphs(SCREEN_DELTAS);
    scene(BURST, &format!("{{ say = \"{text}{END}\" }}"));
    scene(
        PACED,
        &format!("{{ say = \"{text}{END}\", pace_ms = {BENCH_PACE_MS} }}"),
    );
    // No message is as another: a model that repeats itself is stopped.
    let messages = (0..STREAM_MESSAGES).map(|number| {
        let words = words(number, STREAM_WORDS);
        format!("{{ say = \"{words}\" }}, {{ pause_ms = 10 }}, ")
    });
    scene(STREAM, &messages.collect::<String>());
    scene(THINK, "{ pause_ms = 600000 }");
    scene(GREET, &format!("{{ say = \"{END}\" }}"));
    scene(AT_WORK, "{ pause_ms = 600000 }");
    let spawn =
        format!("{{ call = \"spawn_agent\", arguments = {{ message = \"{AT_WORK}\" }} }}, ");
    let spawns = spawn.repeat(SCREEN_AGENTS as usize);
    write!(
        play,
        "[[scene]]\nwhen = \"{CROWD}\"\n[[scene.turn]]\nsteps = [{spawns}]\n\
         [[scene.turn]]\nsteps = [{{ say = \"{END}\" }}]\n"
    )
    .expect("text takes text");
    play
}

fn words(message: usize, count: usize) -> String {
    let words = (0..count).map(|number| format!("{message}w{number} "));
    words.collect()
}

/// Words with an end of a paragraph after each twelve, as the deltas of an answer.
fn paragraphs(count: u32) -> String {
    let words = (0..count).map(|number| {
        let end = if number % 12 == 11 { "\\n\\n" } else { " " };
        format!("word{number}{end}")
    });
    words.collect()
}

/// Takes all figures; what is cheap so many times.
pub fn measure_screens(
    stage: &BenchStage,
    subject: &BenchSubject,
    runtime: &tokio::runtime::Runtime,
    runs: usize,
) -> io::Result<Vec<ScreenFigure>> {
    let _entered = runtime.enter();
    let mut figures = Vec::new();
    figures.extend(first_paint(stage, subject, runs)?);
    figures.extend(at_rest(stage, subject)?);
    figures.push(waiting(stage, subject)?);
    figures.push(deltas(stage, subject, runs, BURST, "15 ms CPU")?);
    figures.push(deltas(stage, subject, 1, PACED, "60 ms CPU, 30 frames/s")?);
    figures.push(keys_while_streaming(stage, subject)?);
    figures.extend(agents_at_work(stage, subject)?);
    let long = stage.dir().join("screen-long");
    let long = runtime.block_on(fixtures::long_conversation(&long, &stage.work()))?;
    figures.extend(long_conversation(stage, subject, &long)?);
    let many = stage.dir().join("screen-many");
    runtime.block_on(fixtures::many_sessions(&many, &stage.work()))?;
    figures.push(picker(stage, subject, &many, runs)?);
    Ok(figures)
}

/// A screen with its home.
struct BenchScreen {
    terminal: BenchTerminal,
    household: Household,
}

impl BenchScreen {
    fn open(stage: &BenchStage, subject: &BenchSubject) -> io::Result<Self> {
        let home = stage.new_home()?;
        Self::with(stage, subject, &home, |_| {})
    }

    fn with(
        stage: &BenchStage,
        subject: &BenchSubject,
        home: &Path,
        with: impl FnOnce(&mut Command),
    ) -> io::Result<Self> {
        let mut command = subject.screen(&stage.url(), home, &stage.work());
        with(&mut command);
        Ok(Self {
            terminal: BenchTerminal::start(&mut command, WINDOW)?,
            household: subject.household(home),
        })
    }

    /// Opens one and waits until it can be written to and rests.
    fn ready(stage: &BenchStage, subject: &BenchSubject) -> io::Result<Self> {
        let screen = Self::open(stage, subject)?;
        screen.terminal.shows(READY, start())?;
        let_pass(BENCH_SETTLE);
        Ok(screen)
    }

    /// Gives a task. Letter by letter: what comes all at once is a paste.
    fn submit(&self, prompt: &str) -> io::Result<OutputMark> {
        let from = self.terminal.mark();
        self.terminal.type_keys(prompt)?;
        self.terminal.shows(prompt, from)?;
        let from = self.terminal.mark();
        self.terminal.type_keys("\r")?;
        Ok(from)
    }

    /// Lets time pass, and returns what was used and written in it.
    fn rest(&self, time: Duration) -> io::Result<(HouseholdUse, usize)> {
        let (before, from) = (self.household.look()?, self.terminal.mark());
        let_pass(time);
        let used = self.household.look()?.since(before);
        let (bytes, _) = self.terminal.between(from, self.terminal.mark(), FRAME);
        Ok((used, bytes))
    }

    /// Presses letters one by one, and returns how long each took to be shown, sorted.
    fn press_keys(&self, count: usize) -> io::Result<Vec<Duration>> {
        let mut times = Vec::with_capacity(count);
        let letters: Vec<char> = LETTERS.chars().collect();
        for number in 0..count {
            let letter = letters[number % letters.len()];
            if number % letters.len() == 0 {
                self.terminal.type_keys(CTRL_U)?;
                let_pass(2 * BENCH_KEY_INTERVAL);
            }
            let from = self.terminal.mark();
            self.terminal.type_keys(&letter.to_string())?;
            let shown = self.terminal.shows(&letter.to_string(), from)?;
            times.push(shown.at.saturating_duration_since(from.at));
            // No beat in common with frames.
            let_pass(BENCH_KEY_INTERVAL + Duration::from_micros(700 * (number as u64 % 13)));
        }
        self.terminal.type_keys(CTRL_U)?;
        times.sort_unstable();
        Ok(times)
    }
}

impl Drop for BenchScreen {
    fn drop(&mut self) {
        // What is left of it ends by itself where this fails.
        let _ = self.household.end();
    }
}

fn start() -> OutputMark {
    OutputMark {
        at: Instant::now(),
        offset: 0,
    }
}

fn first_paint(
    stage: &BenchStage,
    subject: &BenchSubject,
    runs: usize,
) -> io::Result<[ScreenFigure; 2]> {
    let (mut paints, mut readies, mut cpus) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs {
        let screen = BenchScreen::open(stage, subject)?;
        let terminal = &screen.terminal;
        let painted = terminal.shows(READY, start())?;
        terminal.type_keys("ж")?;
        let ready = terminal.shows("ж", painted)?;
        cpus.push(screen.household.look()?.cpu);
        paints.push(painted.at.saturating_duration_since(terminal.started));
        readies.push(ready.at.saturating_duration_since(terminal.started));
    }
    Ok([
        ScreenFigure {
            what: "screen, first paint",
            cpu: middle(&mut cpus),
            wall: middle(&mut paints),
            note: "goal 20 ms, 40 ms CPU".to_owned(),
            ..ScreenFigure::default()
        },
        ScreenFigure {
            what: "the same, to the first key",
            wall: middle(&mut readies),
            note: "goal 60 ms".to_owned(),
            ..ScreenFigure::default()
        },
    ])
}

/// Nothing happens, then keys are pressed.
fn at_rest(stage: &BenchStage, subject: &BenchSubject) -> io::Result<[ScreenFigure; 2]> {
    let screen = BenchScreen::ready(stage, subject)?;
    let (used, bytes) = screen.rest(BENCH_IDLE)?;
    let keys = screen.press_keys(KEYS)?;
    let share = percent(used.cpu, BENCH_IDLE);
    Ok([
        ScreenFigure {
            what: "idle",
            cpu: used.cpu,
            wall: BENCH_IDLE,
            rss: used.rss,
            note: format!(
                "{share}, {} wake-ups, {bytes} B, {} of {} processes, shared counted once; \
                 goal 0.05 %, none, none, 30 MB",
                used.wakeups,
                megabytes(used.pss),
                used.processes,
            ),
        },
        ScreenFigure {
            what: "key to bytes, idle",
            wall: quantile(&keys, 50),
            note: format!("p50; p99 {}; goal 2 and 8 ms", millis(quantile(&keys, 99))),
            ..ScreenFigure::default()
        },
    ])
}

fn waiting(stage: &BenchStage, subject: &BenchSubject) -> io::Result<ScreenFigure> {
    let screen = BenchScreen::ready(stage, subject)?;
    let from = screen.submit(THINK)?;
    screen.terminal.shows(WORKS, from)?;
    let_pass(BENCH_SETTLE);
    let (used, bytes) = screen.rest(BENCH_IDLE)?;
    let each = bytes as u64 / BENCH_IDLE.as_secs();
    Ok(ScreenFigure {
        what: "waiting for the model",
        cpu: used.cpu,
        wall: BENCH_IDLE,
        rss: used.rss,
        note: format!(
            "{}, {} wake-ups, {each} B/s; goal 0.1 %, 60 B/s",
            percent(used.cpu, BENCH_IDLE),
            used.wakeups,
        ),
    })
}

/// An answer in pieces, beyond what a task with one word takes.
fn deltas(
    stage: &BenchStage,
    subject: &BenchSubject,
    runs: usize,
    prompt: &str,
    goal: &str,
) -> io::Result<ScreenFigure> {
    let mut cpus = Vec::new();
    let mut figure = ScreenFigure::default();
    for _ in 0..runs {
        let base = told(stage, subject, GREET)?;
        let said = told(stage, subject, prompt)?;
        cpus.push(said.cpu.saturating_sub(base.cpu));
        let (bytes, frames, wall) = (said.bytes, said.frames, said.wall);
        let text = paragraphs(SCREEN_DELTAS).len();
        let each = bytes.saturating_sub(text * 13 / 10) / frames.max(1);
        figure = ScreenFigure {
            what: if prompt == BURST {
                "1,000 deltas in a burst"
            } else {
                "1,000 deltas, 100 a second"
            },
            wall,
            note: format!(
                "{frames} frames, {bytes} B: 1.3 x text and {each} B per frame; goal {goal}, \
                 200 B per frame"
            ),
            ..ScreenFigure::default()
        };
    }
    figure.cpu = middle(&mut cpus);
    Ok(figure)
}

/// What one answer took.
struct ToldAnswer {
    cpu: Duration,
    wall: Duration,
    bytes: usize,
    frames: usize,
}

/// Gives the first task of a session, and waits for its end.
fn told(stage: &BenchStage, subject: &BenchSubject, prompt: &str) -> io::Result<ToldAnswer> {
    let screen = BenchScreen::ready(stage, subject)?;
    let before = screen.household.look()?;
    let from = screen.submit(prompt)?;
    let ended = screen.terminal.shows(END, from)?;
    let ready = screen.terminal.shows(READY, ended)?;
    // What follows the end of a task is part of it.
    let_pass(BENCH_SETTLE);
    let (bytes, frames) = screen.terminal.between(from, ready, FRAME);
    Ok(ToldAnswer {
        cpu: screen.household.look()?.since(before).cpu,
        wall: ready.at.saturating_duration_since(from.at),
        bytes,
        frames,
    })
}

fn keys_while_streaming(stage: &BenchStage, subject: &BenchSubject) -> io::Result<ScreenFigure> {
    let screen = BenchScreen::ready(stage, subject)?;
    let from = screen.submit(STREAM)?;
    screen.terminal.shows("w99", from)?;
    let (before, begun) = (screen.household.look()?, screen.terminal.mark());
    let keys = screen.press_keys(KEYS_STREAMING)?;
    let ended = screen.terminal.mark();
    let used = screen.household.look()?.since(before);
    let time = ended.at.saturating_duration_since(begun.at);
    // One of each message.
    let (bytes, messages) = screen.terminal.between(begun, ended, "w57");
    let milliseconds = usize::try_from(time.as_millis())
        .unwrap_or(usize::MAX)
        .max(1);
    let rate = messages * STREAM_WORDS * 1_000 / milliseconds;
    Ok(ScreenFigure {
        what: "key to bytes, streaming",
        cpu: used.cpu,
        wall: quantile(&keys, 50),
        rss: used.rss,
        note: format!(
            "p50; p99 {} while {rate} deltas/s and {} KB/s; {} of a core; goal p99 10 ms",
            millis(quantile(&keys, 99)),
            bytes / milliseconds,
            percent(used.cpu, time),
        ),
    })
}

fn agents_at_work(stage: &BenchStage, subject: &BenchSubject) -> io::Result<[ScreenFigure; 2]> {
    let home = stage.new_home()?;
    let screen = BenchScreen::with(stage, subject, &home, |command| {
        for (key, value) in [
            ("max_agents", SCREEN_AGENTS + 1),
            ("max_threads", SCREEN_AGENTS + 1),
            ("max_spawns_per_minute", SCREEN_AGENTS),
        ] {
            command.args(["-c", &format!("agents.{key}={value}")]);
        }
    })?;
    screen.terminal.shows(READY, start())?;
    let_pass(BENCH_SETTLE);
    let alone = screen.household.look()?;
    let from = screen.submit(CROWD)?;
    let working = format!("{SCREEN_AGENTS} work");
    screen.terminal.shows(&working, from)?;
    let_pass(2 * BENCH_SETTLE);
    let (used, bytes) = screen.rest(BENCH_IDLE)?;
    let listed = screen.terminal.mark();
    screen.terminal.type_keys("\x1ba")?;
    let shown = screen.terminal.shows("AGENTS", listed)?;
    Ok([
        ScreenFigure {
            what: "64 agents at work",
            cpu: used.cpu,
            wall: BENCH_IDLE,
            rss: used.rss,
            note: format!(
                "{}, {} B/s, {} more than alone; goal 0.1 %, 60 B/s, 10 MB more",
                percent(used.cpu, BENCH_IDLE),
                bytes as u64 / BENCH_IDLE.as_secs(),
                megabytes(used.rss.saturating_sub(alone.rss)),
            ),
        },
        ScreenFigure {
            what: "their list opened",
            wall: shown.at.saturating_duration_since(listed.at),
            ..ScreenFigure::default()
        },
    ])
}

/// A conversation of 100,000 lines: its session resumed, its transcript opened, another width,
/// and a word looked for that stands at its beginning.
fn long_conversation(
    stage: &BenchStage,
    subject: &BenchSubject,
    long: &fixtures::LongConversation,
) -> io::Result<Vec<ScreenFigure>> {
    let screen = BenchScreen::with(stage, subject, &long.home, |command| {
        command.args(["resume", &long.session.to_string()]);
    })?;
    let terminal = &screen.terminal;
    let painted = terminal.shows(READY, start())?;
    let first = painted.at.saturating_duration_since(terminal.started);
    let all = terminal.shows(fixtures::LAST_LINE, start())?;
    let all = all.at.saturating_duration_since(terminal.started);
    let printing = screen.household.look()?.cpu;
    let_pass(2 * BENCH_SETTLE);
    let held = screen.household.look()?;
    let keys = screen.press_keys(KEYS)?;
    let act = |keys: &str, text: &str| -> io::Result<Duration> {
        let from = terminal.mark();
        terminal.type_keys(keys)?;
        let shown = terminal.shows(text, from)?;
        let_pass(BENCH_SETTLE);
        Ok(shown.at.saturating_duration_since(from.at))
    };
    let open = act(CTRL_T, "TRANSCRIPT")?;
    let from = terminal.mark();
    terminal.resize(NARROW)?;
    let resized = terminal.writes(from)?;
    let resized = resized.at.saturating_duration_since(from.at);
    let_pass(BENCH_SETTLE);
    act("g", "0 %")?;
    act("/", "/")?;
    act(fixtures::LAST_LINE, fixtures::LAST_LINE)?;
    let from = terminal.mark();
    terminal.type_keys("\r")?;
    let found = terminal.shows("100 %", from)?;
    let found = found.at.saturating_duration_since(from.at);
    let row = |what, wall, note: &str| ScreenFigure {
        what,
        wall,
        note: note.to_owned(),
        ..ScreenFigure::default()
    };
    Ok(vec![
        ScreenFigure {
            what: "100,000 lines resumed",
            cpu: printing,
            wall: all,
            rss: held.rss,
            note: format!(
                "all of it printed; the line after {}; {} shared counted once; goal 80 MB",
                millis(first),
                megabytes(held.pss),
            ),
        },
        ScreenFigure {
            note: format!("p50; p99 {}; as idle", millis(quantile(&keys, 99))),
            ..row("key to bytes, 100,000 lines", quantile(&keys, 50), "")
        },
        row("their transcript opened", open, "goal 50 ms"),
        row("another width", resized, "goal 50 ms"),
        row(
            "a word searched for",
            found,
            "from one end to the other; goal 100 ms",
        ),
    ])
}

fn picker(
    stage: &BenchStage,
    subject: &BenchSubject,
    home: &Path,
    runs: usize,
) -> io::Result<ScreenFigure> {
    let (mut times, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let screen = BenchScreen::with(stage, subject, home, |command| {
            command.arg("resume");
        })?;
        let shown = screen.terminal.shows(fixtures::ANY_SESSION, start())?;
        times.push(shown.at.saturating_duration_since(screen.terminal.started));
        cpus.push(screen.household.look()?.cpu);
    }
    Ok(ScreenFigure {
        what: "resume picker, 10,000 sessions",
        cpu: middle(&mut cpus),
        wall: middle(&mut times),
        note: "to the first rows, the start of the program included; goal 30 ms".to_owned(),
        ..ScreenFigure::default()
    })
}

fn middle(times: &mut [Duration]) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn quantile(sorted: &[Duration], percent: usize) -> Duration {
    let at = sorted.len() * percent / 100;
    let last = sorted.len().saturating_sub(1);
    sorted.get(at.min(last)).copied().unwrap_or_default()
}

fn percent(part: Duration, whole: Duration) -> String {
    let share = part.as_secs_f64() / whole.as_secs_f64().max(f64::EPSILON);
    format!("{:.3} %", share * 100.0)
}

fn millis(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes * 10 / (1024 * 1024);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
