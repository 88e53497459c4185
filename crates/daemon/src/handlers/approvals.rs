//! What waits for a person, over all trees and depths, and the answers.

use std::collections::BTreeMap;

use serde_json::json;
use troupe_protocol::approval::{Answer, ReviewDecision, UserInputResponse};
use troupe_protocol::{AgentId, CallId, EventMsg, Op, PendingQuestion, SessionId};
use troupe_server::RootSession;
use troupe_store::{ApprovalKind, ApprovalRow, StoreClock};

use crate::daemon::Daemon;
use crate::limits::DECISIONS_BATCH_MAX;
use crate::members::{FoundSession, user};
use crate::problem::Problem;
use crate::route::{NoMembers, RouteCall, RouteReply};
use crate::wire::approval::{
    ApprovalPage, ApprovalView, DecisionBatchRequest, DecisionBatchView, DecisionRefusal,
    DecisionRequest, DecisionView,
};

/// Between the session and the call in the id of a question.
const SEPARATOR: char = '~';

/// An answer that makes sense.
#[derive(Debug, Clone)]
enum GivenAnswer {
    Decision(ReviewDecision),
    Answers(BTreeMap<String, Answer>),
}

pub(crate) async fn list(
    call: RouteCall<NoMembers, NoMembers>,
) -> Result<RouteReply<ApprovalPage>, Problem> {
    let daemon = call.daemon;
    let mut data = Vec::new();
    let store = daemon.store()?;
    for thread in daemon.pool().loaded().await {
        for row in store.open_approvals(thread.id()).await? {
            let id = id_of(row.session, &row.call_id);
            // What was answered a moment ago may not be written yet.
            if daemon.decisions().given(&id).is_some() {
                continue;
            }
            let asked = store.question(&row).await?;
            data.push((row.asked, view(thread.id(), id, row, asked)));
        }
    }
    data.sort_by_key(|(asked, _)| *asked);
    let data = data.into_iter().map(|(_, view)| view).collect();
    Ok(RouteReply::new(ApprovalPage { data }))
}

fn view(root: SessionId, id: String, row: ApprovalRow, asked: Option<EventMsg>) -> ApprovalView {
    ApprovalView {
        id,
        root_session_id: root,
        session_id: row.session,
        path: row.path,
        task_id: row.task.0,
        kind: row.kind.as_str(),
        what: row.what,
        asked_at: row.asked.to_string(),
        request: asked.and_then(|asked| serde_json::to_value(asked).ok()),
    }
}

pub(crate) async fn decide(
    call: RouteCall<NoMembers, DecisionRequest>,
) -> Result<RouteReply<DecisionView>, Problem> {
    let RouteCall {
        daemon,
        path,
        body,
        client,
        ..
    } = call;
    let answer = match (body.decision, body.answers) {
        (Some(decision), None) => GivenAnswer::Decision(decision),
        (None, Some(answers)) => GivenAnswer::Answers(answers),
        _ => {
            let detail =
                "give either decision (for a command or a patch) or answers (for a question)";
            return Err(Problem::unprocessable("decision", detail));
        }
    };
    let decided = daemon
        .give_answer(path.get("approval"), answer, &client)
        .await?;
    Ok(RouteReply::new(decided))
}

pub(crate) async fn decide_all(
    call: RouteCall<NoMembers, DecisionBatchRequest>,
) -> Result<RouteReply<DecisionBatchView>, Problem> {
    let RouteCall {
        daemon,
        body,
        client,
        ..
    } = call;
    if body.ids.is_empty() || body.ids.len() > DECISIONS_BATCH_MAX {
        let detail = format!("give between 1 and {DECISIONS_BATCH_MAX} ids");
        return Err(Problem::unprocessable("ids", detail));
    }
    let mut answered = DecisionBatchView {
        decided: Vec::new(),
        refused: Vec::new(),
    };
    for id in body.ids {
        let answer = GivenAnswer::Decision(body.decision);
        match daemon.give_answer(&id, answer, &client).await {
            Ok(decided) => answered.decided.push(decided),
            Err(problem) => answered.refused.push(DecisionRefusal { id, problem }),
        }
    }
    Ok(RouteReply::new(answered))
}

impl Daemon {
    /// Gives a question its answer. The first one counts; a second one is told whose that was.
    async fn give_answer(
        &self,
        id: &str,
        answer: GivenAnswer,
        client: &str,
    ) -> Result<DecisionView, Problem> {
        let (found, call) = self.asker(id).await?;
        let _turn = self.decisions().turn().await;
        if let Some(given) = self.decisions().given(id) {
            return Err(answered_already(&given));
        }
        let thread = self.loaded(found).await.ok_or_else(|| unknown(id))?;
        let store = self.store()?;
        let open = store.open_approvals(found.root).await?;
        let row = open
            .into_iter()
            .find(|row| row.session == found.session && row.call_id == call);
        let Some(row) = row else {
            return Err(self.settled(found, &call, id).await?);
        };
        let asked = store.question(&row).await?;
        let asked = asked
            .as_ref()
            .and_then(PendingQuestion::of)
            .ok_or_else(|| {
                Problem::conflict(
                    "unreadable",
                    "what is asked cannot be read, so it is not answered",
                )
            })?;
        let name = submit(&thread, &row, &asked, answer).await?;
        let given = DecisionView {
            id: id.to_owned(),
            decision: name.to_owned(),
            by: Some(client.to_owned()),
            at: StoreClock::system().now().to_string(),
        };
        self.decisions().note(given.clone());
        tracing::info!(
            approval = id,
            decision = name,
            by = client,
            "a question is answered"
        );
        Ok(given)
    }

    /// Finds who asks.
    async fn asker(&self, id: &str) -> Result<(FoundSession, CallId), Problem> {
        let (session, call) = id.split_once(SEPARATOR).ok_or_else(|| unknown(id))?;
        let session: SessionId = session.parse().map_err(|_| unknown(id))?;
        let found = self.find(&session.to_string()).await;
        let found = found.map_err(|_| unknown(id))?;
        Ok((found, CallId(call.to_owned())))
    }

    /// Tells what became of a question that is not open.
    async fn settled(
        &self,
        found: FoundSession,
        call: &CallId,
        id: &str,
    ) -> Result<Problem, Problem> {
        let log = self.read_log(found.session).await?;
        let Some(logged) = log.decisions.get(call) else {
            return Ok(unknown(id));
        };
        Ok(answered_already(&DecisionView {
            id: id.to_owned(),
            decision: logged
                .decision
                .map_or("answered", |given| given.as_str())
                .to_owned(),
            by: None,
            at: logged.at.to_string(),
        }))
    }
}

/// Hands an answer over. Returns its name.
async fn submit(
    thread: &RootSession,
    row: &ApprovalRow,
    asked: &PendingQuestion,
    answer: GivenAnswer,
) -> Result<&'static str, Problem> {
    match (answer, row.kind) {
        (GivenAnswer::Decision(decision), ApprovalKind::Exec | ApprovalKind::Patch) => {
            let access = user(thread);
            access
                .answer(row.agent, row.call_id.clone(), decision)
                .await?;
            Ok(decision.as_str())
        }
        (GivenAnswer::Answers(answers), ApprovalKind::Question) => {
            // At the root, questions of others carry the path of who asks before them.
            let id = match row.agent {
                AgentId::ROOT => row.call_id.0.clone(),
                _ => format!("{}#{}", row.path, row.call_id),
            };
            check_answers(asked, &answers)?;
            let response = UserInputResponse { answers };
            let submitted = thread.submit(Op::UserInputAnswer { id, response }).await;
            submitted.map_err(|closed| Problem::unavailable(closed.to_string()))?;
            Ok("answered")
        }
        (GivenAnswer::Answers(_), ApprovalKind::Exec | ApprovalKind::Patch) => {
            let detail = "a command or a patch takes a decision, not answers";
            Err(Problem::unprocessable("answers", detail))
        }
        (GivenAnswer::Decision(_), ApprovalKind::Question) => {
            let detail = "a question takes answers, not a decision";
            Err(Problem::unprocessable("decision", detail))
        }
    }
}

/// Refuses answers to what was not asked.
fn check_answers(
    asked: &PendingQuestion,
    answers: &BTreeMap<String, Answer>,
) -> Result<(), Problem> {
    let PendingQuestion::UserInput(request) = asked else {
        return Ok(());
    };
    let is_asked = |id: &String| request.questions.iter().any(|question| question.id == *id);
    match answers.keys().find(|id| !is_asked(id)) {
        None => Ok(()),
        Some(id) => {
            let known = request.questions.iter().map(|question| question.id.clone());
            let detail = format!("{id:?} was not asked");
            Err(Problem::unprocessable(format!("answers.{id}"), detail).allowed(known))
        }
    }
}

fn id_of(session: SessionId, call: &CallId) -> String {
    format!("{session}{SEPARATOR}{call}")
}

fn unknown(id: &str) -> Problem {
    let detail = format!("nothing of this id is asked: {id}; GET /v1/approvals lists what is");
    Problem::not_found("approval_not_found", detail)
}

fn answered_already(given: &DecisionView) -> Problem {
    let by = given.by.as_deref().unwrap_or("somebody else");
    let detail = format!(
        "it was answered by {by} at {}: {}",
        given.at, given.decision
    );
    Problem::conflict("answered", detail).current(json!(given))
}
