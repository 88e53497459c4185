//! Writes what the projections say. Standard output and error may be slow or gone, and
//! neither may hold up the session for longer than its reader does.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _};
use std::time::Duration;

use tokio::io::{Stderr, Stdout};
use tokio::time::Instant;
use troupe_engine::SessionClock;
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{Event, EventMsg};

use crate::exec::human::HumanOutput;
use crate::exec::jsonl::{JsonLine, JsonlOutput};
use crate::exec::request::ExecOutput;
use crate::exec::roster::EndTally;
use crate::exec::screen::LiveScreen;
use crate::exec::stream::write;
use crate::limits::PARTIAL_TEXT_MS_MIN;
use crate::terminal;

#[derive(Debug)]
pub struct EventPrinter {
    projection: EventProjection,
    stdout: Stdout,
    stderr: Stderr,
    buffer: Vec<u8>,
    /// What went wrong with standard output, the only place where results go.
    failure: Option<io::Error>,
    /// Nobody reads how the run goes on. The run goes on all the same: what it comes to is
    /// read elsewhere.
    is_unwatched: bool,
    /// Whoever read the lines has given the run up.
    is_given_up: bool,
    /// What goes on right now, below what stays; only for a person at a terminal.
    screen: Option<LiveScreen>,
    /// When programs are told next how growing texts stand.
    texts_due: Option<Instant>,
    texts_told: Option<Instant>,
}

#[derive(Debug)]
enum EventProjection {
    Jsonl(Box<JsonlOutput>),
    Human(Box<HumanOutput>),
}

impl EventPrinter {
    pub fn new(output: ExecOutput, clock: SessionClock) -> Self {
        Self {
            screen: match output {
                ExecOutput::Jsonl(_) => None,
                ExecOutput::Human(_) => LiveScreen::open(clock.clone()),
            },
            projection: match output {
                ExecOutput::Jsonl(texts) => {
                    EventProjection::Jsonl(Box::new(JsonlOutput::telling(texts)))
                }
                ExecOutput::Human(style) => {
                    EventProjection::Human(Box::new(HumanOutput::new(style, clock)))
                }
            },
            stdout: tokio::io::stdout(),
            stderr: tokio::io::stderr(),
            buffer: Vec::new(),
            failure: None,
            is_unwatched: false,
            is_given_up: false,
            texts_due: None,
            texts_told: None,
        }
    }

    /// Writes what an event becomes. Most events, all pieces of text among them, become
    /// nothing and cost nothing. After a failure nothing more is written.
    pub async fn show(&mut self, event: &Event) {
        if let Some(screen) = &mut self.screen {
            screen.hear(&event.msg);
        }
        if self.is_broken() || self.is_given_up {
            return;
        }
        if event.msg.is_delta() {
            self.hear_delta(&event.msg);
            return;
        }
        if let Err(error) = self.write(event).await {
            self.failure = Some(error);
        }
    }

    /// Pieces of text come by the thousand: programs are told how a text stands now and then.
    fn hear_delta(&mut self, msg: &EventMsg) {
        let EventProjection::Jsonl(jsonl) = &mut self.projection else {
            return;
        };
        if jsonl.hear_delta(msg) && self.texts_due.is_none() {
            let pause = Duration::from_millis(PARTIAL_TEXT_MS_MIN);
            let now = Instant::now();
            let next = self.texts_told.map_or(now, |told| told + pause);
            self.texts_due = Some(next.max(now));
        }
    }

    async fn tell_texts(&mut self) {
        self.texts_due = None;
        self.texts_told = Some(Instant::now());
        let EventProjection::Jsonl(jsonl) = &mut self.projection else {
            return;
        };
        let lines = jsonl.texts_so_far();
        if self.is_broken() || self.is_given_up {
            return;
        }
        if let Err(error) = self.write_lines(lines).await {
            self.failure = Some(error);
        }
    }

    async fn write_lines(&mut self, lines: Vec<JsonLine>) -> io::Result<()> {
        self.buffer.clear();
        for line in lines {
            serde_json::to_writer(&mut self.buffer, &line)?;
            self.buffer.push(b'\n');
        }
        write(&mut self.stdout, &self.buffer).await
    }

    /// Writes what an event becomes on standard output, if programs read that.
    pub async fn show_to_programs(&mut self, event: &Event) {
        if let EventProjection::Jsonl(_) = self.projection {
            self.show(event).await;
        }
    }

    /// Writes nothing more to a program: to one that ended the run itself, a line about a
    /// failed turn would look like a failure of the run.
    pub fn give_up_on_programs(&mut self) {
        self.is_given_up = matches!(self.projection, EventProjection::Jsonl(_));
    }

    /// Nothing is to come but the ends of agents.
    pub fn close(&mut self) {
        if let EventProjection::Jsonl(jsonl) = &mut self.projection {
            jsonl.close();
        }
    }

    /// Tells whether the reader of results is gone.
    pub fn is_broken(&self) -> bool {
        self.failure.is_some()
    }

    /// Tells a person something that no event says.
    pub async fn print_notice(&mut self, text: &str) {
        if let EventProjection::Human(_) = self.projection {
            self.write_progress(&format!("{text}\n")).await;
        }
    }

    /// Tells a person how to go on with agents that were stopped.
    pub async fn tell_stopped(&mut self) {
        if let EventProjection::Human(human) = &self.projection {
            let text = human.stopped_children();
            self.write_progress(&text).await;
        }
    }

    /// Tells a person what the run used.
    pub async fn print_totals(&mut self, of_tree: Option<TokenUsage>) {
        if let EventProjection::Human(human) = &self.projection {
            let text = human.totals(of_tree);
            self.write_progress(&text).await;
        }
    }

    /// Returns when what tells of the present should be told again. Safe to cancel.
    pub async fn redraw_due(&self) {
        let due = match &self.screen {
            Some(screen) if !self.is_unwatched => screen.due(),
            _ => self.texts_due,
        };
        match due {
            Some(due) => tokio::time::sleep_until(due).await,
            None => std::future::pending().await,
        }
    }

    pub async fn redraw(&mut self) {
        if self.texts_due.is_some() {
            return self.tell_texts().await;
        }
        if let Some(screen) = &mut self.screen {
            let text = screen.compose("");
            self.write_to_people(&text).await;
        }
    }

    /// Puts a question to a person who will type the answer behind it.
    pub async fn ask(&mut self, page: &str) {
        // What is approved is shown letter by letter: nothing in it is a style of ours.
        let page = terminal::escaped(page);
        let room = self.screen.as_mut().map(LiveScreen::begin_typing);
        let text = room.unwrap_or_default() + &page;
        self.write_to_people(&text).await;
    }

    /// Goes on showing what happens, once nothing is asked any more.
    pub async fn end_asking(&mut self) {
        if let Some(screen) = &mut self.screen {
            let text = screen.end_typing();
            self.write_to_people(&text).await;
        }
    }

    async fn write_progress(&mut self, text: &str) {
        let text = self.made_safe(text);
        let text = match &mut self.screen {
            Some(_) if text.is_empty() => return,
            Some(screen) => screen.compose(&text),
            None => text,
        };
        self.write_to_people(&text).await;
    }

    async fn write_to_people(&mut self, text: &str) {
        if !self.is_unwatched {
            self.is_unwatched = write(&mut self.stderr, text.as_bytes()).await.is_err();
        }
    }

    fn made_safe(&self, text: &str) -> String {
        match &self.projection {
            EventProjection::Human(human) => human.made_safe(text),
            EventProjection::Jsonl(_) => terminal::harmless(text),
        }
    }

    /// Says how the agents of the run ended: to people in a line, to programs in the last one.
    pub async fn print_tally(&mut self, tally: EndTally) {
        if self.is_broken() || self.is_given_up {
            return;
        }
        let written = match &self.projection {
            EventProjection::Human(_) => {
                self.screen = None;
                write(&mut self.stderr, format!("{tally}\n").as_bytes()).await
            }
            EventProjection::Jsonl(_) => match serde_json::to_vec(&JsonLine::AgentsFinished(tally))
            {
                Ok(mut line) => {
                    line.push(b'\n');
                    write(&mut self.stdout, &line).await
                }
                Err(error) => Err(error.into()),
            },
        };
        if let Err(error) = written {
            self.failure = Some(error);
        }
    }

    /// Writes the final message where only that goes. Returns the first thing that went
    /// wrong.
    pub async fn finish(mut self) -> io::Result<()> {
        self.screen = None;
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let EventProjection::Human(human) = &mut self.projection else {
            return Ok(());
        };
        let Some(message) = human.take_final_message() else {
            return Ok(());
        };
        let message = format!("{}\n", shown(message.trim_end()));
        write(&mut self.stdout, message.as_bytes()).await
    }

    async fn write(&mut self, event: &Event) -> io::Result<()> {
        match &mut self.projection {
            EventProjection::Jsonl(jsonl) => {
                let lines = jsonl.project(event);
                self.write_lines(lines).await
            }
            EventProjection::Human(human) => {
                let text = human.project(event);
                self.write_progress(&text).await;
                Ok(())
            }
        }
    }
}

/// Returns a message as it is written: to a file or a program as it is, to a terminal without
/// what would act on it.
fn shown(message: &str) -> Cow<'_, str> {
    if io::stdout().is_terminal() {
        Cow::Owned(terminal::harmless(message))
    } else {
        Cow::Borrowed(message)
    }
}
