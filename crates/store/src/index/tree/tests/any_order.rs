//! However the logs of a tree are cut into pieces, and in whatever order the pieces are
//! applied, the rows are those of the whole logs.

use proptest::prelude::*;
use proptest::sample::Index as At;
use rusqlite::types::Value;
use troupe_protocol::rollout::{EventRecord, RolloutRecord};
use troupe_protocol::tree::{TaskEnding, TreeFact};

use crate::store::LogPosition;

use super::*;

fn agent() -> impl Strategy<Value = AgentId> {
    (0..4u32).prop_map(AgentId)
}

/// Any fact about any agent: not every sequence makes sense, and none may matter.
fn fact() -> impl Strategy<Value = TreeFact> {
    let end = prop_oneof![
        Just(TaskEnding::Completed),
        Just(TaskEnding::Replaced),
        agent().prop_map(cancelled),
    ];
    prop_oneof![
        Just(root()),
        (agent(), agent(), 0..9u32).prop_map(|(child, parent, first)| born(child, parent, first)),
        (agent(), agent(), 0..9u32).prop_map(|(from, to, number)| sent(from, to, number)),
        (agent(), 0..9u32).prop_map(|(to, number)| interrupt(to, number)),
        (agent(), 0..9u32).prop_map(|(agent, number)| started(agent, number)),
        (agent(), 0..9u32, end.clone()).prop_map(|(agent, number, end)| ended(agent, number, end)),
        (agent(), 0..9u32, agent(), 0..9u32)
            .prop_map(|(agent, number, target, id)| called_back(agent, number, target, id)),
        (agent(), end).prop_map(|(agent, end)| TreeFact::Halted { agent, end }),
        (agent(), proptest::collection::vec(0..9u32, 0..4)).prop_map(|(agent, numbers)| {
            let messages = numbers.into_iter().map(message).collect();
            TreeFact::Took { agent, messages }
        }),
        (agent(), 0..9u32).prop_map(|(agent, number)| TreeFact::Consumed {
            agent,
            messages: vec![message(number)],
        }),
        agent().prop_map(|agent| TreeFact::Shut { agent }),
        agent().prop_map(|agent| TreeFact::Reopened { agent }),
        agent().prop_map(|agent| TreeFact::Released { agent }),
        agent().prop_map(|agent| TreeFact::Pruned { agent }),
    ]
}

/// A line of a log, to be given its place in the order of the tree.
#[derive(Debug, Clone)]
enum Entry {
    Fact(TreeFact),
    Asked(u8),
    Answered(u8),
    Aborted,
}

fn entry() -> impl Strategy<Value = Entry> {
    prop_oneof![
        8 => fact().prop_map(Entry::Fact),
        2 => (0..3u8).prop_map(Entry::Asked),
        1 => (0..3u8).prop_map(Entry::Answered),
        1 => Just(Entry::Aborted),
    ]
}

impl Entry {
    fn record(&self, order: usize, log: AgentId) -> RolloutRecord {
        let msg = match self {
            Self::Fact(fact) => return record(order, log, fact.clone()),
            Self::Asked(call) => {
                format!(r#"{{"type":"exec_approval_request","call_id":"{call}","turn_id":"task","#)
                    + r#""command":["ls"],"cwd":"/","parsed_cmd":[],"available_decisions":[]}"#
            }
            Self::Answered(call) => format!(
                r#"{{"type":"approval_resolved","call_id":"{call}","decision":"approved"}}"#
            ),
            Self::Aborted => {
                r#"{"type":"turn_aborted","turn_id":"task","reason":"crash"}"#.to_owned()
            }
        };
        RolloutRecord::EventMsg(EventRecord {
            id: "task".into(),
            seq: 1,
            msg: serde_json::from_str(&msg).unwrap(),
        })
    }
}

fn dump(index: &IndexDatabase) -> Vec<Vec<Value>> {
    let mut rows = Vec::new();
    let tables = [
        "sessions",
        "births",
        "changes",
        "letters",
        "receipts",
        "approvals",
    ];
    for table in tables {
        let query = format!("SELECT * FROM {table} ORDER BY 1, 2, 3");
        let mut statement = index.db.prepare(&query).unwrap();
        let columns = statement.column_count();
        let found = statement
            .query_map([], |row| {
                (0..columns).map(|column| row.get(column)).collect()
            })
            .unwrap();
        rows.extend(found.map(|row: rusqlite::Result<Vec<Value>>| row.unwrap()));
    }
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn pieces_in_any_order_give_the_rows_of_the_whole(
        entries in proptest::collection::vec((agent(), entry()), 1..40),
        pieces in proptest::collection::vec((any::<At>(), any::<At>()), 0..20),
        // Logs that are read anew at the end, as a reindex does.
        again in proptest::collection::vec(any::<At>(), 0..4),
    ) {
        let records = entries.iter().enumerate();
        let logs = write(records.map(|(order, (log, entry))| (*log, entry.record(order, *log))));
        let whole = index(&logs);
        let logs: Vec<(AgentId, Vec<u8>)> = logs.into_iter().collect();

        let mut pieced = IndexDatabase::in_memory().unwrap();
        for (log, upto) in pieces {
            let (agent, bytes) = log.get(&logs);
            let upto = LogPosition(upto.index(bytes.len() + 1) as u64);
            pieced.apply_up_to(&log_at(*agent), bytes.as_slice(), upto).unwrap();
        }
        for (agent, bytes) in &logs {
            pieced.apply(&log_at(*agent), bytes.as_slice()).unwrap();
        }
        prop_assert_eq!(dump(&pieced), dump(&whole));
        prop_assert_eq!(shown(&pieced), shown(&whole));

        for log in again {
            let (agent, bytes) = log.get(&logs);
            let change = pieced.read_whole(&log_at(*agent), bytes.as_slice()).unwrap();
            pieced.save(&[change]).unwrap();
        }
        prop_assert_eq!(dump(&pieced), dump(&whole));
    }
}
