//! The skills of a conversation: which there are, which the model was told of, which a message
//! chose.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::task::JoinSet;
use troupe_protocol::discard;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::event::{ErrorEvent, EventMsg, SkillError, SkillsEntry};
use troupe_protocol::input::UserInput;
use troupe_protocol::item::{SkillItem, TurnItem};
use troupe_protocol::{ResponseItem, SubmissionId};
use troupe_store::StoreError;

use super::Conversation;
use super::preparing::check_cwd;
use crate::emit::Emitter;
use crate::limits::{SKILL_CWDS_MAX, SKILL_LISTINGS_MAX};
use crate::session::SessionInput;
use crate::skills::{self, CatalogueFreshness, ChosenSkill, Skill, SkillCatalogue, SkillLibrary};
use crate::user_input::{MessageAuthor, MessageContext, needs_skills};

impl Conversation {
    /// Returns where a message is read that begins a task in this directory.
    pub(super) async fn place(&self, cwd: PathBuf, author: MessageAuthor) -> MessageContext {
        let instructions = &self.settings.instructions;
        let markers = &instructions.project.root_markers;
        let skills = &instructions.skills;
        let skills = skills
            .catalogue(&cwd, markers, CatalogueFreshness::Marks)
            .await;
        MessageContext {
            cwd,
            skills,
            author,
            pictures: Arc::clone(&self.pictures),
        }
    }

    /// Returns where a message is read that joins the task.
    pub(super) async fn place_for(
        &self,
        cwd: &Path,
        items: &[UserInput],
        author: MessageAuthor,
    ) -> MessageContext {
        let cwd = cwd.to_owned();
        if needs_skills(items, author) {
            return self.place(cwd, author).await;
        }
        MessageContext {
            cwd,
            skills: Arc::default(),
            author,
            pictures: Arc::clone(&self.pictures),
        }
    }

    /// Returns the list of skills if what was told holds another, or none. What is wrong with
    /// some is told when it is news.
    pub(super) fn missing_skills(
        &self,
        model: &str,
        told: &[&str],
        warnings: &mut Vec<String>,
    ) -> Option<ResponseItem> {
        let last = told.iter().rev().find(|text| skills::is_listing(text));
        let window = self.known_window(model);
        let listing = skills::listing(&self.skills.catalogue, window, last.copied());
        if self.skills.is_news {
            warnings.extend(listing.warnings);
        }
        listing.text.map(ResponseItem::user_text)
    }

    /// Returns how people see that a message chose a skill.
    pub(super) fn skill_item(&self, chosen: &ChosenSkill) -> TurnItem {
        TurnItem::Skill(SkillItem {
            id: self.services.ids.item("skill"),
            name: chosen.skill.name.clone(),
            path: chosen.skill.path.clone(),
            truncated: chosen.truncated,
        })
    }

    /// Has the skills of some directories looked for, beside whatever runs.
    pub(crate) fn list_skills(
        &mut self,
        out: &mut Emitter,
        id: SubmissionId,
        cwds: Vec<PathBuf>,
        freshness: CatalogueFreshness,
    ) -> Result<(), StoreError> {
        if cwds.len() > SKILL_CWDS_MAX {
            let message = format!(
                "skills of {} directories were asked for; at most {SKILL_CWDS_MAX} are looked \
                 through at once",
                cwds.len()
            );
            return out.error(&id, refusal(message));
        }
        if self.skills.awaited >= SKILL_LISTINGS_MAX {
            let message = "too many lists of skills are being made; wait for one of them";
            return out.error(&id, refusal(message.to_owned()));
        }
        let skills = Arc::clone(&self.settings.instructions.skills);
        let markers = self.settings.instructions.project.root_markers.clone();
        let mailbox = self.services.mailbox.clone();
        self.skills.awaited += 1;
        self.skills.looks.spawn(async move {
            let mut entries = Vec::with_capacity(cwds.len());
            for cwd in cwds {
                entries.push(entry(&skills, cwd, &markers, freshness).await);
            }
            // A session that is gone does not need to know.
            discard!(
                mailbox
                    .post(SessionInput::SkillsListed { id, entries })
                    .await,
                "the actor has ended"
            );
        });
        Ok(())
    }

    /// Tells which skills there are.
    pub(crate) fn skills_listed(
        &mut self,
        out: &mut Emitter,
        id: &SubmissionId,
        entries: Vec<SkillsEntry>,
    ) -> Result<(), StoreError> {
        // An answer may be to a question of the conversation before this one.
        self.skills.awaited = self.skills.awaited.saturating_sub(1);
        while self.skills.looks.try_join_next().is_some() {}
        out.emit(id, vec![EventMsg::ListSkillsResponse { skills: entries }])
    }

    pub(super) fn is_listing_skills(&self) -> bool {
        self.skills.awaited > 0
    }
}

/// The skills that a task can use.
#[derive(Debug, Default)]
pub(super) struct TaskSkills {
    catalogue: Arc<SkillCatalogue>,
    /// They are not those of the task before.
    is_news: bool,
    /// Looks for those of other directories. They end with the conversation.
    looks: JoinSet<()>,
    /// How many of them have not been answered.
    awaited: usize,
}

impl TaskSkills {
    /// Takes note of the skills that the next task can use.
    pub(super) fn note(&mut self, skills: Arc<SkillCatalogue>) {
        self.is_news = !Arc::ptr_eq(&skills, &self.catalogue);
        self.catalogue = skills;
    }
}

fn refusal(message: String) -> ErrorEvent {
    ErrorEvent {
        message,
        fatal: false,
        error_info: Some(ErrorInfo::InvalidSubmission),
    }
}

async fn entry(
    skills: &Arc<SkillLibrary>,
    cwd: PathBuf,
    markers: &[String],
    freshness: CatalogueFreshness,
) -> SkillsEntry {
    if let Err(refusal) = check_cwd(&cwd) {
        let (path, message) = (cwd.clone(), refusal.message);
        return SkillsEntry {
            cwd,
            skills: Vec::new(),
            errors: vec![SkillError { path, message }],
        };
    }
    let catalogue = skills.catalogue(&cwd, markers, freshness).await;
    SkillsEntry {
        cwd,
        skills: catalogue.skills.iter().map(Skill::summary).collect(),
        errors: catalogue.errors.clone(),
    }
}
