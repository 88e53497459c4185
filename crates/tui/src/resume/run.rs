//! The loop behind the picker.

use std::time::Instant;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::catalogue::{CatalogueAnswer, CatalogueRequest, PageFreshness, SessionCatalogue};
use super::picker::{PickerChoice, SessionPicker};
use super::rows;
use crate::keys::KeyMap;
use crate::limits::{CATALOGUE_REQUESTS_MAX, INPUT_BYTES_MAX};
use crate::run::{ScreenError, ScreenOptions, now_ms};
use crate::settings::AlternateScreen;
use crate::terminal::TerminalDevice;
use crate::terminal::full::FullSink;
use crate::terminal::inline::InlineSink;
use crate::terminal::input::InputReader;
use crate::terminal::paint::PaintPalette;

/// Shows the sessions of a home until one is chosen. The terminal is as it was before then.
pub async fn run_picker(
    terminal: TerminalDevice,
    catalogue: Box<dyn SessionCatalogue>,
    options: &ScreenOptions,
) -> Result<PickerChoice, ScreenError> {
    let size = terminal.size();
    let keymap = KeyMap::new(&options.settings.keymap).map_err(ScreenError::Settings)?;
    let view = options.settings.session_picker_view;
    let mut picker = SessionPicker::new(keymap, view, size, now_ms());
    let mut sinks = PickerSinks::new(options, &terminal);
    let (ask, asked) = mpsc::channel(CATALOGUE_REQUESTS_MAX);
    let (tell, mut told) = mpsc::channel(CATALOGUE_REQUESTS_MAX);
    let mut desk = tokio::task::JoinSet::new();
    desk.spawn(answer(catalogue, asked, tell));
    let mut reader = InputReader::default();
    let mut buffer = vec![0; INPUT_BYTES_MAX];
    let mut resized = signal(SignalKind::window_change())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut terminate = signal(SignalKind::terminate())?;
    loop {
        for request in picker.take_requests() {
            // A desk that is gone answers nothing; what is listed stays.
            ask.send(request).await.ok();
        }
        if let Some(choice) = picker.choice {
            sinks.leave(&terminal).await?;
            return Ok(choice);
        }
        sinks.paint(&picker, &terminal).await?;
        let escape = reader.deadline();
        tokio::select! {
            biased;
            read = terminal.read(&mut buffer) => match read {
                Ok(0) | Err(_) => return Ok(PickerChoice::Nothing),
                Ok(count) => {
                    for input in reader.read(&buffer[..count], Instant::now()) {
                        picker.input(input);
                    }
                }
            },
            () = at(escape) => {
                for input in reader.time_out() {
                    picker.input(input);
                }
            }
            _ = hangup.recv() => return Ok(PickerChoice::Nothing),
            _ = terminate.recv() => return Ok(PickerChoice::Nothing),
            _ = resized.recv() => {
                picker.size = terminal.size();
                sinks.resize(&picker);
            }
            Some(answer) = told.recv() => picker.told(answer),
        }
        picker.now_ms = now_ms();
    }
}

async fn at(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Answers one request after the other. Of pages that were asked for meanwhile, the last counts.
async fn answer(
    mut catalogue: Box<dyn SessionCatalogue>,
    mut asked: mpsc::Receiver<CatalogueRequest>,
    tell: mpsc::Sender<CatalogueAnswer>,
) {
    while let Some(mut request) = asked.recv().await {
        while let CatalogueRequest::Page {
            freshness: PageFreshness::LookedUp,
            ..
        } = request
        {
            match asked.try_recv() {
                Ok(next @ CatalogueRequest::Page { .. }) => request = next,
                Ok(other) => {
                    let answer = catalogue.ask(request).await;
                    request = other;
                    if tell.send(answer).await.is_err() {
                        return;
                    }
                }
                Err(_) => break,
            }
        }
        let answer = catalogue.ask(request).await;
        if tell.send(answer).await.is_err() {
            return;
        }
    }
}

/// The alternate screen, or rows below the prompt where nobody wants that.
struct PickerSinks {
    full: FullSink,
    inline: InlineSink,
    is_inline: bool,
}

impl PickerSinks {
    fn new(options: &ScreenOptions, terminal: &TerminalDevice) -> Self {
        let surroundings = &options.surroundings;
        let palette = PaintPalette::new(options.settings.theme, surroundings);
        Self {
            full: FullSink::new(palette),
            inline: InlineSink::new(palette, terminal.size(), surroundings.reflows()),
            is_inline: options.settings.alternate_screen == AlternateScreen::Never,
        }
    }

    fn resize(&mut self, picker: &SessionPicker) {
        self.inline.resize(picker.size);
        self.full.invalidate();
    }

    async fn paint(
        &mut self,
        picker: &SessionPicker,
        terminal: &TerminalDevice,
    ) -> std::io::Result<()> {
        let frame = rows::frame(picker);
        let mut out = String::new();
        if self.is_inline {
            self.inline.paint(&[], &frame, &mut out);
        } else {
            self.full.paint(&frame, &mut out);
            terminal.set_on_alternate_screen(true);
        }
        terminal.write_all(out.as_bytes()).await
    }

    async fn leave(&mut self, terminal: &TerminalDevice) -> std::io::Result<()> {
        let mut out = String::new();
        self.full.leave(&mut out);
        terminal.set_on_alternate_screen(false);
        if self.is_inline {
            self.inline.leave(&mut out);
        }
        terminal.write_all(out.as_bytes()).await
    }
}
