use super::*;

/// One line for each status: its names, and how whoever waits takes it.
#[test]
fn the_table_of_names() {
    let all = [
        AgentStatus::PendingInit,
        AgentStatus::Queued { position: 1 },
        AgentStatus::Running,
        AgentStatus::Ready,
        AgentStatus::Completed(None),
        AgentStatus::Errored(String::new()),
        AgentStatus::Interrupted,
        AgentStatus::Cancelled,
        AgentStatus::BudgetExceeded,
        AgentStatus::Shutdown,
        AgentStatus::Lost(None),
        AgentStatus::Lost(Some(Box::new(AgentStatus::Completed(None)))),
        AgentStatus::NotFound,
    ];
    let table: Vec<String> = all
        .iter()
        .map(|status| {
            let row = status.row();
            format!("{:16}{:10}{:?}", row.agents, row.subagents, row.standing)
        })
        .collect();
    assert_eq!(
        table,
        [
            "pending_init    queued    Active",
            "queued          queued    Active",
            "running         running   Active",
            "ready           ready     Final",
            "completed       idle      Final",
            "errored         failed    Final",
            "interrupted     canceled  Final",
            "cancelled       canceled  Final",
            "budget_exceeded failed    Final",
            "shutdown        canceled  Closed",
            "lost            lost      Final",
            "lost            lost      Final",
            "not_found       unknown   Closed",
        ]
    );
}

/// The name in the table is the tag on the wire.
#[test]
fn a_status_is_called_the_same_on_the_wire() {
    for status in [
        AgentStatus::Ready,
        AgentStatus::Queued { position: 1 },
        AgentStatus::BudgetExceeded,
    ] {
        let wire = serde_json::to_string(&status).unwrap();
        assert!(wire.contains(status.row().agents), "{wire}");
    }
}
