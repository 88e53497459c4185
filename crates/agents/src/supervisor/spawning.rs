//! A child is made: its rights are settled, its birth is written, its session opens.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use tokio::sync::oneshot;
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::spawn::{AnsweredCall, CallbackConfig, SpawnSpec};
use troupe_protocol::tree::{
    AgentMessage, AgentMetadata, CallbackMode, Caller, Genealogy, MessageId, MessageReach,
    ParentLink, SpawnPoint,
};
use troupe_protocol::{AgentId, SessionId, SubmissionId};
use troupe_tree::TreeEffect;
use troupe_tree::command::{SpawnCaller, SpawnCommand, TreeAction};
use troupe_tree::effect::CommandReply;

use super::Supervisor;
use super::fact_lines::FactContents;
use super::member::TreeMember;
use super::requests::{answer, normalised};
use crate::rights::{self, ParentRights, SettledSpawn};
use crate::roles::{AgentRole, Persona, RoleDialect, RoleMessages};
use crate::tree_access::{
    ModelChoice, ModelListState, SpawnCatalogue, SpawnRequest, SpawnedAgent, TreeError,
};

impl Supervisor {
    pub(super) fn spawn(
        &mut self,
        by: SpawnCaller,
        request: SpawnRequest,
        role: &Arc<AgentRole>,
        reply: oneshot::Sender<Result<SpawnedAgent, TreeError>>,
    ) {
        match self.try_spawn(by, request, role) {
            Err(trouble) => answer(reply, Err(trouble)),
            Ok(newborn) => {
                let AcceptedSpawn {
                    agent,
                    settled,
                    effects,
                    contents,
                    note,
                } = newborn;
                self.perform_and_answer(effects, contents, move |this, told| {
                    if let CommandReply::Spawned { .. } = told {
                        let spawned = SpawnedAgent {
                            view: this.view(agent),
                            requested: settled.requested,
                            effective: settled.effective,
                            why: settled.why,
                        };
                        answer(reply, Ok(spawned));
                    }
                });
                self.note_birth(by.caller(), agent, note);
            }
        }
    }

    pub(super) fn try_spawn(
        &mut self,
        by: SpawnCaller,
        request: SpawnRequest,
        role: &Arc<AgentRole>,
    ) -> Result<AcceptedSpawn, TreeError> {
        let parent = by.parent();
        let persona = match &request.agent_name {
            Some(name) => Some(role.persona(name)?),
            None => None,
        };
        let settled = self.settle_rights(&self.rights_of(parent), role, persona, &request)?;
        let note = match &request.thread_note {
            Some(note) => normalised(note),
            None => normalised(&default_note(&settled.spec, &role.description)),
        };
        let birth = self.birth(by, &request, role, &settled.spec);
        let spec = Arc::new(SpawnSpec {
            forking_call: self.forking_call(&request, birth.session, parent),
            ..settled.spec.clone()
        });
        let effects = self.command(TreeAction::Spawn(birth))?;
        let agent = spawned_agent(&effects).ok_or(TreeError::Ended)?;
        self.shared.ceilings.born(agent, Some(parent), &spec);
        let mut member = TreeMember::new(Arc::clone(&spec));
        member.note.clone_from(&note);
        self.members.insert(agent, member);
        let contents = FactContents {
            spec: Some(spec),
            message: (!request.items.is_empty()).then_some(AgentMessage {
                items: request.items,
                metadata: None,
                client_id: None,
            }),
            ..FactContents::default()
        };
        Ok(AcceptedSpawn {
            agent,
            settled,
            effects,
            contents,
            note,
        })
    }

    /// Settles what a child gets. A model that nobody knows is looked for in the list of
    /// whoever serves models, which may take a moment; without such a list it is good if
    /// somebody names it.
    fn settle_rights(
        &self,
        parent: &ParentRights,
        role: &AgentRole,
        persona: Option<&Persona>,
        request: &SpawnRequest,
    ) -> Result<SettledSpawn, TreeError> {
        let catalogue = &*self.shared.options.catalogue;
        let settle = || rights::settle(parent, role, persona, request, catalogue);
        match settle() {
            Err(TreeError::UnknownModel { tool, model, known }) => match catalogue.listing() {
                ModelListState::Whole => settle(),
                ModelListState::Loading => Err(TreeError::ModelsLoading { tool }),
                ModelListState::Unavailable { why } => {
                    let named = self.named_models(&request.turn.cwd, known);
                    if !named.models.iter().any(|choice| choice.name == model) {
                        let known = named.models.into_iter().map(|choice| choice.name);
                        return Err(TreeError::UnlistedModel {
                            tool,
                            model,
                            known: known.collect(),
                            why,
                        });
                    }
                    rights::settle(parent, role, persona, request, &named)
                }
            },
            settled => settled,
        }
    }

    /// Returns the models that are known or that configuration, roles or catalogue name.
    fn named_models(&self, cwd: &Path, known: Vec<String>) -> NamedModels<'_> {
        let offers = &*self.shared.options.catalogue;
        let mut models = offers.models().unwrap_or_default();
        models.extend(offers.named());
        let mut names = known;
        let settings = self.shared.settings().tree();
        names.extend(settings.types.models().map(str::to_owned));
        for role in self.shared.options.roles.catalogue(cwd).roles {
            // Another program's names of models are not this provider's.
            if role.dialect == RoleDialect::ClaudeCode {
                continue;
            }
            let personas = role.personas.iter().map(|persona| &persona.choice);
            let choices = personas.chain([&role.choice]);
            names.extend(choices.filter_map(|choice| choice.model.clone()));
        }
        models.extend(names.into_iter().map(|name| ModelChoice {
            name,
            efforts: Vec::new(),
        }));
        let mut seen = HashSet::new();
        models.retain(|choice| seen.insert(choice.name.clone()));
        NamedModels { offers, models }
    }

    fn birth(
        &self,
        by: SpawnCaller,
        request: &SpawnRequest,
        role: &AgentRole,
        spec: &SpawnSpec,
    ) -> SpawnCommand {
        let persona = spec.agent_name.as_deref();
        let name = request.name.as_deref().or(request.label.as_deref());
        let name = name.or(persona).unwrap_or(&spec.agent_type);
        let callback = if spec.callback.enabled {
            request.callback.mode
        } else {
            CallbackMode::Off
        };
        SpawnCommand {
            by,
            session: self.shared.ids.session(),
            name: name.to_owned(),
            genealogy: Genealogy {
                origin: request.origin,
                // A parent that never had a task has no place to point at.
                point: (request.turn.task != SubmissionId::default()).then(|| SpawnPoint {
                    task: request.turn.task.clone(),
                    message_index: request.turn.message_index,
                }),
            },
            bond: ParentLink {
                callback,
                on_parent_interrupt: request.on_parent_interrupt,
                reach: match role.messages {
                    Some(RoleMessages::Subtree) => MessageReach::Subtree,
                    Some(RoleMessages::Parent) => MessageReach::Parent,
                    Some(RoleMessages::Family) | None => MessageReach::Family,
                },
            },
            message: (!request.items.is_empty()).then(|| MessageId(self.shared.ids.session().0)),
        }
    }

    /// Returns the call that made a forked child, with the answer that the child reads.
    fn forking_call(
        &self,
        request: &SpawnRequest,
        child: SessionId,
        parent: AgentId,
    ) -> Option<AnsweredCall> {
        let parent = self.tree.get(parent)?.session;
        let answer = request.fork_answer.as_ref()?;
        Some(answer.for_child(child, parent))
    }

    /// What the tree lets a parent hand down.
    fn rights_of(&self, parent: AgentId) -> ParentRights {
        let spec = self.members.get(parent).map(|member| &member.spec);
        ParentRights {
            spec: spec.cloned(),
            tools: spec.map_or_else(Vec::new, |spec| spec.tools.clone()),
            callback: self.inherited_callback(parent),
        }
    }

    /// Returns how an agent is told of its children: as its caller said, or as its maker is.
    fn inherited_callback(&self, agent: AgentId) -> CallbackConfig {
        match self.members.callback(&self.tree, agent) {
            Some(own) => own.clone(),
            None => self.shared.callback(),
        }
    }

    /// Returns how `target` is told of `child`: in the target's words, about what the child
    /// was made with.
    pub(super) fn callback_config(&self, target: AgentId, child: AgentId) -> CallbackConfig {
        let template = self.inherited_callback(target).template;
        CallbackConfig {
            template,
            ..self.inherited_callback(child)
        }
    }

    /// Keeps the first note in the tree; the session gets it when it opens. One that cannot
    /// be kept does not undo a child.
    pub(super) fn note_birth(&mut self, caller: Caller, agent: AgentId, note: Option<String>) {
        if note.is_none() {
            return;
        }
        let keepsake = AgentMetadata::Note { agent, note };
        let by = caller;
        match self.command(TreeAction::Keep { by, keepsake }) {
            Ok(effects) => self.perform(effects, FactContents::default()),
            Err(trouble) => {
                self.warn(
                    caller.log_owner(),
                    format!("the note was not set: {trouble}"),
                );
            }
        }
    }
}

/// The models that are named somewhere, where no provider lists any.
#[derive(Debug)]
struct NamedModels<'a> {
    offers: &'a dyn SpawnCatalogue,
    models: Vec<ModelChoice>,
}

impl SpawnCatalogue for NamedModels<'_> {
    fn models(&self) -> Option<Vec<ModelChoice>> {
        Some(self.models.clone())
    }

    fn backends(&self) -> Vec<String> {
        self.offers.backends()
    }

    fn backend_sandbox(&self, backend: &str, child: &SandboxPolicy) -> Option<SandboxPolicy> {
        self.offers.backend_sandbox(backend, child)
    }
}

/// A child that the tree has agreed to, and what is to be done for it.
pub(super) struct AcceptedSpawn {
    pub agent: AgentId,
    pub settled: SettledSpawn,
    pub effects: Vec<TreeEffect>,
    pub contents: FactContents,
    pub note: Option<String>,
}

fn spawned_agent(effects: &[TreeEffect]) -> Option<AgentId> {
    effects.iter().find_map(|effect| match effect {
        TreeEffect::Answer(CommandReply::Spawned { agent, .. }) => Some(*agent),
        _ => None,
    })
}

fn default_note(spec: &SpawnSpec, description: &str) -> String {
    let mut note = format!("agent_type={}", spec.agent_type);
    if let Some(name) = &spec.agent_name {
        note.push_str("; agent_name=");
        note.push_str(name);
    }
    if !description.is_empty() {
        note.push_str("; agent_description=");
        note.push_str(description);
    }
    note
}
