//! A review is a child with the role of a reviewer, whose answer has a shape.

use std::sync::{Arc, LazyLock};

use schemars::generate::SchemaSettings;
use serde_json::Value;
use tokio::sync::oneshot;
use troupe_protocol::event::{EventMsg, ReviewOutput};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{ReviewRequest, ReviewTarget};
use troupe_protocol::result::{StructuredOutput, TaskResult};
use troupe_protocol::spawn::ApprovalRoute;
use troupe_protocol::tree::{Caller, OnParentInterrupt, TaskEnding};
use troupe_protocol::{AgentId, StopVerb, SubmissionId, discard};
use troupe_tree::command::StopMode;

use super::Supervisor;
use super::handle::TreeHandle;
use super::input::{SessionReport, SupervisorInput};
use super::spawning::AcceptedSpawn;
use crate::roles::AgentRole;
use crate::tree_access::{
    AgentScope, CallbackChoice, SpawnContext, SpawnRequest, TreeError, TreeStopRequest,
};

const TOOL: &str = "review";
const ROLE: &str = "reviewer";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    settings
        .into_generator()
        .into_root_schema_for::<ReviewOutput>()
        .to_value()
});

impl TreeHandle {
    pub(crate) async fn review(
        &self,
        agent: AgentId,
        submission: SubmissionId,
        request: ReviewRequest,
    ) -> Result<(), String> {
        let context = self.root_context().ok_or("the session is not open")?;
        let role = self
            .options()
            .roles
            .resolve(&context.cwd, ROLE)
            .map_err(|error| error.to_string())?;
        if !self.plant() {
            return Err("the session is not open".to_owned());
        }
        let (reply, answer) = oneshot::channel();
        self.post(SupervisorInput::Report(SessionReport::Reviewing {
            agent,
            submission,
            request,
            role,
            reply,
        }));
        answer
            .await
            .unwrap_or_else(|_| Err("the tree has ended".to_owned()))
    }

    /// Stops the reviewers that are at work. What each was asked to do ends without findings.
    pub async fn cancel_reviews(&self) -> Result<(), TreeError> {
        let desk = self.user();
        let agents = desk.list(AgentScope::All, false).await?;
        let reviews = agents.iter().filter(|view| {
            let tool = view.spec.as_ref().map(|spec| spec.tool.as_str());
            tool == Some(TOOL) && !view.status.is_final()
        });
        desk.stop(TreeStopRequest {
            verb: StopVerb::Cancel,
            targets: reviews.map(|view| view.path.clone()).collect(),
            mode: StopMode::Act,
            note: None,
        })
        .await?;
        Ok(())
    }
}

impl Supervisor {
    pub(super) fn review(
        &mut self,
        agent: AgentId,
        submission: SubmissionId,
        request: ReviewRequest,
        role: Arc<AgentRole>,
        reply: oneshot::Sender<Result<(), String>>,
    ) {
        let wish = self.reviewer(submission.clone(), &request.target);
        let born = self.try_spawn(Caller::User.into(), wish, &role);
        let told = match born {
            Err(trouble) => Err(trouble.to_string()),
            Ok(AcceptedSpawn {
                agent: child,
                effects,
                contents,
                note,
                ..
            }) => {
                self.tell_for_submission(
                    Some(submission),
                    agent,
                    vec![EventMsg::EnteredReviewMode {
                        target: request.target,
                        user_facing_hint: request.user_facing_hint,
                    }],
                );
                self.perform(effects, contents);
                self.note_birth(Caller::User, child, note);
                Ok(())
            }
        };
        // A session that is gone is not reviewed.
        discard!(reply.send(told), "nobody waits for the answer");
    }

    fn reviewer(&self, submission: SubmissionId, target: &ReviewTarget) -> SpawnRequest {
        let context = &self.root.context;
        let turn = SpawnContext::outside_task(context).at(submission, 0);
        SpawnRequest {
            agent_type: Some(ROLE.to_owned()),
            name: Some(TOOL.to_owned()),
            output_schema: Some(SCHEMA.clone()),
            approvals: Some(ApprovalRoute::Never),
            on_parent_interrupt: OnParentInterrupt::Cancel,
            callback: CallbackChoice::each_end(false),
            ..SpawnRequest::new(TOOL, vec![UserInput::text(task(target))], turn)
        }
    }

    /// Returns the event that ends a review, if this was one. However it ends, it does so
    /// once: a task that was replaced goes on as another, and what a reviewer does later is
    /// no part of its review.
    pub(super) fn review_end(
        &self,
        agent: AgentId,
        end: TaskEnding,
        result: &TaskResult,
    ) -> Option<(AgentId, EventMsg)> {
        let member = self.members.get(agent)?;
        if member.spec.tool != TOOL || member.has_answered || end == TaskEnding::Replaced {
            return None;
        }
        let value = match &result.output {
            Some(StructuredOutput::Valid { value }) => Some(value.clone()),
            Some(StructuredOutput::Invalid { .. }) | None => None,
        };
        // It fits the schema, which is made of the same type.
        let review_output = value.and_then(|value| serde_json::from_value(value).ok());
        Some((agent, EventMsg::ExitedReviewMode { review_output }))
    }

    /// Tells whoever asked for the review how it ended.
    pub(super) fn tell_reviewed(&mut self, agent: AgentId, event: EventMsg) {
        let node = self.tree.get(agent);
        let parent = node.and_then(|node| node.parent);
        let point = node.and_then(|node| node.genealogy.as_ref()?.point.as_ref());
        let submission = point.map(|point| point.task.clone());
        self.tell_for_submission(submission, parent.unwrap_or(AgentId::ROOT), vec![event]);
    }
}

fn task(target: &ReviewTarget) -> String {
    let what = match target {
        ReviewTarget::UncommittedChanges => "Review the changes in this working tree that are not \
            committed: staged, unstaged and untracked files. `git status --porcelain` and \
            `git diff HEAD` show them; read untracked files whole."
            .to_owned(),
        ReviewTarget::BaseBranch { branch } => format!(
            "Review what the current branch adds to `{branch}`. Find the merge base with `git \
             merge-base HEAD {branch}` and look at the diff from there to HEAD."
        ),
        ReviewTarget::Commit { sha, title } => {
            let title = title.as_deref().map(|title| format!(" (\"{title}\")"));
            format!(
                "Review the commit {sha}{}. `git show {sha}` shows it.",
                title.unwrap_or_default()
            )
        }
        ReviewTarget::Custom { instructions } => instructions.clone(),
    };
    format!(
        "{what}\n\nAnswer with the JSON object that was asked for and nothing else. Each finding \
         names one defect that the author would want to know of, with the file and the lines it is \
         in; an empty list is a good answer. `priority` is 0 (must be fixed now) to 3 (nice to \
         have)."
    )
}
