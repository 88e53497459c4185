//! A player of scripts: one command per line in, one effect per line out.
//!
//! Agents are called by their names, messages `m1`, `m2`… in the order of their making,
//! waits `w0`, `w1`…. Sessions answer `StartTask` at once unless `slow` was said. Facts and
//! notices are shown only after `show facts` or `show notices`.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use expect_test::Expect;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::tree::{
    CallbackMode, Caller, Genealogy, MailSender, MessageId, MessageReach, OnParentInterrupt,
    ParentLink, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, SessionId, StopVerb, SubmissionId, TaskOutcome};
use uuid::Uuid;

use crate::command::{
    AwaitedAgents, MessageForm, SendCommand, SendUrgency, SpawnCommand, StopCommand, StopMode,
    TaskReport, TreeAction, TreeCommand, WaitCondition,
};
use crate::effect::{CommandReply, DeliveryReceipt, StopPlan, TreeEffect, TreeNotice, WaitAnswer};
use crate::status::CurrentStatus;
use crate::{Tree, TreeLimits, WaitId};
use troupe_protocol::agent::WaitingOn;

pub(super) fn check(script: &str, expected: Expect) {
    check_with(TreeLimits::default(), script, expected);
}

pub(super) fn check_with(limits: TreeLimits, script: &str, expected: Expect) {
    expected.assert_eq(&run(limits, script));
}

/// Plays a long script and hands over what was shown.
pub(super) fn play(slots: usize, script: &str, look: impl FnOnce(&str)) {
    let limits = TreeLimits {
        max_threads: slots,
        ..TreeLimits::default()
    };
    look(&run(limits, script));
}

fn run(limits: TreeLimits, script: &str) -> String {
    let mut scene = Scene::new(limits);
    for line in script
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        scene.play(line);
    }
    scene.shown
}

struct Scene {
    limits: TreeLimits,
    tree: Tree,
    records: Vec<TreeRecord>,
    now: i64,
    names: BTreeMap<String, AgentId>,
    tasks: HashMap<AgentId, SubmissionId>,
    /// What the last task that an agent was asked for is to begin with.
    asked: HashMap<AgentId, MessageId>,
    messages: HashMap<MessageId, String>,
    next_message: u128,
    show_facts: bool,
    show_notices: bool,
    slow: bool,
    shown: String,
}

impl Scene {
    fn new(limits: TreeLimits) -> Self {
        let session = SessionId(Uuid::from_u128(0));
        let mut tree = Tree::empty(limits.clone());
        let effects = tree.plant(session, TimeMs(0));
        let mut scene = Self {
            limits,
            tree,
            records: Vec::new(),
            now: 0,
            names: BTreeMap::from([("root".to_owned(), AgentId::ROOT)]),
            tasks: HashMap::new(),
            asked: HashMap::new(),
            messages: HashMap::new(),
            next_message: 0,
            show_facts: false,
            show_notices: false,
            slow: false,
            shown: String::new(),
        };
        scene.perform(effects);
        scene
    }

    fn play(&mut self, line: &str) {
        writeln!(self.shown, "> {line}").unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            ["show", "facts"] => self.show_facts = true,
            ["show", "notices"] => self.show_notices = true,
            ["slow"] => self.slow = true,
            ["pass", seconds] => self.now += seconds.parse::<i64>().unwrap() * 1000,
            ["status"] => self.show_status(),
            ["lines"] => {
                for record in &self.records {
                    writeln!(self.shown, "{}", line_of(record)).unwrap();
                }
            }
            ["counts"] => writeln!(self.shown, "{:?}", self.tree.counts()).unwrap(),
            ["find", from, text] => self.find(from, text),
            ["crash"] => self.crash(),
            // Counts from the next crash on, when the configuration is read again.
            ["depth", limit] => self.limits.max_depth = limit.parse().unwrap(),
            _ => {
                let what = self.command(&words);
                self.apply(what);
            }
        }
    }

    fn command(&mut self, words: &[&str]) -> TreeAction {
        match *words {
            ["spawn", by, name, ref options @ ..] => self.spawn(by, name, options),
            ["send", from, to, ref options @ ..] => self.send(from, to, options),
            ["wait", by, ref on @ ..] => self.wait(by, on, WaitCondition::End),
            ["listen", by, ref on @ ..] => self.wait(by, on, WaitCondition::EndOrMail),
            ["ping", from, to] => {
                let letter = SendCommand {
                    from: MailSender::Watchdog(self.agent(from)),
                    to: self.agent(to),
                    message: self.new_message(),
                    urgency: SendUrgency::Regular,
                    form: MessageForm::Words,
                };
                TreeAction::Send(letter)
            }
            ["timeout", wait] => TreeAction::TimeOut {
                wait: wait_id(wait),
            },
            ["unwait", wait] => TreeAction::StopWaiting {
                wait: wait_id(wait),
            },
            ["resume", by, agent] => TreeAction::Resume {
                by: self.caller(by),
                agent: self.agent(agent),
            },
            ["suspend"] => TreeAction::Suspend,
            ["sweep"] => TreeAction::Sweep,
            ["started", agent, ref task @ ..] => {
                let agent = self.agent(agent);
                let task = match task {
                    [task] => *task,
                    _ => self.messages[&self.asked[&agent]].as_str(),
                };
                let message = self.message_called(task);
                let task = message.map_or_else(|| task.into(), MessageId::task);
                self.tasks.insert(agent, task.clone());
                report(agent, TaskReport::Started { task, message })
            }
            ["end", agent, ref rest @ ..] => self.end(agent, rest),
            ["took", agent, ref messages @ ..] => {
                let found = messages.iter().map(|label| self.message(label)).collect();
                report(self.agent(agent), TaskReport::Took { messages: found })
            }
            ["busy", agent, on] => {
                report(self.agent(agent), TaskReport::Waiting { on: on_what(on) })
            }
            ["unblock", agent] => report(self.agent(agent), TaskReport::Unblocked),
            ["taken", agent, wait] => report(
                self.agent(agent),
                TaskReport::WaitTaken {
                    wait: wait_id(wait),
                },
            ),
            [verb, by, ref targets @ ..] => self.stop(verb, by, targets),
            _ => panic!("not a command: {words:?}"),
        }
    }

    fn wait(&self, by: &str, on: &[&str], until: WaitCondition) -> TreeAction {
        TreeAction::Wait {
            by: self.caller(by),
            on: match on {
                ["any"] => AwaitedAgents::AnyChild,
                names => AwaitedAgents::Agents(names.iter().map(|name| self.agent(name)).collect()),
            },
            until,
        }
    }

    fn spawn(&mut self, by: &str, name: &str, options: &[&str]) -> TreeAction {
        let message = self.new_message();
        let mut session = message.0.as_u128() << 96;
        let mut bond = ParentLink::default();
        let mut first = Some(message);
        for option in options {
            match *option {
                "bound" => bond.on_parent_interrupt = OnParentInterrupt::Cancel,
                "once" => bond.callback = CallbackMode::Once,
                "silent" => bond.callback = CallbackMode::Off,
                "family" => bond.reach = MessageReach::Family,
                "to_parent" => bond.reach = MessageReach::Parent,
                "ready" => first = None,
                "abba" => session = 0xabba << 112,
                _ => panic!("not an option: {option}"),
            }
        }
        TreeAction::Spawn(SpawnCommand {
            by: self.caller(by).into(),
            session: SessionId(Uuid::from_u128(session)),
            name: name.to_owned(),
            genealogy: Genealogy {
                origin: AgentOrigin::Spawn,
                point: None,
            },
            bond,
            message: first,
        })
    }

    fn send(&mut self, from: &str, to: &str, options: &[&str]) -> TreeAction {
        let from = match self.caller(from) {
            Caller::User => MailSender::User,
            Caller::Agent(agent) => MailSender::Agent(agent),
        };
        let (urgency, again) = match options {
            [] | ["picture"] => (SendUrgency::Regular, None),
            ["!"] => (SendUrgency::Interrupt, None),
            ["again", label] => (SendUrgency::Regular, Some(*label)),
            _ => panic!("not options: {options:?}"),
        };
        let message = match again {
            Some(label) => self.message(label),
            None => self.new_message(),
        };
        TreeAction::Send(SendCommand {
            from,
            to: self.agent(to),
            message,
            urgency,
            form: match options {
                ["picture"] => MessageForm::Parts,
                _ => MessageForm::Words,
            },
        })
    }

    fn end(&mut self, agent: &str, rest: &[&str]) -> TreeAction {
        let agent = self.agent(agent);
        let (outcome, task) = match *rest {
            [outcome] => (outcome, self.tasks[&agent].clone()),
            [outcome, task] => (outcome, SubmissionId::from(task)),
            _ => panic!("end AGENT OUTCOME [TASK]"),
        };
        let outcome = match outcome {
            "completed" => TaskOutcome::Completed,
            "errored" => TaskOutcome::Errored,
            "interrupted" => TaskOutcome::Interrupted,
            "replaced" => TaskOutcome::Replaced,
            "budget" => TaskOutcome::BudgetExceeded,
            other => panic!("not an outcome: {other}"),
        };
        report(agent, TaskReport::Ended { task, outcome })
    }

    fn stop(&mut self, verb: &str, by: &str, targets: &[&str]) -> TreeAction {
        let verb = match verb {
            "interrupt" => StopVerb::Interrupt,
            "cancel" => StopVerb::Cancel,
            "close" => StopVerb::Close,
            "release" => StopVerb::Release,
            "prune" => StopVerb::Prune,
            other => panic!("not a command: {other}"),
        };
        let (targets, mode) = match targets {
            [targets @ .., "dry"] => (targets, StopMode::DryRun),
            targets => (targets, StopMode::Act),
        };
        TreeAction::Stop(StopCommand {
            by: self.caller(by),
            verb,
            targets: targets.iter().map(|name| self.agent(name)).collect(),
            mode,
        })
    }

    fn apply(&mut self, what: TreeAction) {
        let at = TimeMs(self.now);
        match self.tree.apply(TreeCommand { at, what }) {
            Ok(effects) => self.perform(effects),
            Err(refusal) => writeln!(self.shown, "refused: {refusal}").unwrap(),
        }
    }

    fn perform(&mut self, effects: Vec<TreeEffect>) {
        let mut starts = Vec::new();
        for effect in &effects {
            if let TreeEffect::Persist(record) = effect {
                self.learn(&record.fact);
                self.records.push(record.clone());
            }
            if let TreeEffect::StartTask {
                agent,
                task,
                message,
                ..
            } = effect
            {
                self.tasks.insert(*agent, task.clone());
                self.asked.insert(*agent, *message);
                starts.push((*agent, task.clone(), Some(*message)));
            }
        }
        for effect in effects {
            if let Some(line) = self.line(effect) {
                writeln!(self.shown, "{line}").unwrap();
            }
        }
        if !self.slow {
            for (agent, task, message) in starts {
                self.apply(report(agent, TaskReport::Started { task, message }));
            }
        }
    }

    fn learn(&mut self, fact: &TreeFact) {
        match fact {
            TreeFact::Born(birth) => {
                let name = birth.path.rsplit('/').next().unwrap();
                self.names.insert(name.to_owned(), birth.agent);
            }
            TreeFact::Ended {
                agent,
                callback: Some(callback),
                ..
            } => {
                let told = self.messages.len() + 1;
                let label = format!("callback-of-{}-{told}", self.name(*agent));
                self.messages.insert(callback.id, label);
            }
            _ => {}
        }
    }

    fn crash(&mut self) {
        let lines: Vec<String> = self.records.iter().map(line_of).collect();
        let read = lines.iter().map(|line| serde_json::from_str(line).unwrap());
        let (tree, misfits) = Tree::restore(self.limits.clone(), read.rev().collect());
        assert_eq!(misfits, []);
        assert_eq!(tree.memory(), self.tree.memory());
        self.tree = tree;
        self.apply(TreeAction::Recover);
    }

    fn line(&self, effect: TreeEffect) -> Option<String> {
        Some(match effect {
            TreeEffect::Persist(record) if self.show_facts => {
                format!(
                    "write {}: {}",
                    self.name(record.log),
                    self.fact(record.fact)
                )
            }
            TreeEffect::Emit(notice) if self.show_notices => self.notice(notice),
            TreeEffect::Persist(_) | TreeEffect::Emit(_) => return None,
            TreeEffect::Load { agent } => format!("load {}", self.name(agent)),
            TreeEffect::Unload { agent } => format!("unload {}", self.name(agent)),
            TreeEffect::StartTask {
                agent,
                message,
                ahead,
                ..
            } => {
                let mut told: Vec<&str> = ahead.iter().map(|it| self.label(it)).collect();
                told.push(self.label(&message));
                format!("start {} with {}", self.name(agent), told.join(" "))
            }
            TreeEffect::AbortTask { agent, why, .. } => {
                format!("abort {}: {why:?}", self.name(agent))
            }
            TreeEffect::Poke { agent } => format!("poke {}", self.name(agent)),
            TreeEffect::Proceed { agent } => format!("proceed {}", self.name(agent)),
            TreeEffect::AnswerWait { wait, answer } => {
                format!("answer w{}: {}", wait.0, self.wait_answer(answer))
            }
            TreeEffect::Shut { agent } => format!("shut {}", self.name(agent)),
            TreeEffect::Answer(answer) => format!("= {}", self.answer(answer)),
        })
    }

    fn fact(&self, fact: TreeFact) -> String {
        let labels = |messages: Vec<MessageId>| {
            let labels: Vec<&str> = messages.iter().map(|message| self.label(message)).collect();
            labels.join(" ")
        };
        match fact {
            TreeFact::Rooted { .. } => "rooted".to_owned(),
            TreeFact::Born(birth) => format!("born {}", birth.path),
            TreeFact::Sent { to, envelope } => {
                format!("sent {} to {}", self.messages[&envelope.id], self.name(to))
            }
            TreeFact::Started { message, .. } => match message {
                Some(message) => format!("started with {}", self.messages[&message]),
                None => "started".to_owned(),
            },
            TreeFact::Took { messages, .. } => format!("took {}", labels(messages)),
            TreeFact::Consumed { messages, .. } => format!("consumed {}", labels(messages)),
            TreeFact::Ended { end, callback, .. } => match callback {
                Some(callback) => format!("ended {end:?}, {}", self.messages[&callback.id]),
                None => format!("ended {end:?}"),
            },
            TreeFact::StopAsked { agent, stop, .. } => {
                format!("asked {}: {stop:?}", self.name(agent))
            }
            TreeFact::Halted { end, .. } => format!("halted {end:?}"),
            TreeFact::Withdrawn { .. } => "withdrawn".to_owned(),
            TreeFact::Shut { .. } => "shut".to_owned(),
            TreeFact::Reopened { .. } => "reopened".to_owned(),
            TreeFact::Released { agent } => format!("released {}", self.name(agent)),
            TreeFact::Pruned { agent } => format!("pruned {}", self.name(agent)),
            TreeFact::Rebound { agent, callback } => {
                format!("rebound {} {callback:?}", self.name(agent))
            }
            TreeFact::Kept(keepsake) => format!("kept {keepsake:?}"),
        }
    }

    fn notice(&self, notice: TreeNotice) -> String {
        match notice {
            TreeNotice::Created { agent } => format!("tell created {}", self.name(agent)),
            TreeNotice::Deleted { agent } => format!("tell deleted {}", self.name(agent)),
            TreeNotice::Status { agent, status, .. } => {
                format!("tell {} is {}", self.name(agent), shown(status))
            }
            TreeNotice::Reopened { agent, status } => {
                format!("tell {} is {} again", self.name(agent), shown(status))
            }
            TreeNotice::ChildrenCancelled { parent, children } => {
                let names: Vec<String> = children.iter().map(|it| self.name(*it)).collect();
                format!("tell {} cancelled {}", self.name(parent), names.join(" "))
            }
            TreeNotice::Inbox { agent, depth } => format!(
                "tell {} has {} + {} mail",
                self.name(agent),
                depth.messages,
                depth.interrupts
            ),
        }
    }

    fn answer(&self, answer: CommandReply) -> String {
        match answer {
            CommandReply::Spawned {
                agent,
                path,
                status,
            } => format!("{agent} {path} {}", shown(status)),
            CommandReply::Receipt(receipt) => match receipt {
                DeliveryReceipt::Delivered => "delivered".to_owned(),
                DeliveryReceipt::Queued { position } => format!("queued {position}"),
                DeliveryReceipt::Held { why } => format!("held {why:?}"),
                DeliveryReceipt::Dead { why } => format!("dead {why:?}"),
            },
            CommandReply::Waiting { wait } => format!("w{}", wait.0),
            CommandReply::Plan(plan) => self.plan(plan),
            CommandReply::Resumed { status, .. } => shown(status),
        }
    }

    fn plan(&self, plan: StopPlan) -> String {
        let mut parts: Vec<String> = Vec::new();
        for touch in plan.touched {
            parts.push(format!("{:?} {}", touch.action, self.name(touch.agent)));
        }
        for skip in plan.skipped {
            parts.push(format!("skip {} ({:?})", self.name(skip.agent), skip.why));
        }
        parts.join(", ")
    }

    fn wait_answer(&self, answer: WaitAnswer) -> String {
        let mut text = format!("{:?}", answer.end);
        for told in answer.finals {
            let (name, status) = (self.name(told.agent), shown(told.status));
            write!(text, " {name} {status}").unwrap();
            for message in told.delivers {
                write!(text, " ({})", self.label(&message)).unwrap();
            }
        }
        for message in answer.mail {
            write!(text, " {}", self.label(&message)).unwrap();
        }
        text
    }

    fn show_status(&mut self) {
        for agent in self.tree.memory().iter() {
            let status = shown(self.tree.status(agent.id));
            writeln!(self.shown, "{} {status}", agent.path).unwrap();
        }
    }

    fn find(&mut self, from: &str, text: &str) {
        match self.tree.resolve(self.agent(from), text) {
            Ok(agent) => writeln!(self.shown, "{}", self.tree.get(agent).unwrap().path).unwrap(),
            Err(error) => writeln!(self.shown, "{error}").unwrap(),
        }
    }

    fn new_message(&mut self) -> MessageId {
        self.next_message += 1;
        let id = MessageId(Uuid::from_u128(self.next_message));
        self.messages.insert(id, format!("m{}", self.next_message));
        id
    }

    /// The end of a child that never calls back has a name, but no message of that name.
    fn label(&self, message: &MessageId) -> &str {
        self.messages.get(message).map_or("untold", String::as_str)
    }

    fn message(&self, label: &str) -> MessageId {
        self.message_called(label).expect(label)
    }

    fn message_called(&self, label: &str) -> Option<MessageId> {
        let mut all = self.messages.iter();
        all.find(|(_, known)| *known == label).map(|(id, _)| *id)
    }

    fn caller(&self, name: &str) -> Caller {
        match name {
            "user" => Caller::User,
            name => Caller::Agent(self.agent(name)),
        }
    }

    fn agent(&self, name: &str) -> AgentId {
        match self.names.get(name) {
            Some(agent) => *agent,
            None => AgentId(name.parse().expect(name)),
        }
    }

    fn name(&self, agent: AgentId) -> String {
        let mut all = self.names.iter();
        all.find(|(_, known)| **known == agent)
            .map_or_else(|| agent.to_string(), |(name, _)| name.clone())
    }
}

fn line_of(record: &TreeRecord) -> String {
    serde_json::to_string(record).unwrap()
}

fn report(agent: AgentId, report: TaskReport) -> TreeAction {
    TreeAction::Report { agent, report }
}

fn wait_id(text: &str) -> WaitId {
    WaitId(text.trim_start_matches('w').parse().unwrap())
}

fn on_what(text: &str) -> WaitingOn {
    serde_json::from_value(text.into()).unwrap()
}

fn shown(status: CurrentStatus) -> String {
    match status {
        CurrentStatus::Queued { position } => format!("queued {position}"),
        CurrentStatus::Waiting { on } => format!("waiting on {on:?}").to_lowercase(),
        CurrentStatus::Interrupted { why } => format!("interrupted ({why:?})").to_lowercase(),
        other => other.row().agents.to_owned(),
    }
}
