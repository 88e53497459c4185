use expect_test::{Expect, expect};

use super::*;
use crate::desk::Planned;
use crate::families::example;
use crate::tree::status::Status;
use crate::tree::{AddressError, Refusal};
use troupe_protocol::StopVerb;

fn check(arguments: Value, expected: Expect) {
    let found = serde_json::from_value::<Arguments>(arguments)
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

fn touched(number: u32) -> Planned<StopVerb> {
    Planned {
        view: example::view(number, Status::Completed),
        what: StopVerb::Prune,
    }
}

fn skipped(number: u32, what: SkipWhy) -> Stopped {
    Stopped {
        touched: Vec::new(),
        skipped: vec![Planned {
            view: example::view(number, Status::Running),
            what,
        }],
        unknown: Vec::new(),
    }
}

#[test]
fn each_target_is_accounted_for() {
    let arguments: Arguments =
        serde_json::from_value(json!({"agent_ids": [1, 3, 4, "nobody", 0]})).unwrap();
    let mut outcome = Outcome::default();
    let pruned = Stopped {
        touched: vec![touched(1), touched(2)],
        skipped: Vec::new(),
        unknown: Vec::new(),
    };
    outcome.add("1".to_owned(), Ok(pruned));
    outcome.add("3".to_owned(), Ok(skipped(3, SkipWhy::Active)));
    outcome.add("4".to_owned(), Ok(skipped(4, SkipWhy::AlreadyDone)));
    let unknown = AddressError::Unknown("nobody".to_owned());
    outcome.add("nobody".to_owned(), Err(unknown.into()));
    let refused = Refusal::OutsideSubtree { verb: "prune" };
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
