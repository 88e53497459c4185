use expect_test::{Expect, expect};
use troupe_protocol::StopVerb;
use troupe_tree::status::CurrentStatus;
use troupe_tree::{AgentAddressError, TreeRefusal};

use super::*;
use crate::families::example;
use crate::tree_access::StopEntry;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<SubagentPruneArguments>(arguments)
        .map_err(|error| error.to_string())
        .and_then(|arguments| {
            let ids = checked(&arguments).map_err(|trouble| trouble.to_string())?;
            Ok(format!(
                "{:?}, completed only: {}",
                ids.map(<[_]>::len),
                arguments.completed_only
            ))
        });
    expected.assert_eq(&found.unwrap_or_else(|problem| problem));
}

#[test]
fn either_some_or_all_are_meant() {
    check(
        json!({"agent_ids": [1, "/root/a"]}),
        expect!["Some(2), completed only: true"],
    );
    check(
        json!({"all": true, "completed_only": false}),
        expect!["None, completed only: false"],
    );
    check(json!({}), expect!["give agent_ids, or all: true"]);
    check(
        json!({"agent_ids": []}),
        expect!["give agent_ids, or all: true"],
    );
    check(
        json!({"agent_ids": [1], "all": true}),
        expect!["give either agent_ids or all: true, not both"],
    );
    check(
        json!({"agent_ids": vec![1; PRUNE_IDS_MAX + 1]}),
        expect!["257 agent_ids are too many; give at most 256"],
    );
}

fn touched(number: u32) -> StopEntry<StopVerb> {
    StopEntry {
        view: example::view(number, CurrentStatus::Completed),
        what: StopVerb::Prune,
    }
}

fn skipped(number: u32, what: StopSkipReason) -> StopOutcome {
    StopOutcome {
        touched: Vec::new(),
        skipped: vec![StopEntry {
            view: example::view(number, CurrentStatus::Running),
            what,
        }],
        unknown: Vec::new(),
    }
}

#[test]
fn each_target_is_accounted_for() {
    let arguments: SubagentPruneArguments =
        serde_json::from_value(json!({"agent_ids": [1, 3, 4, "nobody", 0]})).unwrap();
    let mut outcome = PruneOutcome::default();
    let pruned = StopOutcome {
        touched: vec![touched(1), touched(2)],
        skipped: Vec::new(),
        unknown: Vec::new(),
    };
    outcome.add("1".to_owned(), Ok(pruned));
    outcome.add("3".to_owned(), Ok(skipped(3, StopSkipReason::Active)));
    outcome.add("4".to_owned(), Ok(skipped(4, StopSkipReason::AlreadyDone)));
    let unknown = AgentAddressError::Unknown("nobody".to_owned());
    outcome.add("nobody".to_owned(), Err(unknown.into()));
    let refused = TreeRefusal::OutsideSubtree { verb: "prune" };
    outcome.add("0".to_owned(), Err(refused.into()));
    example::check(
        described(&arguments, &outcome),
        expect![[r#"
            {
              "request": {
                "agent_ids": [
                  "1",
                  "3",
                  "4",
                  "nobody",
                  "0"
                ],
                "all": false,
                "completed_only": true
              },
              "pruned": [
                1,
                2
              ],
              "skipped_active": [
                3
              ],
              "unknown": [
                "nobody"
              ],
              "errors": [
                {
                  "agent_id": "4",
                  "error": "it was pruned before"
                },
                {
                  "agent_id": "0",
                  "error": "Not permitted to prune agents outside your subtree."
                }
              ],
              "counts": {
                "pruned": 2,
                "skipped_active": 1,
                "unknown": 1,
                "errors": 2
              }
            }"#]],
    );
}
