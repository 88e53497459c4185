//! From a file of another agent to a session of ours.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::Value;
use troupe_protocol::SessionId;
use troupe_protocol::discard;
use troupe_protocol::rollout::{ForeignAgent, ImportedFrom, RolloutRecord, SessionMeta};
use troupe_protocol::session::{GitInfo, SessionSource, TurnContext};
use troupe_store::{EmbeddedStore, LiveHistory, SessionStore, StoreClock, UnixMillis};
use uuid::Uuid;

use crate::claude::{self, ClaudeReader, branch::BranchSurvey};
use crate::codex::{self, CodexReader};
use crate::error::ImportError;
use crate::fields::{one_line, text};
use crate::limits::{HEAD_LINES_MAX, PREVIEW_CHARS_MAX};
use crate::losses::LossReport;
use crate::pairing::CallPairing;
use crate::passage::{ConversationHeading, Passage, TimedPassage};
use crate::places;
use crate::rollout_writer::{CLOSING_ID, RecordSink, RolloutWriter, TURN_ID_PREFIX};
use crate::source::{NumberedLine, SourceFile};

/// A conversation of another agent that can be taken over.
#[derive(Debug)]
pub struct ForeignConversation {
    pub agent: ForeignAgent,
    pub file: SourceFile,
    /// As far as the beginning of the file tells.
    pub heading: ConversationHeading,
}

/// What the session is given that the conversation does not bring along: a session works with
/// the models and under the rights that its user configured here.
#[derive(Debug, Clone)]
pub struct ImportSettings {
    pub model_provider: String,
    pub context: TurnContext,
    pub cli_version: String,
}

/// Which session is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportIdentity {
    /// The same for the same conversation, so that it is taken over once.
    Derived,
    /// Another one each time.
    Fresh,
}

/// What became of a conversation.
#[derive(Debug)]
pub struct ImportReport {
    pub session: SessionId,
    pub outcome: ImportOutcome,
    pub heading: ConversationHeading,
    pub name: Option<String>,
    /// What was or would be written; nothing for a session that was there.
    pub turns: usize,
    pub items: u64,
    pub losses: LossReport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    Made,
    /// The conversation had gone on since it was taken over, and the session had not.
    Updated,
    Known(ForeignProgress),
    /// Nothing was written.
    Rehearsed,
}

/// What the other agent did since its conversation was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignProgress {
    Nothing,
    /// Both went on, so neither can take the place of the other.
    WentOnApart,
}

impl ForeignConversation {
    /// Looks at a file and finds out whose conversation it is.
    pub fn open(path: &Path) -> Result<Self, ImportError> {
        let file = SourceFile::open(path)?;
        let mut agent = None;
        let mut own = None;
        let mut heading = ConversationHeading::default();
        let mut codex = CodexReader::default();
        let mut seen = 0;
        file.read(|line| {
            seen += 1;
            let Ok(line) = parse(line) else {
                return seen < HEAD_LINES_MAX;
            };
            if agent.is_none() {
                agent = agent_of(&line);
            }
            if own.is_none() && is_ours(&line) {
                own = Some(heading.id.clone().unwrap_or_default());
            }
            read_heading(&line, agent, &mut codex, &mut heading);
            let is_enough = heading.preview.is_some() && heading.cwd.is_some();
            !is_enough && own.is_none() && seen < HEAD_LINES_MAX
        })?;
        if let Some(session) = own {
            return Err(ImportError::Own {
                path: path.to_owned(),
                session,
            });
        }
        match agent {
            Some(agent) => Ok(Self {
                agent,
                file,
                heading,
            }),
            None => Err(ImportError::Unknown {
                path: path.to_owned(),
            }),
        }
    }

    /// Returns the other agent's name for the conversation; that of the file if it has none.
    pub fn id(&self) -> String {
        let stem = self.file.path().file_stem();
        let stem = || stem.unwrap_or_default().to_string_lossy().into_owned();
        self.heading.id.clone().unwrap_or_else(stem)
    }

    /// Returns the session that this conversation becomes.
    pub fn session(&self) -> SessionId {
        derived_session(self.agent, &self.id())
    }
}

/// Returns the session that a conversation becomes. It follows from the other agent's name for
/// it, so the same conversation is known again wherever its file lies.
pub fn derived_session(agent: ForeignAgent, id: &str) -> SessionId {
    let name = format!("troupe:import:{}:{id}", agent.as_str());
    SessionId(Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()))
}

/// A takeover into the home of sessions at `home`.
#[derive(Debug)]
pub struct Takeover<'a> {
    pub home: &'a Path,
    pub frame: ImportSettings,
    pub identity: ImportIdentity,
}

impl Takeover<'_> {
    /// Makes a session of a conversation, unless there is one.
    pub async fn run(self, origin: &ForeignConversation) -> Result<ImportReport, ImportError> {
        let store = EmbeddedStore::open(self.home)?;
        let (session, outcome) = match self.identity {
            ImportIdentity::Fresh => (SessionId::random(), ImportOutcome::Made),
            ImportIdentity::Derived => {
                let session = origin.session();
                match standing(&store, session, origin).await? {
                    ImportStanding::Absent => (session, ImportOutcome::Made),
                    ImportStanding::Outdated => {
                        store.delete(session).await?;
                        (session, ImportOutcome::Updated)
                    }
                    ImportStanding::Known(since) => {
                        return Ok(ImportReport::known(session, origin, since));
                    }
                }
            }
        };
        let written = self.write(origin, session).await;
        match written {
            Ok(imported) => Ok(ImportReport {
                outcome,
                ..imported
            }),
            Err(error) => {
                // Half a conversation is none. If it cannot be removed, the next import of the
                // same conversation finds it unfinished and begins anew.
                discard!(
                    store.delete(session).await,
                    error,
                    "a conversation that was imported in part was not removed"
                );
                Err(error)
            }
        }
    }

    async fn write(
        &self,
        origin: &ForeignConversation,
        session: SessionId,
    ) -> Result<ImportReport, ImportError> {
        let started = origin.heading.started.unwrap_or_default();
        let time = Arc::new(AtomicI64::new(started.0));
        let clock = {
            let time = Arc::clone(&time);
            StoreClock::new(move || UnixMillis(time.load(Ordering::Acquire)))
        };
        let store = EmbeddedStore::with_clock(self.home, clock)?;
        let meta = self.meta(origin, session, started);
        let mut context = self.frame.context.clone();
        context.cwd.clone_from(&meta.cwd);
        let log = store.create(&meta).await?;
        let scribe = RolloutWriter::new(RecordSink::Log(log), time, session, context, started);
        let (sink, imported) = transcribe(origin, scribe, session)?;
        if let RecordSink::Log(log) = sink {
            log.close().await?;
        }
        Ok(imported)
    }

    fn meta(
        &self,
        origin: &ForeignConversation,
        session: SessionId,
        started: UnixMillis,
    ) -> SessionMeta {
        let heading = &origin.heading;
        let cwd = heading.cwd.clone().filter(|cwd| cwd.is_absolute());
        let git = heading.branch.is_some() || heading.commit.is_some();
        SessionMeta {
            id: session,
            timestamp: started.to_string(),
            cwd: cwd.unwrap_or_else(|| self.frame.context.cwd.clone()),
            originator: origin.agent.as_str().to_owned(),
            cli_version: self.frame.cli_version.clone(),
            source: SessionSource::Cli,
            model_provider: self.frame.model_provider.clone(),
            forked_from_id: None,
            base_instructions: None,
            developer_instructions: None,
            personality: None,
            git: git.then(|| GitInfo {
                commit_hash: heading.commit.clone(),
                branch: heading.branch.clone(),
            }),
            imported_from: Some(ImportedFrom {
                agent: origin.agent,
                id: origin.id(),
                bytes: origin.file.bytes(),
            }),
            dynamic_tools: Vec::new(),
        }
    }
}

/// Reads a conversation to its end and says what would become of it. Writes nothing.
pub fn preview_import(
    origin: &ForeignConversation,
    frame: &ImportSettings,
) -> Result<ImportReport, ImportError> {
    let session = origin.session();
    let started = origin.heading.started.unwrap_or_default();
    let time = Arc::new(AtomicI64::new(started.0));
    let scribe = RolloutWriter::new(
        RecordSink::Nowhere,
        time,
        session,
        frame.context.clone(),
        started,
    );
    let (_, imported) = transcribe(origin, scribe, session)?;
    Ok(imported)
}

impl ImportReport {
    fn known(session: SessionId, origin: &ForeignConversation, since: ForeignProgress) -> Self {
        Self {
            session,
            outcome: ImportOutcome::Known(since),
            heading: origin.heading.clone(),
            name: None,
            turns: 0,
            items: 0,
            losses: LossReport::default(),
        }
    }
}

/// Writes a whole conversation.
fn transcribe(
    origin: &ForeignConversation,
    mut scribe: RolloutWriter,
    session: SessionId,
) -> Result<(RecordSink, ImportReport), ImportError> {
    let mut losses = LossReport::default();
    if let Some(name) = places::name_beside(origin) {
        let passage = Passage::Named(name);
        scribe.write(TimedPassage { at: None, passage })?;
    }
    let mut pairing = CallPairing::default();
    let mut paired = Vec::new();
    let mut write = |pieces: Vec<TimedPassage>, losses: &mut LossReport| {
        for piece in pieces {
            pairing.push(piece, &mut paired, losses);
        }
        paired.drain(..).try_for_each(|piece| scribe.write(piece))
    };
    let heading = match origin.agent {
        ForeignAgent::Codex => {
            let mut reader = CodexReader::default();
            each_line(&origin.file, &mut losses, |line, losses| {
                let mut pieces = Vec::new();
                reader.line(line, &mut pieces, losses);
                write(pieces, losses)
            })?;
            reader.heading
        }
        ForeignAgent::Claude => {
            let mut survey = BranchSurvey::default();
            // What cannot be read is told by the pass that would need it.
            each_line(&origin.file, &mut LossReport::default(), |line, _| {
                survey.line(line);
                Ok(())
            })?;
            let mut reader = ClaudeReader::new(survey.branch());
            each_line(&origin.file, &mut losses, |line, losses| {
                let mut pieces = Vec::new();
                reader.line(line, &mut pieces, losses);
                write(pieces, losses)
            })?;
            reader.heading
        }
    };
    pairing.close(None, &mut paired, &mut losses);
    paired.drain(..).try_for_each(|piece| scribe.write(piece))?;
    if scribe.items == 0 {
        return Err(ImportError::Empty {
            path: origin.file.path().to_owned(),
        });
    }
    let imported = ImportReport {
        session,
        outcome: ImportOutcome::Rehearsed,
        heading: ConversationHeading {
            preview: origin.heading.preview.clone(),
            ..heading
        },
        name: scribe.name().map(str::to_owned),
        turns: scribe.turns(),
        items: scribe.items,
        losses,
    };
    let note = format!("imported from {}", origin.agent.as_str());
    let sink = scribe.close(StoreClock::system().now(), note)?;
    Ok((sink, imported))
}

/// Shows each line that can be read to `each`, until it fails.
fn each_line(
    file: &SourceFile,
    losses: &mut LossReport,
    mut each: impl FnMut(&Value, &mut LossReport) -> Result<(), troupe_store::StoreError>,
) -> Result<(), ImportError> {
    let mut failure = None;
    file.read(|line| {
        let number = line.number;
        match parse(line) {
            Ok(line) => failure = each(&line, losses).err(),
            Err(why) => losses.broken_line(number, why),
        }
        failure.is_none()
    })?;
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn parse(line: NumberedLine<'_>) -> Result<Value, String> {
    let bytes = line
        .bytes
        .ok_or("it is longer than any line of a conversation may be")?;
    match serde_json::from_slice(bytes) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("it is no JSON object".to_owned()),
        Err(error) => Err(format!("it is no JSON: {error}")),
    }
}

fn agent_of(line: &Value) -> Option<ForeignAgent> {
    if codex::is_own(line) {
        Some(ForeignAgent::Codex)
    } else if claude::is_own(line) {
        Some(ForeignAgent::Claude)
    } else {
        None
    }
}

/// Tells a line of our own logs, which look like those of Codex from afar.
fn is_ours(line: &Value) -> bool {
    match text(line, "type") {
        Some("seq_reserved" | "rewind" | "agent" | "files" | "submitted") => {
            line.get("payload").is_some()
        }
        Some("event_msg") => line
            .get("payload")
            .is_some_and(|event| event.get("msg").is_some() && event.get("seq").is_some()),
        _ => false,
    }
}

/// Reads what the beginning of a file tells.
fn read_heading(
    line: &Value,
    agent: Option<ForeignAgent>,
    codex: &mut CodexReader,
    heading: &mut ConversationHeading,
) {
    let mut pieces = Vec::new();
    let mut losses = LossReport::default();
    match agent {
        None => return,
        Some(ForeignAgent::Codex) => {
            codex.line(line, &mut pieces, &mut losses);
            let preview = heading.preview.take();
            *heading = ConversationHeading {
                preview,
                ..codex.heading.clone()
            };
        }
        Some(ForeignAgent::Claude) => {
            let mut survey = BranchSurvey::default();
            survey.line(line);
            let mut reader = ClaudeReader::new(survey.branch());
            reader.line(line, &mut pieces, &mut losses);
            let ConversationHeading {
                id,
                started,
                cwd,
                branch,
                version,
                ..
            } = reader.heading;
            heading.id = heading.id.take().or(id);
            heading.started = heading.started.or(started);
            heading.cwd = heading.cwd.take().or(cwd);
            heading.branch = heading.branch.take().or(branch);
            heading.version = heading.version.take().or(version);
            heading.is_child |= line.get("isSidechain") == Some(&Value::Bool(true));
        }
    }
    let asked = pieces.iter().find_map(|piece| match &piece.passage {
        Passage::Asked { told, .. } => message_text(told),
        _ => None,
    });
    if heading.preview.is_none() {
        heading.preview = asked.map(|words| one_line(&words, PREVIEW_CHARS_MAX));
    }
}

fn message_text(told: &troupe_protocol::ResponseItem) -> Option<String> {
    match told {
        troupe_protocol::ResponseItem::Message { content, .. } => content
            .iter()
            .find_map(|part| part.text())
            .map(str::to_owned),
        _ => None,
    }
}

/// How a session stands to the conversation that it may have been made from.
enum ImportStanding {
    Absent,
    /// It can be made again without losing anything.
    Outdated,
    Known(ForeignProgress),
}

async fn standing(
    store: &dyn SessionStore,
    session: SessionId,
    origin: &ForeignConversation,
) -> Result<ImportStanding, ImportError> {
    let live = match store.read_live(session).await {
        Ok(live) => live,
        Err(troupe_store::StoreError::NotFound { .. }) => return Ok(ImportStanding::Absent),
        Err(error) => return Err(error.into()),
    };
    let Some(from) = &live.meta.imported_from else {
        return Err(ImportError::Taken { session });
    };
    let has_grown = from.bytes != origin.file.bytes();
    Ok(match progress(&live) {
        SessionProgress::Unfinished => ImportStanding::Outdated,
        SessionProgress::Untouched if has_grown => ImportStanding::Outdated,
        SessionProgress::GoneOn if has_grown => ImportStanding::Known(ForeignProgress::WentOnApart),
        SessionProgress::Untouched | SessionProgress::GoneOn => {
            ImportStanding::Known(ForeignProgress::Nothing)
        }
    })
}

/// What happened in a session since it was made from a conversation.
enum SessionProgress {
    /// The import itself was cut off.
    Unfinished,
    Untouched,
    GoneOn,
}

fn progress(live: &LiveHistory) -> SessionProgress {
    let mut is_finished = false;
    for (_, line) in &live.records {
        if let RolloutRecord::EventMsg(event) = &line.record {
            let id = event.id.as_str();
            if !id.starts_with(TURN_ID_PREFIX) && id != CLOSING_ID {
                return SessionProgress::GoneOn;
            }
            is_finished |= id == CLOSING_ID;
        }
    }
    if is_finished {
        SessionProgress::Untouched
    } else {
        SessionProgress::Unfinished
    }
}
