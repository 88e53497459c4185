//! Questions about agent trees, whose facts stand in the logs of all their agents.

use std::fmt::Write as _;

use expect_test::expect;
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::result::{Evidence, StopReason, TaskResult};
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::session::SessionSource;
use troupe_protocol::spawn::SpawnSpec;
use troupe_protocol::tree::{
    AgentBirth, AgentLine, Callback, Genealogy, MailEnvelope, MailKind, MailSender, MessageId,
    ParentLink, TaskEnding, TreeFact,
};
use troupe_protocol::usage::TokenUsage;
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{
    AgentLocation, ApprovalKind, LineBatch, ListQuery, MailState, MemoryStore, RecordedStatus,
    SessionLog, SessionStore, SourceKind,
};

use super::agent_lines::{line, record};
use super::home::{Home, compacted, event, meta, said};
use super::index::dump;

const CHILD: AgentId = AgentId(1);

fn message(number: u32) -> MessageId {
    let id: SessionId = format!("{number:032x}").parse().unwrap();
    MessageId(id.0)
}

fn spec() -> Box<SpawnSpec> {
    let text = r#"{
        "tool": "spawn_agent", "agent_type": "tester", "label": "parser tests",
        "summary": "test the parser", "instructions": "inherited", "cwd": "/project",
        "model": "model", "approval_policy": "never", "approvals": "route",
        "sandbox_policy": {"type": "read-only"}, "tools": [], "history": "none", "callback": {}
    }"#;
    serde_json::from_str(text).unwrap()
}

fn result(session: SessionId) -> Box<TaskResult> {
    let usage = TokenUsage {
        total_tokens: 42,
        ..TokenUsage::default()
    };
    Box::new(TaskResult {
        session_id: session,
        task_id: message(1).task(),
        stop: StopReason::Completed,
        last_message: Some("all is well".to_owned()),
        output: None,
        evidence: Evidence {
            usage,
            ..Evidence::default()
        },
    })
}

/// What a parent and a child write: one task, and a callback that starts another.
pub struct Script {
    pub parent: SessionMeta,
    pub child: SessionMeta,
}

impl Script {
    pub fn new() -> Self {
        let parent = meta();
        let child = SessionMeta {
            source: SessionSource::SubSession {
                parent: parent.id,
                depth: 1,
                origin: "spawn".into(),
            },
            ..meta()
        };
        Self { parent, child }
    }

    fn place(&self, agent: AgentId) -> AgentLocation {
        AgentLocation {
            root: self.parent.id,
            agent,
        }
    }

    fn fact(&self, order: u64, fact: TreeFact) -> AgentLine {
        line(self.parent.id, order, fact)
    }

    fn spawn(&self) -> Vec<RolloutRecord> {
        let rooted = TreeFact::Rooted {
            session: self.parent.id,
            above: None,
            taken_paths: Vec::new(),
        };
        let born = TreeFact::Born(Box::new(AgentBirth {
            agent: CHILD,
            parent: AgentId::ROOT,
            session: self.child.id,
            path: "/root/tester".to_owned(),
            genealogy: Genealogy {
                origin: AgentOrigin::Spawn,
                point: None,
            },
            bond: ParentLink::default(),
            first: Some(MailEnvelope {
                id: message(1),
                kind: MailKind::Regular {
                    from: MailSender::Agent(AgentId::ROOT),
                },
            }),
        }));
        let born = AgentLine {
            spec: Some(spec()),
            ..self.fact(1, born)
        };
        vec![record(self.fact(0, rooted)), record(born)]
    }

    fn work(&self) -> Vec<RolloutRecord> {
        let started = TreeFact::Started {
            agent: CHILD,
            task: message(1).task(),
            message: Some(message(1)),
        };
        let ended = TreeFact::Ended {
            agent: CHILD,
            task: message(1).task(),
            end: TaskEnding::Completed,
            callback: Some(Callback {
                id: message(2),
                target: AgentId::ROOT,
            }),
        };
        let ended = AgentLine {
            result: Some(result(self.child.id)),
            ..self.fact(3, ended)
        };
        vec![
            record(self.fact(2, started)),
            said("all is well"),
            record(ended),
        ]
    }

    fn hear(&self) -> RolloutRecord {
        record(self.fact(
            4,
            TreeFact::Started {
                agent: AgentId::ROOT,
                task: message(2).task(),
                message: Some(message(2)),
            },
        ))
    }

    pub async fn play(
        &self,
        store: &dyn SessionStore,
    ) -> (Box<dyn SessionLog>, Box<dyn SessionLog>) {
        let mut parent = store.create(&self.parent).await.unwrap();
        let mut child = store.create(&self.child).await.unwrap();
        parent.append(&self.spawn()).unwrap();
        child.append(&self.work()).unwrap();
        (parent, child)
    }
}

async fn shown(store: &dyn SessionStore, script: &Script) -> String {
    let mut text = String::new();
    for row in store.tree(script.parent.id).await.unwrap() {
        let (path, standing) = (&row.path, row.standing);
        let pending = row.pending_messages;
        writeln!(text, "{path} {standing:?}, {pending} pending").unwrap();
        for mail in store.inbox(script.place(row.agent)).await.unwrap() {
            writeln!(text, "  {:?} {:?}", mail.kind.unwrap(), mail.state).unwrap();
        }
    }
    text
}

#[tokio::test]
async fn a_tree_is_put_together_from_the_logs_of_its_agents() {
    let home = Home::new();
    let script = Script::new();
    let (mut parent, _child) = script.play(&home.store).await;
    let done = shown(&home.store, &script).await;
    expect![[r#"
        /root PendingInit, 1 pending
          Callback { child: AgentId(1), task: SubmissionId("00000000-0000-0000-0000-000000000001") } Waiting
        /root/tester Ended(Completed), 0 pending
          Regular { from: Agent(AgentId(0)) } Taken
    "#]].assert_eq(&done);

    parent.append(&[compacted("all"), script.hear()]).unwrap();
    let heard = shown(&home.store, &script).await;
    expect![[r#"
        /root Running, 0 pending
          Callback { child: AgentId(1), task: SubmissionId("00000000-0000-0000-0000-000000000001") } Taken
        /root/tester Ended(Completed), 0 pending
          Regular { from: Agent(AgentId(0)) } Taken
    "#]].assert_eq(&heard);

    let memory = MemoryStore::new();
    let (mut parent, _child) = script.play(&memory).await;
    assert_eq!(shown(&memory, &script).await, done);
    parent.append(&[script.hear()]).unwrap();
    assert_eq!(shown(&memory, &script).await, heard);
}

#[tokio::test]
async fn an_agent_is_known_by_how_it_was_made() {
    let home = Home::new();
    let script = Script::new();
    let _logs = script.play(&home.store).await;
    let agents = home.store.tree(script.parent.id).await.unwrap();
    let [root, child] = &agents[..] else {
        panic!("{agents:?}");
    };
    assert_eq!(
        (root.agent, root.session),
        (AgentId::ROOT, script.parent.id)
    );
    assert_eq!((root.parent, root.origin, &root.role), (None, None, &None));
    assert_eq!((child.agent, child.session), (CHILD, script.child.id));
    assert_eq!(child.parent, Some(AgentId::ROOT));
    assert_eq!(child.origin, Some(AgentOrigin::Spawn));
    assert_eq!(child.role.as_deref(), Some("tester"));
    assert_eq!(child.label.as_deref(), Some("parser tests"));
    assert_eq!(child.standing, RecordedStatus::Ended(TaskEnding::Completed));
    assert_eq!(child.last_task, Some(message(1).task()));
    assert!(child.born < child.since);
    assert!(!child.is_pruned);
}

#[tokio::test]
async fn a_session_is_found_in_the_tree_that_it_joined_last() {
    let home = Home::new();
    let script = Script::new();
    let (_parent, mut child) = script.play(&home.store).await;
    let tree_of = async |id| home.store.tree_of(id).await.unwrap();
    let (parent, member) = (script.parent.id, script.child.id);
    assert_eq!(tree_of(parent).await, Some(script.place(AgentId::ROOT)));
    assert_eq!(tree_of(member).await, Some(script.place(CHILD)));
    assert_eq!(tree_of(SessionId::random()).await, None);

    // Resumed by itself, it has a tree of its own.
    let rooted = TreeFact::Rooted {
        session: member,
        above: None,
        taken_paths: Vec::new(),
    };
    child.append(&[record(line(member, 9, rooted))]).unwrap();
    let own = AgentLocation {
        root: member,
        agent: AgentId::ROOT,
    };
    assert_eq!(tree_of(member).await, Some(own));
    assert_eq!(home.store.tree(member).await.unwrap().len(), 1);
    assert_eq!(home.store.tree(parent).await.unwrap().len(), 2);

    let trees = home.store.trees(10).await.unwrap();
    let sizes: Vec<_> = trees.iter().map(|tree| (tree.root, tree.agents)).collect();
    assert_eq!(sizes, [(member, 1), (parent, 2)]);
    assert_eq!(home.store.trees(1).await.unwrap(), trees[..1]);
}

#[tokio::test]
async fn a_task_leads_to_its_result() {
    let home = Home::new();
    let script = Script::new();
    let (_parent, mut child) = script.play(&home.store).await;
    let again = TreeFact::Started {
        agent: CHILD,
        task: "direct".into(),
        message: None,
    };
    child.append(&[record(script.fact(5, again))]).unwrap();
    let tasks = home.store.tasks_of(script.child.id).await.unwrap();
    let [done, running] = &tasks[..] else {
        panic!("{tasks:?}");
    };
    assert_eq!(done.at, script.place(CHILD));
    assert_eq!(done.stop, Some(StopReason::Completed));
    assert_eq!(done.last_message.as_deref(), Some("all is well"));
    assert_eq!(done.tokens, 42);
    assert!(done.started < done.ended);
    assert_eq!((running.task.as_str(), running.ended), ("direct", None));

    let from = done.result_at.unwrap();
    let LineBatch { lines, .. } = home.store.read_all(script.child.id, from).await.unwrap();
    let RolloutRecord::Agent(line) = lines[0].record().unwrap().record else {
        panic!("{lines:?}");
    };
    assert_eq!(line.result, Some(result(script.child.id)));
    let none = home.store.tasks_of(script.parent.id).await.unwrap();
    assert_eq!(none, []);
}

/// Any event, as its JSON.
fn told(msg: &str) -> RolloutRecord {
    event(serde_json::from_str(msg).unwrap())
}

fn asked(call_id: &str, label: &str) -> RolloutRecord {
    told(&format!(
        r#"{{"type":"exec_approval_request","call_id":"{call_id}","turn_id":"task",
        "command":["rm","-r","a\nb"],"cwd":"/","parsed_cmd":[],"available_decisions":[]{label}}}"#
    ))
}

#[tokio::test]
async fn what_any_agent_asks_is_open_until_it_is_answered() {
    let home = Home::new();
    let script = Script::new();
    let (mut parent, mut child) = script.play(&home.store).await;
    let root = script.parent.id;
    let patch = told(
        r#"{"type":"apply_patch_approval_request","call_id":"p","turn_id":"task",
        "changes":{"/b":{"type":"add","content":""},"/a":{"type":"add","content":""}}}"#,
    );
    child.append(&[asked("c", "")]).unwrap();
    // The root shows it too, for whoever watches there.
    let id = script.child.id;
    let label = format!(r#","agent":{{"agent_id":1,"path":"/root/tester","session_id":"{id}"}}"#);
    parent.append(&[asked("1:c", &label), patch]).unwrap();

    let open = home.store.open_approvals(root).await.unwrap();
    let rows: Vec<_> = open
        .iter()
        .map(|row| {
            (
                row.path.as_str(),
                row.call_id.as_str(),
                row.kind,
                row.what.as_str(),
            )
        })
        .collect();
    let of_child = ("/root/tester", "c", ApprovalKind::Exec, "rm -r a b");
    let of_root = ("/root", "p", ApprovalKind::Patch, "/a, /b");
    assert_eq!(rows, [of_child, of_root]);
    assert_eq!((open[0].session, open[0].agent), (script.child.id, CHILD));

    let answer = r#"{"type":"approval_resolved","call_id":"p","decision":"approved"}"#;
    parent.append(&[told(answer)]).unwrap();
    let open = home.store.open_approvals(root).await.unwrap();
    assert_eq!(open.len(), 1);
    // After a crash nobody waits for the answer.
    let aborted = r#"{"type":"turn_aborted","turn_id":"task","reason":"crash"}"#;
    child.append(&[told(aborted)]).unwrap();
    assert_eq!(home.store.open_approvals(root).await.unwrap(), []);

    // A session needs no tree to ask.
    let alone = meta();
    let mut log = home.store.create(&alone).await.unwrap();
    log.append(&[asked("a", "")]).unwrap();
    let open = home.store.open_approvals(alone.id).await.unwrap();
    assert_eq!((open.len(), open[0].path.as_str()), (1, "/root"));
}

#[tokio::test]
async fn reindex_makes_the_rows_of_trees_that_projection_made() {
    let home = Home::new();
    for _ in 0..3 {
        let script = Script::new();
        let (mut parent, mut child) = script.play(&home.store).await;
        child.append(&[asked("c", "")]).unwrap();
        child.commit().await.unwrap();
        parent.append(&[script.hear()]).unwrap();
        parent.close().await.unwrap();
    }
    home.store.list(&ListQuery::default()).await.unwrap();
    let projected = dump(home.dir.path());
    // Two sessions, births, letters and receipts, three changes and a question per tree.
    assert_eq!(projected.len(), 3 * (2 + 2 + 2 + 2 + 3 + 1));
    home.again().reindex(&mut |_| ()).await.unwrap();
    assert_eq!(dump(home.dir.path()), projected);
}

#[tokio::test]
async fn a_log_that_is_deleted_takes_its_facts_with_it() {
    let home = Home::new();
    let script = Script::new();
    let (parent, child) = script.play(&home.store).await;
    let path = child.path().unwrap().to_owned();
    drop((parent, child));
    assert_eq!(home.store.tree(script.parent.id).await.unwrap().len(), 2);
    std::fs::remove_file(path).unwrap();
    let agents = home.store.tree(script.parent.id).await.unwrap();
    assert_eq!(agents[1].standing, RecordedStatus::PendingInit);
    let mail = home.store.inbox(script.place(CHILD)).await.unwrap();
    assert_eq!(mail[0].state, MailState::Waiting);
}

#[tokio::test]
async fn children_are_listed_when_they_are_asked_for() {
    let home = Home::new();
    let script = Script::new();
    drop(script.play(&home.store).await);
    let page = home.store.list(&ListQuery::default()).await.unwrap();
    let ids: Vec<SessionId> = page.sessions.iter().map(|session| session.id).collect();
    assert_eq!(ids, [script.parent.id]);
    let query = ListQuery {
        sources: SourceKind::ALL.to_vec(),
        ..ListQuery::default()
    };
    assert_eq!(home.store.list(&query).await.unwrap().sessions.len(), 2);
}
