mod any_order;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::{Expect, expect};
use troupe_protocol::agent::AgentOrigin;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::tree::{
    AgentBirth, AgentLine, Callback, Caller, Genealogy, Interruption, MailEnvelope, MailKind,
    MailSender, MessageId, ParentLink, TaskEnding, TimeMs, TreeFact, TreeRecord,
};
use troupe_protocol::{AgentId, SessionId};

use crate::clock::UnixMillis;
use crate::index::{IndexDatabase, LogLocation};
use crate::line;
use crate::tree::AgentLocation;

const ROOT: AgentId = AgentId::ROOT;
const A: AgentId = AgentId(1);
const B: AgentId = AgentId(2);

/// The session of an agent; the same in each run.
fn session(agent: AgentId) -> SessionId {
    format!("{:032x}", 0xa000 + agent.0).parse().unwrap()
}

fn message(number: u32) -> MessageId {
    let id: SessionId = format!("{number:032x}").parse().unwrap();
    MessageId(id.0)
}

fn log_at(agent: AgentId) -> LogLocation {
    LogLocation {
        id: session(agent),
        path: None,
        archived: false,
    }
}

fn root() -> TreeFact {
    TreeFact::Rooted {
        session: session(ROOT),
        above: None,
        taken_paths: Vec::new(),
    }
}

fn born(agent: AgentId, parent: AgentId, first: u32) -> TreeFact {
    TreeFact::Born(Box::new(AgentBirth {
        agent,
        parent,
        session: session(agent),
        path: format!("/root/{agent}"),
        genealogy: Genealogy {
            origin: AgentOrigin::Spawn,
            point: None,
        },
        bond: ParentLink::default(),
        first: Some(regular(parent, first)),
    }))
}

fn regular(from: AgentId, number: u32) -> MailEnvelope {
    MailEnvelope {
        id: message(number),
        kind: MailKind::Regular {
            from: MailSender::Agent(from),
        },
    }
}

fn sent(from: AgentId, to: AgentId, number: u32) -> TreeFact {
    let envelope = regular(from, number);
    TreeFact::Sent { to, envelope }
}

fn interrupt(to: AgentId, number: u32) -> TreeFact {
    let kind = MailKind::Interrupt {
        from: MailSender::User,
    };
    let id = message(number);
    let envelope = MailEnvelope { id, kind };
    TreeFact::Sent { to, envelope }
}

/// The task that a message starts has the message's number.
fn started(agent: AgentId, number: u32) -> TreeFact {
    TreeFact::Started {
        agent,
        task: message(number).task(),
        message: Some(message(number)),
    }
}

fn ended(agent: AgentId, number: u32, end: TaskEnding) -> TreeFact {
    TreeFact::Ended {
        agent,
        task: message(number).task(),
        end,
        callback: None,
    }
}

fn called_back(agent: AgentId, number: u32, target: AgentId, callback: u32) -> TreeFact {
    TreeFact::Ended {
        agent,
        task: message(number).task(),
        end: TaskEnding::Completed,
        callback: Some(Callback {
            id: message(callback),
            target,
        }),
    }
}

fn cancelled(scope: AgentId) -> TaskEnding {
    let by = Caller::User;
    TaskEnding::Cancelled { by, scope }
}

fn record(order: usize, log: AgentId, fact: TreeFact) -> RolloutRecord {
    RolloutRecord::Agent(Box::new(AgentLine {
        tree: session(ROOT),
        record: TreeRecord {
            order: order as u64,
            at: TimeMs(i64::try_from(order).unwrap()),
            log,
            fact,
        },
        spec: None,
        message: None,
        result: None,
    }))
}

type Logs = BTreeMap<AgentId, Vec<u8>>;

/// Writes each record into the log that is named with it.
fn write(records: impl IntoIterator<Item = (AgentId, RolloutRecord)>) -> Logs {
    let mut logs = Logs::new();
    for (log, record) in records {
        let bytes = logs.entry(log).or_default();
        line::encode(&[record], UnixMillis(0), bytes).unwrap();
    }
    logs
}

fn logs(facts: &[(AgentId, TreeFact)]) -> Logs {
    let records = facts.iter().enumerate();
    write(records.map(|(order, (log, fact))| (*log, record(order, *log, fact.clone()))))
}

/// The newest agent's log is applied first.
fn index(logs: &Logs) -> IndexDatabase {
    let mut index = IndexDatabase::in_memory().unwrap();
    for (agent, bytes) in logs.iter().rev() {
        index.apply(&log_at(*agent), bytes.as_slice()).unwrap();
    }
    assert_eq!(index.warnings, [""; 0]);
    index
}

fn shown(index: &IndexDatabase) -> String {
    let root = session(ROOT);
    let mut text = String::new();
    for row in index.tree(root).unwrap() {
        let last = row.last_task.map(|task| task.as_str()[35..].to_owned());
        write!(
            text,
            "{} {:?} since {}",
            row.path, row.standing, row.since.0
        )
        .unwrap();
        write!(text, ", task {}", last.as_deref().unwrap_or("-")).unwrap();
        write!(
            text,
            ", {}+{}",
            row.pending_interrupts, row.pending_messages
        )
        .unwrap();
        if row.is_pruned {
            text += ", pruned";
        }
        if row.parent.is_none() && row.agent != ROOT {
            text += ", released";
        }
        text += "\n";
        let agent = row.agent;
        for mail in index.inbox(AgentLocation { root, agent }).unwrap() {
            let number = &mail.message.to_string()[35..];
            let kind = match mail.kind {
                None => "unknown",
                Some(MailKind::Interrupt { .. }) => "interrupt",
                Some(MailKind::Regular { .. }) => "regular",
                Some(MailKind::Callback { .. }) => "callback",
            };
            writeln!(text, "  {number} {kind} {:?}", mail.state).unwrap();
        }
    }
    text
}

fn check(facts: &[(AgentId, TreeFact)], expected: &Expect) {
    expected.assert_eq(&shown(&index(&logs(facts))));
}

#[test]
fn a_child_works_and_its_parent_hears_of_it() {
    check(
        &[
            (ROOT, root()),
            (ROOT, born(A, ROOT, 1)),
            (A, started(A, 1)),
            (ROOT, sent(ROOT, A, 2)),
            (
                A,
                TreeFact::Took {
                    agent: A,
                    messages: vec![message(2)],
                },
            ),
            (ROOT, interrupt(A, 3)),
            (A, called_back(A, 1, ROOT, 9)),
        ],
        &expect![[r#"
            /root PendingInit since 0, task -, 0+1
              9 callback Waiting
            /root/1 Ended(Completed) since 6, task 1, 1+0
              1 regular Taken
              2 regular Taken
              3 interrupt Waiting
        "#]],
    );
}

#[test]
fn a_callback_is_taken_or_consumed() {
    check(
        &[
            (ROOT, root()),
            (ROOT, born(A, ROOT, 1)),
            (A, started(A, 1)),
            (A, called_back(A, 1, ROOT, 8)),
            (ROOT, started(ROOT, 8)),
            (ROOT, sent(ROOT, A, 2)),
            (A, started(A, 2)),
            (A, called_back(A, 2, ROOT, 9)),
            (
                ROOT,
                TreeFact::Consumed {
                    agent: ROOT,
                    messages: vec![message(9)],
                },
            ),
        ],
        &expect![[r#"
            /root Running since 4, task 8, 0+0
              8 callback Taken
              9 callback Consumed
            /root/1 Ended(Completed) since 7, task 2, 0+0
              1 regular Taken
              2 regular Taken
        "#]],
    );
}

#[test]
fn a_cancel_drops_input_and_keeps_callbacks() {
    check(
        &[
            (ROOT, root()),
            (ROOT, born(A, ROOT, 1)),
            (A, born(B, A, 2)),
            (A, started(A, 1)),
            (ROOT, sent(ROOT, A, 3)),
            (B, called_back(B, 2, A, 4)),
            (A, ended(A, 1, cancelled(A))),
            // What comes after it waits.
            (ROOT, sent(ROOT, A, 5)),
        ],
        &expect![[r#"
            /root PendingInit since 0, task -, 0+0
            /root/1 Ended(Cancelled { by: User, scope: AgentId(1) }) since 6, task 1, 0+2
              1 regular Taken
              3 regular Dropped
              4 callback Waiting
              5 regular Waiting
            /root/2 Ended(Completed) since 5, task 2, 0+0
              2 regular Dropped
        "#]],
    );
}

#[test]
fn input_whose_task_ended_before_it_began_is_dropped() {
    check(
        &[
            (ROOT, root()),
            (ROOT, born(A, ROOT, 1)),
            (ROOT, sent(ROOT, A, 2)),
            (A, ended(A, 1, TaskEnding::FailedToStart)),
        ],
        &expect![[r#"
            /root PendingInit since 0, task -, 0+0
            /root/1 Ended(FailedToStart) since 3, task 1, 0+1
              1 regular Dropped
              2 regular Waiting
        "#]],
    );
}

#[test]
fn a_closed_agent_comes_back_as_it_was() {
    let closed = [
        (ROOT, root()),
        (ROOT, born(A, ROOT, 1)),
        (ROOT, born(B, ROOT, 2)),
        (A, started(A, 1)),
        (
            A,
            ended(
                A,
                1,
                TaskEnding::Interrupted {
                    why: Interruption::Crash,
                },
            ),
        ),
        (
            A,
            TreeFact::Halted {
                agent: A,
                end: TaskEnding::Completed,
            },
        ),
        (A, TreeFact::Shut { agent: A }),
        (B, TreeFact::Shut { agent: B }),
        (ROOT, TreeFact::Pruned { agent: A }),
    ];
    check(
        &closed,
        &expect![[r#"
        /root PendingInit since 0, task -, 0+0
        /root/1 Shutdown since 6, task 1, 0+0, pruned
          1 regular Taken
        /root/2 Shutdown since 7, task -, 0+1
          2 regular Waiting
    "#]],
    );
    let reopened = [
        (A, TreeFact::Reopened { agent: A }),
        (B, TreeFact::Reopened { agent: B }),
        (ROOT, TreeFact::Released { agent: B }),
    ];
    check(
        &[&closed[..], &reopened].concat(),
        &expect![[r#"
        /root PendingInit since 0, task -, 0+0
        /root/1 Ended(Completed) since 9, task 1, 0+0
          1 regular Taken
        /root/2 PendingInit since 10, task -, 0+1, released
          2 regular Waiting
    "#]],
    );
}

#[test]
fn no_task_ends_twice() {
    check(
        &[
            (ROOT, root()),
            (ROOT, born(A, ROOT, 1)),
            (A, started(A, 1)),
            (A, ended(A, 1, TaskEnding::Completed)),
            (A, ended(A, 1, TaskEnding::Errored)),
            (A, ended(A, 2, TaskEnding::BudgetExceeded)),
        ],
        &expect![[r#"
            /root PendingInit since 0, task -, 0+0
            /root/1 Ended(BudgetExceeded) since 5, task 2, 0+0
              1 regular Taken
        "#]],
    );
}

#[test]
fn a_log_that_is_missing_hides_only_what_it_says() {
    let facts = [
        (ROOT, root()),
        (ROOT, born(A, ROOT, 1)),
        (B, sent(B, A, 2)),
        (A, started(A, 1)),
        (
            A,
            TreeFact::Took {
                agent: A,
                messages: vec![message(2)],
            },
        ),
    ];
    let mut index = IndexDatabase::in_memory().unwrap();
    let logs = logs(&facts);
    for agent in [A, ROOT] {
        index
            .apply(&log_at(agent), logs[&agent].as_slice())
            .unwrap();
    }
    expect![[r#"
        /root PendingInit since 0, task -, 0+0
        /root/1 Running since 3, task 1, 0+0
          1 regular Taken
          2 unknown Taken
    "#]]
    .assert_eq(&shown(&index));
    index.apply(&log_at(B), logs[&B].as_slice()).unwrap();
    expect![[r#"
        /root PendingInit since 0, task -, 0+0
        /root/1 Running since 3, task 1, 0+0
          1 regular Taken
          2 regular Taken
    "#]]
    .assert_eq(&shown(&index));
}
