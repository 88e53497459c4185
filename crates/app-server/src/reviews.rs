//! `review/start`: a reviewer looks at a change. For clients it is a turn, of the thread itself
//! or of a new one.

use troupe_protocol::op::{ConfigureSession, ReviewRequest, ReviewTarget};
use troupe_protocol::policy::EffortChoice;
use troupe_protocol::session::{SessionSource, TurnOverrides};
use troupe_transport::rpc::RpcError;

use super::call::{Handling, MethodCall};
use super::connection::AppConnection;
use super::subscription::ThreadControl;
use super::threads::{self, open_thread};
use super::turns;
use super::wire::review::{ReviewDelivery, ReviewStartParams, ReviewTarget as Target};

/// Characters of a commit's name that people read.
const SHORT_SHA_CHARS: usize = 7;

pub(super) fn start(call: MethodCall) -> Handling {
    call.pass(|client, params: ReviewStartParams, reply| async move {
        let request = match request(params.target) {
            Ok(request) => request,
            Err(error) => return reply.refuse(error).await,
        };
        let place = match params.delivery {
            None | Some(ReviewDelivery::Inline) => Ok(params.thread_id),
            Some(ReviewDelivery::Detached) => detached(&client, &params.thread_id).await,
        };
        match place {
            Ok(thread) => {
                let control = |reply| ThreadControl::Review { request, reply };
                turns::send_to_subscription(&client, &thread, reply, control).await;
            }
            Err(error) => reply.refuse(error).await,
        }
    })
}

/// Opens a thread that has the settings of another, and none of its history: a reviewer is
/// told what to look at, not what was said before.
async fn detached(client: &AppConnection, beside: &str) -> Result<String, RpcError> {
    let thread = open_thread(client, beside).await?;
    let context = thread.context().await.map_err(threads::refused)?;
    let request = ConfigureSession {
        source: Some(SessionSource::AppServer),
        ephemeral: thread.agents().is_ephemeral(),
        model_provider: Some(thread.configured().model_provider_id.clone()),
        overrides: TurnOverrides {
            cwd: Some(context.cwd),
            approval_policy: Some(context.approval_policy),
            sandbox_policy: Some(context.sandbox_policy),
            model: Some(context.model),
            effort: context.effort.map(EffortChoice::Level),
            summary: Some(context.summary),
            collaboration_mode: None,
            plan_writes: None,
            personality: context.personality,
            developer_instructions: None,
        },
        ..ConfigureSession::default()
    };
    let opened = client.app().session_pool().start(request).await;
    let opened = opened.map_err(threads::not_open)?;
    let id = opened.id().to_string();
    threads::introduce(client, opened).await;
    Ok(id)
}

fn request(target: Target) -> Result<ReviewRequest, RpcError> {
    let (target, hint) = match target {
        Target::UncommittedChanges => (
            ReviewTarget::UncommittedChanges,
            "current changes".to_owned(),
        ),
        Target::BaseBranch { branch } => {
            let branch = said("target.branch", &branch)?;
            let hint = format!("changes against '{branch}'");
            (ReviewTarget::BaseBranch { branch }, hint)
        }
        Target::Commit { sha, title } => {
            let sha = said("target.sha", &sha)?;
            let short: String = sha.chars().take(SHORT_SHA_CHARS).collect();
            let title = title.filter(|title| !title.trim().is_empty());
            let hint = match &title {
                Some(title) => format!("commit {short}: {title}"),
                None => format!("commit {short}"),
            };
            (ReviewTarget::Commit { sha, title }, hint)
        }
        Target::Custom { instructions } => {
            let instructions = said("target.instructions", &instructions)?;
            let hint = instructions.clone();
            (ReviewTarget::Custom { instructions }, hint)
        }
    };
    Ok(ReviewRequest {
        target,
        user_facing_hint: Some(hint),
    })
}

fn said(field: &str, text: &str) -> Result<String, RpcError> {
    match text.trim() {
        "" => {
            let message = format!("invalid params: {field}: must not be empty");
            Err(RpcError::invalid_params(message))
        }
        text => Ok(text.to_owned()),
    }
}
