//! The loop behind a screen.
//!
//! Keys come before everything else, and are painted at once. While only text arrives there are
//! at most thirty frames a second. A frame that the terminal does not take is not queued: the
//! next one is made when it has taken the last. When nothing happens, nothing wakes it up.

use std::io;
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use tokio::io::AsyncWriteExt as _;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::{sleep_until, timeout};
use troupe_client::ClientError as LinkError;
use troupe_protocol::Op;

use super::branch::branch_of;
use super::files::files_below;
use super::{ScreenError, ScreenExit, ScreenOptions, SessionEnding, now_ms};
use crate::cells::CellFold;
use crate::effect::Effect;
use crate::limits::{
    BATCH_MESSAGES_MAX, FRAME_MS_MIN, HISTORY_ROWS_PER_FRAME, INPUT_BYTES_MAX, REPRINT_ROWS_MAX,
};
use crate::session::{LinkMessage, SessionLink, TreeRequest};
use crate::state::{AppEvent, AppState};
use crate::terminal::TerminalDevice;
use crate::terminal::attention::{clipboard_bytes, notice_bytes, title_bytes};
use crate::terminal::full::FullSink;
use crate::terminal::inline::InlineSink;
use crate::terminal::input::InputReader;
use crate::terminal::paint::PaintPalette;
use crate::terminal::plain::PlainSink;
use crate::text::TextRow;
use crate::views;

pub(super) struct ScreenLoop {
    link: Box<dyn SessionLink>,
    terminal: TerminalDevice,
    options: ScreenOptions,
    state: AppState,
    reader: InputReader,
    sinks: ScreenSinks,
    /// Cells that were printed to the history.
    printed: usize,
    /// Bytes that the terminal has not taken yet.
    unwritten: Vec<u8>,
    title: String,
    submissions: u64,
    frame_due: Option<Instant>,
    last_frame: Instant,
    ending: Option<SessionEnding>,
    is_link_over: bool,
    /// Only text grew: more of it is taken in with the next frame, and not piece by piece.
    awaits_frame: bool,
    files: Option<tokio::task::JoinHandle<Vec<String>>>,
    branch: Option<tokio::task::JoinHandle<Option<String>>>,
    winch: Signal,
    ends: [Signal; 2],
}

struct ScreenSinks {
    inline: InlineSink,
    full: FullSink,
    plain: Option<PlainSink>,
    /// What lay over the conversation when lines were added last.
    plain_overlay: Vec<String>,
}

/// What woke the loop.
enum WakeReason {
    Bytes(io::Result<usize>),
    Written(io::Result<usize>),
    Message(Result<Option<LinkMessage>, LinkError>),
    Files(Vec<String>),
    Branch(Option<String>),
    Resized,
    Ended,
    Escape,
    Frame,
    Tick,
}

impl ScreenLoop {
    pub(super) fn new(
        link: Box<dyn SessionLink>,
        terminal: TerminalDevice,
        options: ScreenOptions,
    ) -> Result<Self, ScreenError> {
        let size = terminal.size();
        let surroundings = &options.surroundings;
        let palette = PaintPalette::new(options.settings.theme, surroundings);
        let sinks = ScreenSinks {
            inline: InlineSink::new(palette, size, surroundings.reflows()),
            full: FullSink::new(palette),
            plain: surroundings.wants_plain().then(PlainSink::default),
            plain_overlay: Vec::new(),
        };
        let state = AppState::new(&options, size, now_ms()).map_err(ScreenError::Settings)?;
        Ok(Self {
            link,
            terminal,
            state,
            reader: InputReader::default(),
            sinks,
            printed: 0,
            unwritten: Vec::new(),
            title: String::new(),
            submissions: 0,
            frame_due: Some(Instant::now()),
            last_frame: Instant::now(),
            ending: None,
            is_link_over: false,
            awaits_frame: false,
            files: None,
            branch: None,
            winch: signal(SignalKind::window_change())?,
            ends: [
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ],
            options,
        })
    }

    pub(super) async fn run(mut self) -> Result<ScreenExit, ScreenError> {
        if let Some(welcome) = self.link.welcome() {
            let notice = troupe_protocol::link::ServerNotice::Welcome(welcome);
            self.happened(AppEvent::Link(LinkMessage::Notice(Box::new(notice))))
                .await?;
        }
        let prompt = self.options.prompt.take();
        let images = std::mem::take(&mut self.options.images);
        let effects = self.state.start(prompt, images, now_ms());
        self.perform(effects).await?;
        let mut buffer = vec![0; INPUT_BYTES_MAX];
        while self.ending.is_none() {
            let reason = self.wait(&mut buffer).await;
            self.wake(reason, &buffer).await?;
            if self.unwritten.is_empty() && self.frame_due.is_some_and(|due| due <= Instant::now())
            {
                self.draw();
            }
        }
        self.close().await;
        Ok(ScreenExit {
            ending: self.ending.unwrap_or(SessionEnding::Ended),
            next: self.state.next_session(),
        })
    }

    async fn wait(&mut self, buffer: &mut [u8]) -> WakeReason {
        let [terminate, hangup] = &mut self.ends;
        let has_unwritten = !self.unwritten.is_empty();
        let frame_due = self.frame_due.filter(|_| !has_unwritten);
        // A terminal that takes nothing has no frames to wait for.
        let awaits_frame = self.awaits_frame && self.frame_due.is_some() && !has_unwritten;
        let listens = !self.is_link_over && !awaits_frame;
        let escape_due = self.reader.deadline();
        let tick_due = self.state.next_tick_ms().map(|at| {
            let wait = u64::try_from(at - now_ms()).unwrap_or(0);
            Instant::now() + Duration::from_millis(wait)
        });
        let files = async {
            match &mut self.files {
                Some(files) => files.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        let branch = async {
            match &mut self.branch {
                Some(branch) => branch.await.unwrap_or_default(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            read = self.terminal.read(buffer) => WakeReason::Bytes(read),
            _ = terminate.recv() => WakeReason::Ended,
            _ = hangup.recv() => WakeReason::Ended,
            _ = self.winch.recv() => WakeReason::Resized,
            () = until(escape_due) => WakeReason::Escape,
            written = self.terminal.write(&self.unwritten), if has_unwritten => {
                WakeReason::Written(written)
            }
            () = until(frame_due) => WakeReason::Frame,
            files = files => WakeReason::Files(files),
            branch = branch => WakeReason::Branch(branch),
            message = self.link.next(), if listens => WakeReason::Message(message),
            () = until(tick_due) => WakeReason::Tick,
        }
    }

    async fn wake(&mut self, reason: WakeReason, buffer: &[u8]) -> Result<(), ScreenError> {
        match reason {
            // The terminal was closed. The work goes on.
            WakeReason::Bytes(Ok(0) | Err(_)) | WakeReason::Written(Err(_)) | WakeReason::Ended => {
                self.ending = Some(SessionEnding::KeepRunning);
            }
            WakeReason::Bytes(Ok(count)) => {
                let events = self.reader.read(&buffer[..count], Instant::now());
                self.inputs(events).await?;
            }
            WakeReason::Escape => {
                let events = self.reader.time_out();
                self.inputs(events).await?;
            }
            WakeReason::Written(Ok(count)) => drop(self.unwritten.drain(..count)),
            WakeReason::Message(message) => self.messages(message).await?,
            WakeReason::Files(files) => {
                self.files = None;
                self.happened(AppEvent::Files(files)).await?;
                self.frame_now();
            }
            WakeReason::Branch(branch) => {
                self.branch = None;
                self.happened(AppEvent::Branch(branch)).await?;
                self.frame_soon();
            }
            WakeReason::Resized => {
                let size = self.terminal.size();
                self.sinks.inline.resize(size);
                self.sinks.full.invalidate();
                self.happened(AppEvent::Resize(size)).await?;
                self.frame_soon();
            }
            WakeReason::Tick => {
                self.happened(AppEvent::Tick).await?;
                let looks = matches!(
                    self.state.overlays.last(),
                    Some(crate::state::ScreenOverlay::Agents(_))
                );
                if looks && self.state.is_anybody_at_work() {
                    self.link.ask(TreeRequest::Look).await?;
                }
                self.frame_now();
            }
            // What came meanwhile is part of the frame.
            WakeReason::Frame if self.awaits_frame => {
                self.awaits_frame = false;
                if let Some(message) = self.link.next().now_or_never() {
                    self.messages(message).await?;
                }
            }
            WakeReason::Frame => {}
        }
        Ok(())
    }

    async fn inputs(
        &mut self,
        events: Vec<crate::terminal::input::InputEvent>,
    ) -> Result<(), ScreenError> {
        for event in events {
            self.happened(AppEvent::Input(event)).await?;
        }
        self.frame_now();
        Ok(())
    }

    /// Takes a message in, and those that are there already.
    async fn messages(
        &mut self,
        first: Result<Option<LinkMessage>, LinkError>,
    ) -> Result<(), ScreenError> {
        let mut message = first;
        let mut is_text_alone = true;
        for _ in 0..BATCH_MESSAGES_MAX {
            match message {
                Ok(Some(told)) => {
                    is_text_alone &= told.is_delta();
                    self.happened(AppEvent::Link(told)).await?;
                }
                Ok(None) => {
                    self.is_link_over = true;
                    self.state.facts.lost = Some("the session has ended".to_owned());
                    break;
                }
                // The screen stays, so that what was said can be read.
                Err(error) => {
                    self.is_link_over = true;
                    self.state.facts.lost = Some(error.to_string());
                    break;
                }
            }
            message = match self.link.next().now_or_never() {
                Some(message) => message,
                None => break,
            };
        }
        self.awaits_frame = is_text_alone && !self.is_link_over;
        self.frame_soon();
        Ok(())
    }

    async fn happened(&mut self, event: AppEvent) -> Result<(), ScreenError> {
        let effects = self.state.update(event, now_ms());
        self.perform(effects).await
    }

    async fn perform(&mut self, effects: Vec<Effect>) -> Result<(), ScreenError> {
        for effect in effects {
            match effect {
                Effect::Submit(op) => {
                    self.submissions += 1;
                    let own = match op.as_ref() {
                        Op::UserTurn { client_id, .. } | Op::Steer { client_id, .. } => {
                            client_id.clone()
                        }
                        _ => None,
                    };
                    let number = self.submissions;
                    let id = own.unwrap_or_else(|| format!("tui-{}-{number}", std::process::id()));
                    self.told(|link| link.submit(id.into(), *op).boxed()).await;
                }
                Effect::Ask(request) => self.told(|link| link.ask(request).boxed()).await,
                Effect::TakeRole(role) => self.told(|link| link.take_role(role).boxed()).await,
                Effect::OpenEditor(text) => self.edit(text).await?,
                Effect::Copy(text) => match clipboard_bytes(&text, &self.options.surroundings) {
                    Some(bytes) => self.unwritten.extend(bytes.into_bytes()),
                    None => self.state.say("too long for the terminal's clipboard"),
                },
                Effect::WriteFile { path, text } => {
                    let said = write_new(&path, &text).await;
                    self.state.say(said);
                }
                Effect::Theme(theme) => {
                    let palette = PaintPalette::new(theme, &self.options.surroundings);
                    self.sinks.inline.set_palette(palette);
                    self.sinks.full.set_palette(palette);
                    self.reprint();
                }
                Effect::ReadBranch(directory) => {
                    self.branch = Some(tokio::task::spawn_blocking(move || branch_of(&directory)));
                }
                Effect::FillPrompt(line) => {
                    let saved = self.options.saved_prompts.as_ref();
                    let prompt = saved.map_or(Ok(None), |saved| saved.fill(&line));
                    let event = AppEvent::Filled { line, prompt };
                    let effects = self.state.update(event, now_ms());
                    Box::pin(self.perform(effects)).await?;
                }
                Effect::ListFiles(directory) => {
                    self.files = Some(tokio::task::spawn_blocking(move || files_below(&directory)));
                }
                Effect::Notify { text, .. } => {
                    let method = self.options.settings.notification_method;
                    let bytes = notice_bytes(&text, method, &self.options.surroundings);
                    self.unwritten.extend(bytes.into_bytes());
                }
                Effect::Reprint => self.reprint(),
                Effect::StopProcess => {
                    self.pause().await;
                    rustix::process::kill_process(
                        rustix::process::getpid(),
                        rustix::process::Signal::TSTP,
                    )
                    .map_err(io::Error::from)?;
                    self.resume()?;
                }
                Effect::Leave(ending) => self.ending = Some(ending),
            }
        }
        Ok(())
    }

    /// Hands something to the session. A session that is gone is shown as that.
    async fn told<'a, F>(&'a mut self, tell: F)
    where
        F: FnOnce(
            &'a mut dyn SessionLink,
        ) -> futures_util::future::BoxFuture<'a, Result<(), LinkError>>,
    {
        if let Err(error) = tell(self.link.as_mut()).await {
            self.state.facts.lost = Some(error.to_string());
        }
    }

    /// Hands the terminal to the user's editor.
    async fn edit(&mut self, text: String) -> Result<(), ScreenError> {
        let Some(editor) = self.options.editor.clone() else {
            self.state
                .say("no editor is set; VISUAL or EDITOR names one");
            return Ok(());
        };
        self.pause().await;
        let edited = editor.edit(text).await;
        self.resume()?;
        match edited {
            Ok(text) => drop(self.state.update(AppEvent::Edited(text), now_ms())),
            Err(error) => self.state.say(format!("the editor: {error}")),
        }
        Ok(())
    }

    async fn pause(&mut self) {
        self.take_off();
        self.flush().await;
        self.terminal.leave();
    }

    fn resume(&mut self) -> Result<(), ScreenError> {
        self.terminal.enter()?;
        let size = self.terminal.size();
        self.sinks.inline.resize(size);
        self.sinks.full.invalidate();
        self.state.size = size;
        self.frame_now();
        Ok(())
    }

    fn frame_now(&mut self) {
        self.frame_due = Some(Instant::now());
    }

    fn frame_soon(&mut self) {
        let earliest = self.last_frame + Duration::from_millis(FRAME_MS_MIN);
        self.frame_due.get_or_insert(earliest);
    }

    /// Makes a frame, and the history that is due.
    fn draw(&mut self) {
        self.frame_due = None;
        self.last_frame = Instant::now();
        self.state.transcript.settle();
        for transcript in self.state.agents.values_mut() {
            transcript.settle();
        }
        let mut out = String::new();
        let title = views::status::title(&self.state);
        if self.sinks.plain.is_some() {
            self.draw_plain(&mut out);
        } else {
            if title != self.title {
                out.push_str(&title_bytes(&title));
                self.title = title;
            }
            let frame = views::view(&self.state);
            let is_tall = self.state.wants_alternate_screen();
            if is_tall {
                self.sinks.full.paint(&frame, &mut out);
            } else {
                self.sinks.full.leave(&mut out);
                let history = self.due_history();
                self.sinks.inline.paint(&history, &frame, &mut out);
            }
            self.terminal
                .set_on_alternate_screen(self.sinks.full.is_entered());
        }
        self.unwritten.extend(out.into_bytes());
    }

    fn draw_plain(&mut self, out: &mut String) {
        let columns = self.state.size.columns;
        let cells = &self.state.transcript.cells()[self.printed..];
        let mut lines: Vec<String> = cells
            .iter()
            .flat_map(|cell| views::plain::cell_lines(cell, columns))
            .collect();
        self.printed += cells.len();
        let overlay = views::plain::lines_below(&self.state);
        lines.extend(views::plain::new_lines(&self.sinks.plain_overlay, &overlay));
        self.sinks.plain_overlay = overlay;
        let line = views::plain::last_line(&self.state);
        if let Some(plain) = &mut self.sinks.plain {
            plain.paint(&lines, &line, out);
        }
    }

    /// Returns the rows of cells that were not printed yet; of a long history a part, and the
    /// rest with the next frame.
    fn due_history(&mut self) -> Vec<TextRow> {
        let columns = self.state.size.columns;
        let mut rows = Vec::new();
        while let Some(cell) = self.state.transcript.cells().get(self.printed) {
            if self.state.is_raw {
                rows.extend(views::raw_rows(&cell.body));
            } else {
                rows.extend(cell.rows(columns, CellFold::Folded));
            }
            self.printed += 1;
            if rows.len() >= HISTORY_ROWS_PER_FRAME {
                self.frame_now();
                break;
            }
        }
        rows
    }

    /// Prints the newest rows again, and draws everything anew.
    fn reprint(&mut self) {
        let setting = self.options.settings.terminal_resize_reflow_max_rows;
        let most = setting.unwrap_or(REPRINT_ROWS_MAX);
        let columns = self.state.size.columns;
        let cells = self.state.transcript.cells();
        let mut rows = 0;
        let again = cells[..self.printed].iter().rev().take_while(|cell| {
            rows += cell.height(columns, CellFold::Folded);
            rows <= most
        });
        self.printed -= again.count();
        self.sinks.inline.invalidate();
        self.sinks.full.invalidate();
    }

    /// Takes what is ours off the screen.
    fn take_off(&mut self) {
        let mut out = String::new();
        if let Some(plain) = &mut self.sinks.plain {
            plain.leave(&mut out);
        } else {
            self.sinks.full.leave(&mut out);
            if self.state.is_full_screen {
                // The last answer stays readable where the shell goes on.
                let rows = self.last_answer_rows();
                self.sinks
                    .inline
                    .paint(&rows, &crate::terminal::ScreenFrame::default(), &mut out);
            }
            self.sinks.inline.leave(&mut out);
        }
        self.terminal.set_on_alternate_screen(false);
        self.unwritten.extend(out.into_bytes());
    }

    fn last_answer_rows(&self) -> Vec<TextRow> {
        let cells = self.state.transcript.cells();
        let last = cells
            .iter()
            .rev()
            .find(|cell| matches!(cell.body, crate::cells::CellBody::Answer(_)));
        let columns = self.state.size.columns;
        last.map(|cell| cell.rows(columns, CellFold::Folded))
            .unwrap_or_default()
    }

    async fn flush(&mut self) {
        let write = async {
            while !self.unwritten.is_empty() {
                match self.terminal.write(&self.unwritten).await {
                    Ok(count) => drop(self.unwritten.drain(..count)),
                    Err(_) => break,
                }
            }
        };
        // A terminal that takes nothing does not keep us.
        timeout(Duration::from_secs(1), write).await.ok();
        self.unwritten.clear();
    }

    async fn close(&mut self) {
        if !self.state.is_full_screen && self.sinks.plain.is_none() {
            let mut out = String::new();
            self.sinks.full.leave(&mut out);
            self.state.transcript.settle();
            let history = self.due_history();
            let none = crate::terminal::ScreenFrame::default();
            self.sinks.inline.paint(&history, &none, &mut out);
            self.unwritten.extend(out.into_bytes());
        }
        self.take_off();
        if !self.title.is_empty() {
            self.unwritten.extend(title_bytes("").into_bytes());
        }
        self.flush().await;
    }
}

async fn until(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Writes a file that must not be there yet, and says so.
async fn write_new(path: &std::path::Path, text: &str) -> String {
    let opened = tokio::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .await;
    let written = match opened {
        Ok(mut file) => file.write_all(text.as_bytes()).await,
        Err(error) => Err(error),
    };
    match written {
        Ok(()) => format!("written to {}", path.display()),
        Err(error) => format!("{}: {error}", path.display()),
    }
}
