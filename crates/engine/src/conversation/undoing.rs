//! Taking back what turns did to files. The history stays as it is.
//!
//! What was seen of files stands in the log, whatever branch it is on, and is read when
//! somebody asks: a session that undoes nothing carries nothing for it. The line that says
//! what will be changed is on disk before a file is touched.

mod descendants;

use std::path::Path;
use std::sync::Arc;

use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg};
use troupe_protocol::history::ResponseItem;
use troupe_protocol::rollout::{RewindReason, RewindRecord, RolloutRecord};
use troupe_protocol::undo::{FileFact, UndoCompleted, UndoRequest};
use troupe_protocol::{SessionId, SubmissionId};
use troupe_store::{LogReader, SessionStore, StoreError};
use troupe_tools::undo::{
    EndedTask, NothingToUndo, UndoEntry, UndoExtent, UndoLedger, UndoPlan, UndoRecorder,
};

use super::{Conversation, OpenSession};
use crate::context::{self, UndoDirection};
use crate::emit::{EmittedLine, Emitter};

/// What is about to be done, and to which turns.
struct UndoIntent {
    plan: UndoPlan,
    fact: FileFact,
    turns: Vec<SubmissionId>,
    notes: Vec<String>,
}

impl OpenSession {
    /// Takes back what turns did to files, unless a task runs.
    pub(crate) async fn undo(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        request: UndoRequest,
    ) -> Result<(), StoreError> {
        if self.task.is_some() {
            return out.error(id, refused("a task is running; interrupt it first"));
        }
        self.conversation.undo(out, id, request).await
    }
}

impl Conversation {
    /// Returns what the task changed, for a line of the log. What its tools remembered of files
    /// is forgotten.
    pub(super) async fn files_changed(&self, task: &SubmissionId) -> EndedTask {
        self.tools.forget_turn();
        match self.tools.keeper() {
            Some(keeper) => keeper.end_turn(task).await,
            None => EndedTask::default(),
        }
    }

    async fn undo(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        request: UndoRequest,
    ) -> Result<(), StoreError> {
        let Some(keeper) = self.tools.keeper().cloned() else {
            let why = "what turns do to files is not kept in this session";
            return out.error(id, refused(why));
        };
        let message = request.redo.then(|| "taking back the last undo".to_owned());
        let started = EventMsg::UndoStarted { message };
        let say = |out: &mut Emitter, msg| {
            if request.dry_run {
                // Leaves the log as it is.
                out.delta(id, msg)
            } else {
                out.emit(id, vec![msg])
            }
        };
        say(out, started)?;
        let store = Arc::clone(&self.services.store);
        let cwd = self.settings.context.cwd.clone();
        if request.dry_run {
            let completed = match tempfile::tempdir() {
                // What has to be looked at again is kept beside what is kept.
                Ok(scratch) => {
                    let keeper = keeper.for_planning(scratch.path());
                    preview_undo(&*store, &keeper, self.id(), &cwd, &request).await?
                }
                Err(error) => UndoCompleted {
                    message: Some(format!(
                        "there is no temporary directory to plan in: {error}"
                    )),
                    dry_run: true,
                    ..UndoCompleted::default()
                },
            };
            return say(out, EventMsg::UndoCompleted(completed));
        }
        let ledger = UndoLedger::fold(file_facts(&*store, self.id()).await?);
        let mut intent = match intent(&keeper, &ledger, &cwd, &request).await {
            Ok(intent) => intent,
            Err(nothing) => {
                let mut completed = impossible(&nothing, &request);
                completed.notes = descendants::left_changes(&*store, self.id()).await;
                return say(out, EventMsg::UndoCompleted(completed));
            }
        };
        if !request.redo {
            let left = descendants::left_changes(&*store, self.id()).await;
            intent.notes.extend(left);
        }
        self.perform(out, id, &keeper, intent).await
    }

    async fn perform(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        keeper: &UndoRecorder,
        intent: UndoIntent,
    ) -> Result<(), StoreError> {
        let UndoIntent {
            plan,
            fact,
            turns,
            notes,
        } = intent;
        if plan.is_empty() {
            // Nothing is touched, so nothing is remembered as taken back, unless the files are
            // already as they were.
            let settled = plan.conflicts.is_empty().then_some(fact);
            let record =
                settled.map(|fact| EmittedLine::Record(RolloutRecord::Files(Box::new(fact))));
            let completed = EventMsg::UndoCompleted(told(&plan, turns, notes));
            let lines = record
                .into_iter()
                .chain([EmittedLine::event(id, completed)]);
            out.write_lines(lines)?;
            return out.commit().await;
        }
        let is_undo = matches!(fact, FileFact::Undone { .. });
        out.write(id, vec![RolloutRecord::Files(Box::new(fact))], Vec::new())?;
        out.commit().await?;
        let done = keeper.perform(plan).await;
        // Nothing could be done of it: the turns count as they did before.
        let reverted = (is_undo && done.is_empty())
            .then(|| EmittedLine::Record(RolloutRecord::Files(Box::new(FileFact::Redone))));
        let completed = EventMsg::UndoCompleted(told(&done, turns, notes));
        // Of an undo that is wholly taken back before the model heard of it, it hears nothing.
        if !is_undo
            && done.conflicts.is_empty()
            && let Some(place) = self.ledgers.history.last_undo_note().cloned()
        {
            let rewind = RewindRecord {
                to: place.position.0,
                reason: RewindReason::Redone,
                carried: self.carried(out),
            };
            let record = RolloutRecord::Rewind(Box::new(rewind));
            out.write(id, vec![record], vec![completed])?;
            self.ledgers.history.truncate(place.len);
            return out.commit().await;
        }
        // The model has seen the files as its turns left them.
        let note = (!done.is_empty()).then(|| {
            let direction = if is_undo {
                UndoDirection::TakenBack
            } else {
                UndoDirection::BroughtBack
            };
            let text = context::files_taken_back(direction, &done.restored(), &done.removed());
            ResponseItem::user_text(text)
        });
        let before = out.position();
        let lines = reverted
            .into_iter()
            .chain(note.iter().map(EmittedLine::item));
        out.write_lines(lines.chain([EmittedLine::event(id, completed)]))?;
        if let Some(note) = note {
            self.ledgers.history.push_at(note, before);
        }
        out.commit().await
    }
}

impl UndoIntent {
    fn shown(self) -> UndoCompleted {
        UndoCompleted {
            dry_run: true,
            ..told(&self.plan, self.turns, self.notes)
        }
    }
}

/// Finds out what an undo would do to the files of a session that is not opened for it: its log
/// stays as it is, and so does what can be continued of it.
pub async fn preview_undo(
    store: &dyn SessionStore,
    keeper: &UndoRecorder,
    session: SessionId,
    cwd: &Path,
    request: &UndoRequest,
) -> Result<UndoCompleted, StoreError> {
    let ledger = UndoLedger::fold(file_facts(store, session).await?);
    let intent = intent(keeper, &ledger, cwd, request).await;
    let mut completed = match intent {
        Ok(intent) => intent.shown(),
        Err(nothing) => impossible(&nothing, request),
    };
    if !request.redo {
        completed
            .notes
            .extend(descendants::left_changes(store, session).await);
    }
    Ok(completed)
}

fn impossible(nothing: &NothingToUndo, request: &UndoRequest) -> UndoCompleted {
    UndoCompleted {
        message: Some(nothing.to_string()),
        dry_run: request.dry_run,
        ..UndoCompleted::default()
    }
}

async fn intent(
    keeper: &UndoRecorder,
    ledger: &UndoLedger,
    cwd: &Path,
    request: &UndoRequest,
) -> Result<UndoIntent, NothingToUndo> {
    let extent = if request.partly {
        UndoExtent::Partly
    } else {
        UndoExtent::AllOrNothing
    };
    if request.redo {
        let (undo, turns) = ledger.last_undo()?;
        return Ok(UndoIntent {
            plan: keeper.plan_redo(cwd, undo, extent).await,
            fact: FileFact::Redone,
            turns,
            notes: Vec::new(),
        });
    }
    let chosen = ledger.last(request.num_turns.unwrap_or(1))?;
    let entries: Vec<&UndoEntry> = chosen.iter().map(|(_, entry)| *entry).collect();
    let (plan, mut notes) = keeper.plan_undo(cwd, &entries, extent).await;
    let oldest = chosen.last().map(|(number, _)| *number);
    notes.extend(oldest.and_then(|number| ledger.unknown_since(number)));
    let turns = entries.iter().map(|entry| entry.turn_id.clone());
    Ok(UndoIntent {
        turns: turns.collect(),
        fact: FileFact::Undone {
            numbers: chosen.iter().map(|(number, _)| *number).collect(),
            files: plan.files.clone(),
            directories: plan.removed_directories(),
        },
        plan,
        notes,
    })
}

/// Reads what the log says of files, on every branch.
async fn file_facts(
    store: &dyn SessionStore,
    session: SessionId,
) -> Result<Vec<FileFact>, StoreError> {
    let mut facts = Vec::new();
    let mut log = LogReader::new(session);
    while let Some(lines) = log.next(store).await? {
        let lines = lines.iter().filter(|line| line.is("files"));
        // A line that cannot be read was told of when the session was opened.
        let records = lines.filter_map(|line| line.record().ok());
        facts.extend(records.filter_map(|stamped| match stamped.record {
            RolloutRecord::Files(fact) => Some(*fact),
            _ => None,
        }));
    }
    Ok(facts)
}

fn told(plan: &UndoPlan, turns: Vec<SubmissionId>, notes: Vec<String>) -> UndoCompleted {
    let message = match (plan.is_empty(), plan.conflicts.is_empty()) {
        (false, _) => None,
        (true, true) => Some("the files are as they were already".to_owned()),
        (true, false) => Some(
            "nothing was changed, because not all of it can be taken back: see what is in the \
             way (partly: take back the rest)"
                .to_owned(),
        ),
    };
    UndoCompleted {
        success: plan.is_success(),
        message,
        dry_run: false,
        turns,
        restored: plan.restored(),
        removed: plan.removed(),
        conflicts: plan.conflicts.clone(),
        notes,
    }
}

fn refused(message: &str) -> ErrorEvent {
    ErrorEvent {
        message: message.to_owned(),
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}
