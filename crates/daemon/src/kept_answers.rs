//! Answers of requests that have a key of their client (`Idempotency-Key`): asked again, such a
//! request is not done again. They are kept in a file, so that this holds after a crash too.
//!
//! A key is written before its request is done, and the answer afterwards. A key without an answer
//! was under way when its daemon died: what became of it nobody knows, so it is refused, and not
//! done a second time.

use std::collections::{HashMap, VecDeque};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::sync::Mutex;
use troupe_store::{StoreClock, UnixMillis};

use crate::limits::{KEPT_ANSWER_AGE_MS_MAX, KEPT_ANSWERS_MAX, REQUEST_KEY_CHARS_MAX};
use crate::problem::Problem;

const FILE_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// The answers of a home.
#[derive(Debug)]
pub(crate) struct KeptAnswers {
    file: PathBuf,
    kept: Arc<Mutex<Option<AnswerFile>>>,
}

#[derive(Debug)]
struct AnswerFile {
    file: File,
    by_key: HashMap<String, KeptRequest>,
    /// The oldest first.
    order: VecDeque<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct KeptRequest {
    key: String,
    /// Of route and body.
    digest: String,
    at_ms: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<KeptAnswer>,
    /// Whether this process does it now.
    #[serde(skip)]
    is_under_way: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptAnswer {
    pub status: u16,
    /// Those that clients need: type, place, version.
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

/// What is to be done with a request.
#[derive(Debug)]
pub(crate) enum RequestVerdict {
    /// It is new, and its key is on disk.
    Do,
    Repeat(KeptAnswer),
}

impl KeptAnswers {
    pub(crate) fn new(file: PathBuf) -> Self {
        Self {
            file,
            kept: Arc::default(),
        }
    }

    /// Takes a key in, or says why the request is not done.
    pub(crate) async fn begin(&self, key: &str, digest: String) -> Result<RequestVerdict, Problem> {
        let key = key.to_owned();
        self.with_file(move |kept| kept.begin(key, digest)).await?
    }

    /// Keeps the answer of a request that was done.
    pub(crate) async fn end(&self, key: &str, answer: KeptAnswer) -> Result<(), Problem> {
        let key = key.to_owned();
        self.with_file(move |kept| kept.end(&key, answer)).await?
    }

    /// Works with the file beside the loop, because it waits for the disk.
    async fn with_file<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut AnswerFile) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let mut kept = Arc::clone(&self.kept).lock_owned().await;
        let path = self.file.clone();
        let done = tokio::task::spawn_blocking(move || {
            let file = match kept.take() {
                Some(file) => file,
                None => AnswerFile::read(&path)?,
            };
            io::Result::Ok(work(kept.insert(file)))
        });
        match done.await {
            Ok(done) => done.map_err(|error| failed(&error)),
            Err(error) => Err(Problem::internal(error.to_string())),
        }
    }
}

/// Returns what tells a request from any other with the same key.
pub(crate) fn digest(method: &str, path: &str, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    for part in [method.as_bytes(), path.as_bytes(), body] {
        hash.update(part.len().to_be_bytes());
        hash.update(part);
    }
    let bytes = hash.finalize();
    let pairs: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    pairs.concat()
}

/// Refuses a key that is none.
pub(crate) fn check_key(key: &str) -> Result<(), Problem> {
    let is_plain = key.chars().all(|letter| letter.is_ascii_graphic());
    if key.is_empty() || key.len() > REQUEST_KEY_CHARS_MAX || !is_plain {
        let detail = format!("a key has 1 to {REQUEST_KEY_CHARS_MAX} visible ASCII characters");
        return Err(Problem::bad_request("bad_header", detail).field("Idempotency-Key"));
    }
    Ok(())
}

impl AnswerFile {
    /// Reads what was kept and is not too old, and writes just that.
    fn read(path: &Path) -> io::Result<Self> {
        let mut by_key: HashMap<String, KeptRequest> = HashMap::new();
        let mut order = VecDeque::new();
        let oldest = StoreClock::system().now().0 - KEPT_ANSWER_AGE_MS_MAX;
        match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => {
                for line in BufReader::new(opened?).lines() {
                    // The last line may have been cut by a crash.
                    let Ok(request) = serde_json::from_str::<KeptRequest>(&line?) else {
                        continue;
                    };
                    if request.at_ms < oldest {
                        continue;
                    }
                    let key = request.key.clone();
                    if by_key.insert(key.clone(), request).is_none() {
                        order.push_back(key);
                    }
                }
            }
        }
        if let Some(directory) = path.parent() {
            let mut builder = fs::DirBuilder::new();
            builder
                .recursive(true)
                .mode(DIRECTORY_MODE)
                .create(directory)?;
        }
        let draft = path.with_extension("draft");
        let mut options = OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .mode(FILE_MODE)
            .open(&draft)?;
        file.set_len(0)?;
        let mut text = Vec::new();
        for key in &order {
            write_line(&mut text, &by_key[key])?;
        }
        file.write_all(&text)?;
        file.sync_data()?;
        fs::rename(draft, path)?;
        Ok(Self {
            file,
            by_key,
            order,
        })
    }

    fn begin(&mut self, key: String, digest: String) -> Result<RequestVerdict, Problem> {
        let now = StoreClock::system().now();
        if let Some(known) = self.by_key.get(&key)
            && known.at_ms >= now.0 - KEPT_ANSWER_AGE_MS_MAX
        {
            return known.verdict(&digest);
        }
        let request = KeptRequest {
            key: key.clone(),
            digest,
            at_ms: now.0,
            answer: None,
            is_under_way: true,
        };
        self.write(&request)?;
        if self.by_key.insert(key.clone(), request).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() > KEPT_ANSWERS_MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.by_key.remove(&oldest);
        }
        Ok(RequestVerdict::Do)
    }

    fn end(&mut self, key: &str, answer: KeptAnswer) -> Result<(), Problem> {
        let Some(known) = self.by_key.get_mut(key) else {
            return Ok(());
        };
        known.answer = Some(answer);
        known.is_under_way = false;
        let known = known.clone();
        self.write(&known)
    }

    fn write(&mut self, request: &KeptRequest) -> Result<(), Problem> {
        let mut line = Vec::new();
        let written = write_line(&mut line, request)
            .and_then(|()| self.file.write_all(&line))
            .and_then(|()| self.file.sync_data());
        written.map_err(|error| failed(&error))
    }
}

impl KeptRequest {
    fn verdict(&self, digest: &str) -> Result<RequestVerdict, Problem> {
        let field = "Idempotency-Key";
        if self.digest != digest {
            let detail = "the key was used for another request; take a new one";
            return Err(Problem::unprocessable(field, detail));
        }
        if let Some(answer) = &self.answer {
            return Ok(RequestVerdict::Repeat(answer.clone()));
        }
        let since = UnixMillis(self.at_ms);
        let (code, detail) = if self.is_under_way {
            (
                "under_way",
                format!("the same request is being done since {since}"),
            )
        } else {
            (
                "outcome_unknown",
                format!(
                    "the daemon died at {since} or later while it did this request; look whether \
                     it was done, and ask again with a new key if it was not"
                ),
            )
        };
        Err(Problem::conflict(code, detail).field(field))
    }
}

fn write_line(text: &mut Vec<u8>, request: &KeptRequest) -> io::Result<()> {
    serde_json::to_writer(&mut *text, request)?;
    text.push(b'\n');
    Ok(())
}

fn failed(error: &io::Error) -> Problem {
    Problem::internal(format!("the keys of requests cannot be kept: {error}"))
}

#[cfg(test)]
mod tests;
