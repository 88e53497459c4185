use std::fmt::Write;

use expect_test::expect;
use troupe_protocol::AgentId;
use troupe_protocol::tree::{Caller, Interruption, TaskEnding};

use crate::lifecycle::{Lifecycle, LifecycleChange};

/// Every state with every change.
#[test]
fn transitions() {
    let task = |name: &str| name.into();
    let ended = |end| Lifecycle::Ended {
        task: task("t1"),
        end,
    };
    let states = [
        Lifecycle::PendingInit,
        Lifecycle::Running { task: task("t1") },
        ended(TaskEnding::Completed),
        Lifecycle::Shutdown { last: None },
    ];
    let changes = [
        LifecycleChange::Start { task: task("t2") },
        LifecycleChange::End {
            task: task("t1"),
            end: TaskEnding::Errored,
        },
        LifecycleChange::End {
            task: task("t2"),
            end: TaskEnding::Errored,
        },
        LifecycleChange::Halt {
            end: TaskEnding::BudgetExceeded,
        },
        LifecycleChange::Shut,
        LifecycleChange::Reopen,
    ];
    let mut table = String::new();
    for state in &states {
        for change in &changes {
            let after = match state.after(change.clone()) {
                Ok(after) => format!("{after:?}"),
                Err(illegal) => illegal.to_string(),
            };
            writeln!(table, "{after}").unwrap();
        }
        table.push('\n');
    }
    expect![[r#"
        Running { task: SubmissionId("t2") }
        Ended { task: SubmissionId("t1"), end: Errored }
        Ended { task: SubmissionId("t2"), end: Errored }
        an agent that is pending_init cannot be halted
        Shutdown { last: None }
        an agent that is pending_init cannot be reopened

        an agent that is running cannot start
        Ended { task: SubmissionId("t1"), end: Errored }
        an agent that is running cannot end this task
        an agent that is running cannot be halted
        an agent that is running cannot be shut down
        an agent that is running cannot be reopened

        Running { task: SubmissionId("t2") }
        an agent that is ended cannot end this task
        Ended { task: SubmissionId("t2"), end: Errored }
        Ended { task: SubmissionId("t1"), end: BudgetExceeded }
        Shutdown { last: Some(LastTask { task: SubmissionId("t1"), end: Completed }) }
        an agent that is ended cannot be reopened

        an agent that is shutdown cannot start
        an agent that is shutdown cannot end this task
        an agent that is shutdown cannot end this task
        an agent that is shutdown cannot be halted
        an agent that is shutdown cannot be shut down
        PendingInit

    "#]]
    .assert_eq(&table);
}

#[test]
fn who_is_called_back() {
    let (child, parent) = (AgentId(2), AgentId(1));
    let cancelled = |by, scope| TaskEnding::Cancelled { by, scope };
    let interrupted = |why| TaskEnding::Interrupted { why };
    let calls = |end: TaskEnding| end.calls_back(child, parent);
    assert!(calls(TaskEnding::Completed));
    assert!(calls(TaskEnding::Errored));
    assert!(calls(TaskEnding::BudgetExceeded));
    assert!(calls(interrupted(Interruption::User)));
    assert!(calls(interrupted(Interruption::Parent)));
    assert!(!calls(interrupted(Interruption::Crash)));
    assert!(!calls(TaskEnding::Replaced));
    assert!(calls(cancelled(Caller::User, child)));
    assert!(calls(cancelled(Caller::Agent(AgentId::ROOT), child)));
    assert!(!calls(cancelled(Caller::Agent(parent), child)));
    assert!(!calls(cancelled(Caller::User, parent)));
}
