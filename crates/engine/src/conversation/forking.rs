//! A new session with the history of another, or with its last turns.

mod open_spans;
mod turns;

use std::collections::HashSet;

use troupe_protocol::event::{AbortReason, EventMsg, TurnAborted};
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::tree::{AgentLine, TreeFact};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{PendingQuestion, SessionId};
use troupe_store::{LiveHistory, SessionStore, StoreError};

use super::opening::{OpenCallAnswers, OpenedLog, new_meta};
use crate::deps::{SessionDeps, SessionSetup};
use crate::resume::{self, ResumedState, fold};

/// What a call is answered with that ran when the fork was made.
const FORKED_ANSWER: &str = "not answered here: the conversation was forked while this call ran";

pub(super) async fn fork(
    setup: &SessionSetup,
    deps: &SessionDeps,
    request: &ConfigureSession,
    point: &ForkPoint,
) -> Result<OpenedLog, StoreError> {
    let live = match setup.session_id {
        Some(child) => read_at_birth(&*setup.store, point.session_id, child).await?,
        None => read_fork_point(&*setup.store, point).await?,
    };
    let mut meta = new_meta(setup, deps, request);
    meta.forked_from_id = Some(live.meta.id);
    meta.base_instructions = meta
        .base_instructions
        .or(live.meta.base_instructions.clone());
    meta.developer_instructions = meta
        .developer_instructions
        .or(live.meta.developer_instructions.clone());
    // What both have sent stays the same, and so does the provider's memory of it.
    meta.personality = live.meta.personality;
    let mut warnings = live.warnings.clone();
    let CopiedHistory {
        records,
        warning,
        names_agents,
    } = copy(live, point.turns);
    warnings.extend(warning);
    let mut log = setup.store.create(&meta).await?;
    log.append(&records)?;
    log.commit().await?;
    // Folded from its own lines, so that places in it are places in its own log.
    let own = setup.store.read_live(meta.id).await?;
    let mut folded = fold(own);
    // Its tree begins at once, above the numbers that its history names.
    folded.has_agents = names_agents;
    // Nobody asked the fork for anything yet.
    folded.asked_shape = None;
    Ok(OpenedLog {
        log,
        meta,
        folded,
        open_calls: OpenCallAnswers {
            known: setup.forking_call.clone(),
            others: FORKED_ANSWER,
        },
        warnings,
    })
}

/// Reads the conversation of a parent as it was when it made this child, which may have waited
/// for its turn since then.
async fn read_at_birth(
    store: &dyn SessionStore,
    parent: SessionId,
    child: SessionId,
) -> Result<LiveHistory, StoreError> {
    let mut live = store.read_live(parent).await?;
    if birth_in(&live, child).is_none() {
        // Since then the parent has compacted its history, or gone back in it.
        let told = store.agent_lines(parent).await?;
        let mut lines = told.lines.into_iter();
        if let Some((after, _)) = lines.find(|(_, line)| is_birth(line, child)) {
            live = store.read_live_at(parent, after).await?;
        }
    }
    if let Some(born) = birth_in(&live, child) {
        live.records.truncate(born);
    }
    Ok(live)
}

fn birth_in(live: &LiveHistory, child: SessionId) -> Option<usize> {
    live.records.iter().position(
        |(_, line)| matches!(&line.record, RolloutRecord::Agent(line) if is_birth(line, child)),
    )
}

fn is_birth(line: &AgentLine, child: SessionId) -> bool {
    matches!(&line.record.fact, TreeFact::Born(birth) if birth.session == child)
}

/// What a fork begins with.
#[derive(Default)]
struct CopiedHistory {
    records: Vec<RolloutRecord>,
    /// What a person should know of the lines that were left out.
    warning: Option<String>,
    /// Whether the lines may name agents.
    names_agents: bool,
}

fn copy(mut live: LiveHistory, turns: Option<u32>) -> CopiedHistory {
    let repeated = resume::leave_out_repeated(&mut live);
    let records: Vec<RolloutRecord> = live
        .records
        .iter()
        .map(|(_, line)| line.record.clone())
        .collect();
    let mut whole = fold(live);
    whole.repeated = repeated;
    let warning = whole.warning();
    let mut copied = match turns {
        None => records,
        Some(0) => {
            return CopiedHistory {
                warning,
                ..CopiedHistory::default()
            };
        }
        Some(turns) => last_turns(records, turns),
    };
    copied.retain(belongs_to_fork);
    open_spans::leave_out(&mut copied);
    copied.iter_mut().for_each(leave_behind);
    let names_agents = whole.has_agents;
    copied.extend(end_of_task(whole));
    CopiedHistory {
        records: copied,
        warning,
        names_agents,
    }
}

/// Returns the lines of the last turns. Of what lies before, only the settings count.
fn last_turns(mut records: Vec<RolloutRecord>, turns: u32) -> Vec<RolloutRecord> {
    let is_start = |record: &RolloutRecord| {
        matches!(record, RolloutRecord::EventMsg(event)
            if matches!(event.msg, EventMsg::TurnStarted(_)))
    };
    let starts = records.iter().enumerate().rev();
    let mut starts = starts.filter(|(_, record)| is_start(record));
    let nth = turns.saturating_sub(1) as usize;
    let Some((first, _)) = starts.nth(nth) else {
        return records;
    };
    let kept = records.split_off(first);
    let context = records
        .into_iter()
        .rfind(|record| matches!(record, RolloutRecord::TurnContext(_)));
    without_orphans(context.into_iter().chain(kept).collect())
}

/// Leaves out answers to calls that were left out: providers refuse them.
fn without_orphans(mut records: Vec<RolloutRecord>) -> Vec<RolloutRecord> {
    let calls: HashSet<_> = records
        .iter()
        .filter_map(|record| match record {
            RolloutRecord::ResponseItem(item) => item.open_call().cloned(),
            _ => None,
        })
        .collect();
    records.retain(|record| match record {
        RolloutRecord::ResponseItem(item) => item
            .answered_call()
            .is_none_or(|answered| calls.contains(answered)),
        _ => true,
    });
    records
}

async fn read_fork_point(
    store: &dyn SessionStore,
    point: &ForkPoint,
) -> Result<LiveHistory, StoreError> {
    if let Some(turn) = &point.turn {
        return turns::read_at(store, point.session_id, turn).await;
    }
    let Some(response_id) = &point.last_response_id else {
        return store.read_live(point.session_id).await;
    };
    match store.find_bookmark(response_id).await? {
        Some(bookmark) if bookmark.session != point.session_id => {
            Err(StoreError::BookmarkElsewhere {
                response_id: response_id.clone(),
                asked: point.session_id,
                found: bookmark.session,
            })
        }
        Some(bookmark) => {
            store
                .read_live_at(bookmark.session, bookmark.position)
                .await
        }
        None => Err(StoreError::NoBookmark {
            response_id: response_id.clone(),
        }),
    }
}

/// Returns the line that ends a task in whose middle the fork was made: what happened to
/// it afterwards belongs to the other session.
fn end_of_task(source: ResumedState) -> Option<RolloutRecord> {
    let task = source.unfinished.task?;
    Some(RolloutRecord::EventMsg(EventRecord {
        id: task.clone(),
        seq: source.reserved_until,
        msg: EventMsg::TurnAborted(TurnAborted {
            turn_id: task,
            reason: AbortReason::Replaced,
            last_agent_message: source.history.last_assistant_message(),
            response_id: None,
        }),
    }))
}

/// Bookmarks, token counts and the name stay with the session that has them: the first are
/// found there, the second must not be counted twice, and by the third one session is called.
/// What its agents ask is asked there.
fn belongs_to_fork(record: &RolloutRecord) -> bool {
    match record {
        RolloutRecord::EventMsg(event) => match &event.msg {
            EventMsg::ResponseCompleted { .. }
            | EventMsg::TokenCount { .. }
            | EventMsg::SessionConfigured(_)
            | EventMsg::SubagentLifecycle(_)
            | EventMsg::ThreadNameUpdated { .. } => false,
            msg => PendingQuestion::of(msg).is_none_or(|question| question.agent().is_none()),
        },
        // Children stay with the session that made them, and so does what it did to files.
        RolloutRecord::SessionMeta(_)
        | RolloutRecord::Rewind(_)
        | RolloutRecord::Agent(_)
        | RolloutRecord::Files(_)
        | RolloutRecord::Submitted(_) => false,
        _ => true,
    }
}

/// Takes out of a compaction what stays with the source.
fn leave_behind(record: &mut RolloutRecord) {
    if let RolloutRecord::Compacted(compacted) = record {
        compacted.carried.total_token_usage = TokenUsage::default();
        compacted.carried.has_agents = false;
        compacted.carried.thread_name = None;
    }
}
