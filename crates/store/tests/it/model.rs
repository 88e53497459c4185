//! Random histories against a model that is simple enough to be right: it remembers what was
//! live after every line.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;

use proptest::prelude::*;
use proptest::sample::Index;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{LiveHistory, LogPosition, MemoryStore, SessionLog, SessionStore};

use super::home::{Home, compacted, meta, rewind, said};

#[derive(Debug, Clone)]
enum Step {
    Say(usize),
    SayMany(u8),
    Compact,
    /// To any line there is.
    Rewind(Index),
    Garbage,
    /// The process dies in the middle of a line.
    Tear(u8),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Now and then longer than what is read at once.
        6 => prop_oneof![9 => 0..100usize, 1 => 60_000..200_000usize].prop_map(Step::Say),
        2 => (2..5u8).prop_map(Step::SayMany),
        1 => Just(Step::Compact),
        3 => any::<Index>().prop_map(Step::Rewind),
        1 => Just(Step::Garbage),
        1 => (1..200u8).prop_map(Step::Tear),
    ]
}

/// What is live after each line, as labels.
type Model = BTreeMap<LogPosition, Vec<String>>;

fn label(record: &RolloutRecord) -> String {
    match record {
        RolloutRecord::ResponseItem(item) => item.assistant_message().unwrap(),
        RolloutRecord::Compacted(compacted) => format!("compacted {}", compacted.message),
        RolloutRecord::Rewind(rewind) => format!("rewind {}", rewind.to),
        other => panic!("{other:?}"),
    }
}

fn labels(history: &LiveHistory) -> Vec<String> {
    let records = history.records.iter();
    records.map(|(_, stamped)| label(&stamped.record)).collect()
}

/// Appends to the log and tells the model.
fn append(log: &mut dyn SessionLog, model: &mut Model, record: RolloutRecord) {
    let base = match &record {
        RolloutRecord::Compacted(_) => Vec::new(),
        RolloutRecord::Rewind(rewind) => model[&LogPosition(rewind.to)].clone(),
        _ => model[&log.position()].clone(),
    };
    let live = [base, vec![label(&record)]].concat();
    let position = log.append(&[record]).unwrap();
    model.insert(position, live);
}

fn play(log: &mut dyn SessionLog, model: &mut Model, number: usize, step: &Step) {
    match step {
        Step::Say(bytes) => {
            append(
                log,
                model,
                said(&format!("{number} {}", "x".repeat(*bytes))),
            );
        }
        Step::SayMany(count) => {
            for part in 0..*count {
                append(log, model, said(&format!("{number}.{part}")));
            }
        }
        Step::Compact => append(log, model, compacted(&number.to_string())),
        Step::Rewind(to) => {
            let positions: Vec<LogPosition> = model.keys().copied().collect();
            append(log, model, rewind(*to.get(&positions)));
        }
        Step::Garbage | Step::Tear(_) => {}
    }
}

async fn check(
    store: &dyn SessionStore,
    id: troupe_protocol::SessionId,
    model: &Model,
    at: &Index,
) {
    let (_, live) = model.last_key_value().unwrap();
    assert_eq!(&labels(&store.read_live(id).await.unwrap()), live);
    let positions: Vec<LogPosition> = model.keys().copied().collect();
    let position = *at.get(&positions);
    let history = store.read_live_at(id, position).await.unwrap();
    assert_eq!(labels(&history), model[&position]);
}

async fn on_disk(steps: &[Step], at: &Index) {
    let home = Home::new();
    let meta = meta();
    let mut log = home.store.create(&meta).await.unwrap();
    let mut model = Model::from([(log.position(), Vec::new())]);
    for (number, step) in steps.iter().enumerate() {
        play(&mut *log, &mut model, number, step);
        let damage = match step {
            Step::Garbage => b"garbage\n".to_vec(),
            Step::Tear(bytes) => vec![b'{'; usize::from(*bytes)],
            _ => continue,
        };
        let path = log.path().unwrap().to_owned();
        drop(log);
        let mut file = OpenOptions::new().append(true).open(path).unwrap();
        file.write_all(&damage).unwrap();
        let (_, live) = model.last_key_value().unwrap();
        let live = live.clone();
        let (reopened, history) = home.store.open(meta.id).await.unwrap();
        assert_eq!(labels(&history), live);
        log = reopened;
        model.insert(log.position(), live);
    }
    check(&home.store, meta.id, &model, at).await;
}

async fn in_memory(steps: &[Step], at: &Index) {
    let store = MemoryStore::new();
    let meta = meta();
    let mut log = store.create(&meta).await.unwrap();
    let mut model = Model::from([(log.position(), Vec::new())]);
    for (number, step) in steps.iter().enumerate() {
        play(&mut *log, &mut model, number, step);
    }
    check(&store, meta.id, &model, at).await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_read_finds_what_the_model_remembers(
        steps in proptest::collection::vec(step(), 0..40),
        at in any::<Index>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            on_disk(&steps, &at).await;
            in_memory(&steps, &at).await;
        });
    }
}
