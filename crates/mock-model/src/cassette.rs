//! Recording a model's answers on a tape, and playing them back instead of asking.
//!
//! A tape is JSON lines, one response each: `{"request": …, "events": […]}`. It holds what
//! the model said and a fingerprint of what it was asked, but no key, no header and none
//! of the request's text. A response whose reader left before its end is kept as far as it
//! was read and marked `cut`; its replay stays silent where the reader left.

mod fingerprint;

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use troupe_model::{
    LanguageModel, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream,
};
use troupe_protocol::catalogue::ModelEntry;
use troupe_protocol::discard;

use fingerprint::RequestFingerprint;

/// The provider id of a tape.
pub const CASSETTE: &str = "cassette";

#[derive(Debug, Serialize, Deserialize)]
struct TapeEntry {
    request: RequestFingerprint,
    events: Vec<ModelEvent>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    cut: bool,
}

/// A model whose answers are written to a tape as they are read.
#[derive(Debug)]
pub struct CassetteRecorder {
    model: Arc<dyn LanguageModel>,
    tape: Arc<TapeFile>,
}

impl CassetteRecorder {
    /// Begins a new tape at `path`. A file that is there already is left as it is.
    pub fn wrap(model: Arc<dyn LanguageModel>, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = begin(path)?;
        Ok(Self {
            model,
            tape: Arc::new(TapeFile {
                path: path.to_owned(),
                state: Mutex::new(TapeState::Recording(file)),
            }),
        })
    }
}

/// A pipe or a device holds nothing that could be lost.
fn begin(path: &Path) -> io::Result<File> {
    let holds_nothing = fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir());
    OpenOptions::new()
        .write(true)
        .create_new(!holds_nothing)
        .mode(0o600)
        .open(path)
}

impl LanguageModel for CassetteRecorder {
    fn provider_id(&self) -> &str {
        self.model.provider_id()
    }

    fn models(&self) -> BoxFuture<'_, Result<Vec<ModelEntry>, ModelError>> {
        self.model.models()
    }

    fn listed_models(&self) -> Option<Vec<ModelEntry>> {
        self.model.listed_models()
    }

    fn model_mismatch(&self, model: &str) -> Option<String> {
        self.model.model_mismatch(model)
    }

    fn is_catalogued(&self) -> bool {
        self.model.is_catalogued()
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        if let Err(error) = self.tape.check() {
            return ModelStream::failed(error);
        }
        let recording = TapeRecording {
            tape: self.tape.clone(),
            take: Some(TapeEntry {
                request: RequestFingerprint::of(&request),
                events: Vec::new(),
                cut: true,
            }),
        };
        let answer = self.model.open(request);
        let both = (answer, recording);
        ModelStream::new(stream::unfold(both, |(mut answer, mut recording)| async {
            let mut batch = answer.next_batch().await?;
            recording.note(&mut batch);
            Some((batch, (answer, recording)))
        }))
    }
}

#[derive(Debug)]
struct TapeFile {
    path: PathBuf,
    state: Mutex<TapeState>,
}

#[derive(Debug)]
enum TapeState {
    Recording(File),
    /// A write failed; a tape with a hole is worse than none.
    Broken(String),
}

impl TapeFile {
    fn state(&self) -> MutexGuard<'_, TapeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), ModelError> {
        match &*self.state() {
            TapeState::Recording(_) => Ok(()),
            TapeState::Broken(error) => Err(ModelError::new(
                ModelErrorKind::Cassette,
                format!("cassette {}: {error}", self.path.display()),
            )),
        }
    }

    /// Appends one response, as one write.
    fn append(&self, take: &TapeEntry) -> Result<(), ModelError> {
        let mut state = self.state();
        if let TapeState::Recording(file) = &mut *state {
            let written = serde_json::to_vec(take)
                .map_err(io::Error::from)
                .and_then(|mut line| {
                    line.push(b'\n');
                    file.write_all(&line)
                });
            if let Err(error) = written {
                *state = TapeState::Broken(error.to_string());
            }
        }
        drop(state);
        self.check()
    }
}

/// The recording of one response; dropped early it keeps what was read.
struct TapeRecording {
    tape: Arc<TapeFile>,
    take: Option<TapeEntry>,
}

impl TapeRecording {
    fn note(&mut self, batch: &mut Vec<ModelEvent>) {
        let Some(take) = &mut self.take else {
            return;
        };
        take.events.extend(batch.iter().cloned());
        if !batch.last().is_some_and(ModelEvent::is_final) {
            return;
        }
        take.cut = false;
        let result = self.tape.append(take);
        self.take = None;
        if let Err(error) = result {
            // The caller wanted a tape: an answer that is not on it is not a success.
            batch.pop();
            batch.push(ModelEvent::Failed(error));
        }
    }
}

impl Drop for TapeRecording {
    fn drop(&mut self) {
        if let Some(take) = self.take.take() {
            // A failure marks the tape as broken, which the next response reports.
            discard!(
                self.tape.append(&take),
                error,
                "a response was not recorded on the tape"
            );
        }
    }
}

/// A model that answers from a tape.
#[derive(Debug)]
pub struct CassettePlayer {
    path: PathBuf,
    takes: Vec<TapeLine>,
    played: Mutex<HashSet<usize>>,
}

/// One line of a tape; its events are read when they are played.
#[derive(Debug)]
struct TapeLine {
    request: RequestFingerprint,
    line: String,
}

impl CassettePlayer {
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        #[derive(Deserialize)]
        struct TapeLineHead {
            request: RequestFingerprint,
        }
        let path = path.as_ref();
        let mut takes = Vec::new();
        for (index, line) in BufReader::new(File::open(path)?).lines().enumerate() {
            let line = line?;
            let bad = |what: String| {
                let place = format!("cassette {}, line {}: {what}", path.display(), index + 1);
                io::Error::new(io::ErrorKind::InvalidData, place)
            };
            let head: TapeLineHead =
                serde_json::from_str(&line).map_err(|error| bad(error.to_string()))?;
            takes.push(TapeLine {
                request: head.request,
                line,
            });
        }
        Ok(Self {
            path: path.to_owned(),
            takes,
            played: Mutex::default(),
        })
    }

    /// Takes the first response that was not played yet and fits the request. Agents that
    /// ask at the same time may do so in another order than when they were recorded.
    fn take(&self, asked: &RequestFingerprint) -> Result<TapeEntry, ModelError> {
        let failed = |what: String| {
            ModelError::new(
                ModelErrorKind::Cassette,
                format!("cassette {}: {what}", self.path.display()),
            )
        };
        let mut played = self.played.lock().unwrap_or_else(PoisonError::into_inner);
        let mut unplayed = (0..self.takes.len()).filter(|index| !played.contains(index));
        let Some(next) = unplayed.next() else {
            let count = self.takes.len();
            return Err(failed(format!(
                "the tape is over after {count} responses; asked for {asked}"
            )));
        };
        let index = std::iter::once(next)
            .chain(unplayed)
            .find(|index| self.takes[*index].request.matches(asked))
            .ok_or_else(|| {
                failed(format!(
                    "the request differs from the recorded one (line {}): recorded {}, asked for {asked}",
                    next + 1,
                    self.takes[next].request,
                ))
            })?;
        played.insert(index);
        serde_json::from_str(&self.takes[index].line)
            .map_err(|error| failed(format!("line {}: {error}", index + 1)))
    }
}

impl LanguageModel for CassettePlayer {
    fn provider_id(&self) -> &str {
        CASSETTE
    }

    fn open(&self, request: ModelRequest) -> ModelStream {
        match self.take(&RequestFingerprint::of(&request)) {
            Err(error) => ModelStream::failed(error),
            Ok(take) if take.cut => {
                let events = (!take.events.is_empty()).then_some(take.events);
                ModelStream::new(stream::iter(events).chain(stream::pending()))
            }
            Ok(take) => ModelStream::new(stream::iter([take.events])),
        }
    }
}
