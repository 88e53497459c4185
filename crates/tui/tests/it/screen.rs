//! A screen on a real terminal (a pty), with an emulator at its other end.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::num::NonZeroU16;
use std::os::fd::{AsFd as _, OwnedFd};
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::timeout;
use troupe_protocol::link::{ClientRole, Welcome};
use troupe_protocol::{Event, Op, SubmissionId};
use troupe_tui::session::{LinkMessage, SessionLink, TreeRequest};
use troupe_tui::terminal::TerminalDevice;
use troupe_tui::{ScreenError, ScreenExit, ScreenOptions, SessionEnding, run_screen};

const SESSION: &str = "3f2a9c1e-0000-4000-8000-000000000001";

/// No screen takes so long for anything.
const PATIENCE: Duration = Duration::from_secs(20);

/// A session that says what it is told to say.
struct ScriptedLink {
    messages: mpsc::UnboundedReceiver<LinkMessage>,
    ops: mpsc::UnboundedSender<Op>,
}

#[async_trait::async_trait]
impl SessionLink for ScriptedLink {
    fn welcome(&self) -> Option<Welcome> {
        None
    }

    async fn next(&mut self) -> Result<Option<LinkMessage>, LinkError> {
        Ok(self.messages.recv().await)
    }

    async fn submit(&mut self, _id: SubmissionId, op: Op) -> Result<(), LinkError> {
        self.ops.send(op).ok();
        Ok(())
    }

    async fn take_role(&mut self, _role: ClientRole) -> Result<(), LinkError> {
        Ok(())
    }

    async fn ask(&mut self, _request: TreeRequest) -> Result<(), LinkError> {
        Ok(())
    }
}

type LinkError = troupe_client::ClientError;

/// The other end of a screen's terminal and session.
struct ScreenStage {
    messages: mpsc::UnboundedSender<LinkMessage>,
    ops: mpsc::UnboundedReceiver<Op>,
    keyboard: File,
    bytes: mpsc::UnboundedReceiver<Vec<u8>>,
    emulator: vt100::Parser,
    written: Vec<u8>,
    /// Ours too, to look at how the terminal is set.
    terminal: OwnedFd,
    screen: tokio::task::JoinHandle<Result<ScreenExit, ScreenError>>,
    seq: u64,
}

impl ScreenStage {
    fn new(options: ScreenOptions) -> Self {
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let pty = openpty(&size, None).unwrap();
        let terminal = pty.slave.try_clone().unwrap();
        fcntl(&pty.slave, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        let mut master = File::from(pty.master);
        let keyboard = master.try_clone().unwrap();
        let (tell, bytes) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = master.read(&mut buffer) {
                if tell.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        let (messages, from_session) = mpsc::unbounded_channel();
        let (to_session, ops) = mpsc::unbounded_channel();
        let link = Box::new(ScriptedLink {
            messages: from_session,
            ops: to_session,
        });
        let device = TerminalDevice::from_fd(pty.slave, options.surroundings.wants_plain());
        let screen = tokio::spawn(run_screen(link, device.unwrap(), options));
        Self {
            messages,
            ops,
            keyboard,
            bytes,
            emulator: vt100::Parser::new(cells(24), cells(80), 10_000),
            written: Vec::new(),
            terminal,
            screen,
            seq: 0,
        }
    }

    fn event(&mut self, msg: Value) {
        self.seq += 1;
        let event = Event {
            id: "task".into(),
            seq: self.seq,
            msg: serde_json::from_value(msg).unwrap(),
        };
        self.messages
            .send(LinkMessage::Event(Box::new(event)))
            .unwrap();
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Reads what the screen writes until it shows something.
    async fn shows(&mut self, text: &str) {
        let read = async {
            while !self.emulator.screen().contents().contains(text) {
                let bytes = self.bytes.recv().await.expect("the terminal is open");
                self.emulator.process(&bytes);
                self.written.extend(bytes);
            }
        };
        let is_shown = timeout(PATIENCE, read).await.is_ok();
        let contents = self.emulator.screen().contents();
        assert!(
            is_shown,
            "no {text:?} in:
{contents}"
        );
    }

    async fn submitted(&mut self, is_meant: impl Fn(&Op) -> bool) -> Op {
        let find = async {
            loop {
                let op = self.ops.recv().await.expect("the screen runs");
                if is_meant(&op) {
                    return op;
                }
            }
        };
        timeout(PATIENCE, find).await.expect("it is submitted")
    }

    fn is_raw(&self) -> bool {
        let termios = tcgetattr(self.terminal.as_fd()).unwrap();
        !termios.local_flags.contains(LocalFlags::ICANON)
    }

    async fn ends(mut self) -> (SessionEnding, String) {
        let ending = timeout(PATIENCE, &mut self.screen).await;
        let ending = ending.expect("it ends").unwrap();
        assert!(!self.is_raw(), "the terminal is as it was");
        // Nobody has the terminal any more, so its other end has an end too.
        drop(self.terminal);
        while let Some(bytes) = timeout(PATIENCE, self.bytes.recv())
            .await
            .expect("it is closed")
        {
            self.emulator.process(&bytes);
            self.written.extend(bytes);
        }
        let left = String::from_utf8_lossy(&self.written).into_owned();
        let is_restored = left.ends_with("\x1b[m\x1b[?25h");
        assert!(is_restored || !left.contains('\x1b'), "{left:?}");
        (ending.unwrap().ending, self.emulator.screen().contents())
    }
}

fn cells(number: u16) -> NonZeroU16 {
    NonZeroU16::new(number).unwrap()
}

fn answer(id: &str, text: &str) -> Value {
    json!({"type": "item_completed", "thread_id": SESSION, "turn_id": "task", "completed_at_ms": 1,
        "item": {"type": "AgentMessage", "id": id, "text": text}})
}

#[tokio::test]
async fn a_prompt_is_sent_an_answer_is_printed_and_the_terminal_is_restored() {
    let mut stage = ScreenStage::new(ScreenOptions::default());
    stage.shows("Message, /command").await;
    assert!(stage.is_raw());
    stage.types("fix it\r");
    let op = stage
        .submitted(|op| matches!(op, Op::UserTurn { .. }))
        .await;
    let Op::UserTurn { items, .. } = op else {
        unreachable!("it was looked for");
    };
    assert_eq!(items, [troupe_protocol::input::UserInput::text("fix it")]);
    stage.event(answer("a", "It is **fixed**."));
    stage.shows("It is fixed.").await;
    stage.types("\x04");
    let (ending, left) = stage.ends().await;
    assert_eq!(ending, SessionEnding::Ended);
    // The history stays; the line and the status are gone.
    assert_eq!(left.trim(), "It is fixed.");
}

#[tokio::test]
async fn keys_are_echoed_while_ten_thousand_pieces_arrive() {
    let mut stage = ScreenStage::new(ScreenOptions::default());
    stage.shows("Message, /command").await;
    stage.event(json!({"type": "task_started", "turn_id": "task", "started_at_ms": 1}));
    stage.event(
        json!({"type": "item_started", "thread_id": SESSION, "turn_id": "task", "started_at_ms": 1,
        "item": {"type": "AgentMessage", "id": "a", "text": ""}}),
    );
    let mut text = String::new();
    for number in 0..10_000 {
        let delta = format!("w{number}{}", if number % 10 == 9 { "\n\n" } else { " " });
        stage.event(
            json!({"type": "agent_message_content_delta", "thread_id": SESSION,
            "turn_id": "task", "item_id": "a", "delta": delta}),
        );
        text.push_str(&delta);
    }
    stage.types("typed meanwhile");
    stage.shows("› typed meanwhile").await;
    stage.event(answer("a", &text));
    stage.event(json!({"type": "task_complete", "turn_id": "task", "duration_ms": 1}));
    stage.shows("w9999").await;
    // Every word once, in order.
    let plain = String::from_utf8_lossy(&stage.written).into_owned();
    let mut at = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        let line = line.trim_end();
        at += plain[at..]
            .find(line)
            .unwrap_or_else(|| panic!("{line} is missing"))
            + line.len();
    }
    let frames = plain.matches("\x1b[?2026h").count();
    assert!(frames < 400, "{frames} frames");
}

#[tokio::test]
async fn a_terminal_that_is_closed_lets_the_work_go_on() {
    let mut stage = ScreenStage::new(ScreenOptions::default());
    stage.shows("Message, /command").await;
    let ScreenStage {
        keyboard,
        bytes,
        screen,
        terminal,
        messages,
        ..
    } = stage;
    drop((keyboard, bytes, terminal));
    // The thread that reads ends with the next bytes, and with it the terminal.
    messages.send(LinkMessage::Lost("gone".to_owned())).unwrap();
    let begun = Instant::now();
    let ending = loop {
        assert!(begun.elapsed() < PATIENCE, "it ends");
        messages
            .send(LinkMessage::Lost(format!("{:?}", begun.elapsed())))
            .ok();
        if screen.is_finished() {
            break screen.await.unwrap();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(ending.unwrap().ending, SessionEnding::KeepRunning);
}

#[tokio::test]
async fn lines_are_all_that_a_screen_reader_is_given() {
    let mut options = ScreenOptions::default();
    options.surroundings.accessible = true;
    let mut stage = ScreenStage::new(options);
    stage.shows("> ").await;
    stage.event(answer("a", "Hello."));
    stage.types("x");
    stage.shows("Answer: Hello.").await;
    stage.shows("> x").await;
    // A list is read line by line, and so is what is chosen in it.
    stage.types("\x15/personality\r");
    stage.shows("pragmatic").await;
    stage.types("\x0e");
    stage.shows("› pragmatic").await;
    stage.types("\r");
    stage.shows("> ").await;
    assert!(!stage.written.contains(&0x1b));
    stage.types("\x03\x03\x03");
    let (ending, _) = stage.ends().await;
    assert_eq!(ending, SessionEnding::Ended);
}
