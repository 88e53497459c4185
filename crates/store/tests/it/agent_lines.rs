//! The lines of the tree in one log: on every branch, behind every compaction.

use std::fs::OpenOptions;
use std::io::Write;

use expect_test::expect;
use troupe_protocol::rollout::{RolloutRecord, SessionMeta};
use troupe_protocol::tree::{AgentLine, TimeMs, TreeFact, TreeRecord};
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{AgentLines, MemoryStore, SessionLog, SessionStore, StoreError};

use super::home::{Home, START, compacted, meta, rewind, said, ticking_clock};

/// A line in the root's log.
pub fn line(tree: SessionId, order: u64, fact: TreeFact) -> AgentLine {
    AgentLine {
        tree,
        record: TreeRecord {
            order,
            at: TimeMs(START + i64::try_from(order).unwrap()),
            log: AgentId::ROOT,
            fact,
        },
        spec: None,
        message: None,
        result: None,
    }
}

pub fn record(line: AgentLine) -> RolloutRecord {
    RolloutRecord::Agent(Box::new(line))
}

/// Shuts agents 1 to 3 down, with a rewind and a compaction between.
fn write(log: &mut dyn SessionLog, meta: &SessionMeta) {
    let shut = |order: u32| {
        let agent = AgentId(order);
        record(line(meta.id, order.into(), TreeFact::Shut { agent }))
    };
    let start = log.append(&[said("one")]).unwrap();
    log.append(&[shut(1), said("two")]).unwrap();
    log.append(&[rewind(start), said("three"), shut(2)])
        .unwrap();
    log.append(&[compacted("all"), shut(3)]).unwrap();
}

fn shown(found: &AgentLines) -> String {
    let lines = found.lines.iter().map(|(_, line)| {
        let TreeRecord { order, fact, .. } = &line.record;
        format!("{order} {fact:?}\n")
    });
    let warnings = found
        .warnings
        .iter()
        .map(|warning| format!("! {warning}\n"));
    lines.chain(warnings).collect()
}

#[tokio::test]
async fn lines_count_whatever_branch_they_are_on() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    write(&mut *log, &meta);
    let found = home.store.agent_lines(meta.id).await.unwrap();
    expect![[r#"
        1 Shut { agent: AgentId(1) }
        2 Shut { agent: AgentId(2) }
        3 Shut { agent: AgentId(3) }
    "#]]
    .assert_eq(&shown(&found));
    assert_eq!(found.lines[2].0, log.position());
    assert_eq!((&found.meta, found.archived), (&meta, false));

    let memory = MemoryStore::with_clock(ticking_clock());
    let mut log = memory.create(&meta).await.unwrap();
    write(&mut *log, &meta);
    assert_eq!(memory.agent_lines(meta.id).await.unwrap(), found);
}

#[tokio::test]
async fn what_cannot_be_read_is_told_and_hides_nothing() {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    let path = log.path().unwrap().to_owned();
    let damage = |text: &str| {
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    damage("garbage\n");
    // Only lines that could be of the tree matter: the last of these is told by its head.
    damage(r#"{"timestamp":"2026-11-16T04:48:00.000Z","type":"agent","payload":{"tree":1}}"#);
    damage("\n");
    damage(r#"{"timestamp":"2026-11-16T04:48:00.000Z","type":"response_item","payload":x}"#);
    damage("\n");
    write(&mut *log, &meta);
    damage(r#"{"timestamp":"2026-11-16T04:48:09.000Z","type":"ag"#);
    drop(log);
    home.store.archive(meta.id).await.unwrap();

    let found = home.store.agent_lines(meta.id).await.unwrap();
    let end = found.lines[2].0.to_string();
    expect![[r#"
        1 Shut { agent: AgentId(1) }
        2 Shut { agent: AgentId(2) }
        3 Shut { agent: AgentId(3) }
        ! line 2 (byte 261) is left out, it cannot be read: expected value at column 1
        ! line 3 (byte 269) is left out, it cannot be read: invalid type: integer `1`, expected a formatted UUID string at column 9
        ! the last line (byte END, 50 bytes) was never finished and is left out
    "#]].assert_eq(&shown(&found).replace(&end, "END"));
    assert!(found.archived);

    let unknown = home.store.agent_lines(SessionId::random()).await;
    assert!(matches!(unknown, Err(StoreError::NotFound { .. })));
}
