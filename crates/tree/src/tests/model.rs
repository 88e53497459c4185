//! Random life of small trees, checked against the reference and against what must always
//! hold. A sequence is a list of numbers; each number is one step, read in the light of the
//! moment. A failing list is made shorter while it fails, and printed with its seed.

mod invariants;
mod steps;
mod world;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use troupe_protocol::tree::{TimeMs, TreeFact, TreeRecord};

use crate::Tree;
use crate::command::{TreeAction, TreeCommand};
use crate::effect::TreeEffect;
use steps::Draw;
use world::{World, limits};

const SEQUENCES: u64 = 10_000;
const STEPS_MAX: usize = 60;

#[test]
fn random_trees_keep_every_promise() {
    let base = std::env::var("TROUPE_TREE_SEED").ok();
    let base: u64 = base.map_or(0x7407_9e5e_ed00, |text| {
        text.parse().expect("TROUPE_TREE_SEED is a number")
    });
    for seed in base..base + SEQUENCES {
        let tape = tape(seed);
        if play(&tape).is_err() {
            let (tape, broken) = shorten(tape);
            panic!(
                "seed {seed} (TROUPE_TREE_SEED={seed} repeats it), {} steps:\n{}\n{}",
                tape.len(),
                broken.log.join("\n"),
                broken.why
            );
        }
    }
}

/// A crash may come between any two lines, and a line may be torn: what is left comes back
/// without a panic, and no completion that was written is forgotten.
#[test]
fn a_log_cut_or_torn_anywhere_can_be_recovered() {
    for seed in 0..500 {
        let mut world = World::new(None);
        for step in tape(seed) {
            world.step(step).expect("the other test tells more");
        }
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut records = world.records;
        records.truncate(1 + draw.below(records.len()));
        check_recovery(&records);
        if records.len() > 1 {
            records.remove(1 + draw.below(records.len() - 1));
            drop(recover(&records));
        }
    }
}

fn check_recovery(records: &[TreeRecord]) {
    let (tree, written) = recover(records);
    let all = [records, &written].concat();
    let mut told = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for record in &all {
        match &record.fact {
            TreeFact::Ended {
                callback: Some(callback),
                ..
            } => {
                told.insert((callback.target, callback.id));
            }
            TreeFact::Started {
                agent,
                message: Some(message),
                ..
            } => {
                taken.insert((*agent, *message));
            }
            TreeFact::Consumed { agent, messages } => {
                taken.extend(messages.iter().map(|message| (*agent, *message)));
            }
            _ => {}
        }
    }
    for (target, message) in told {
        let inbox = &tree.get(target).expect("a target is an agent").inbox;
        let waits = inbox.find(message).is_some();
        assert!(waits != taken.contains(&(target, message)), "seen once");
    }
    let (again, misfits) = Tree::restore(limits(), all);
    assert_eq!(misfits, []);
    assert_eq!(again.memory(), tree.memory());
}

fn recover(records: &[TreeRecord]) -> (Tree, Vec<TreeRecord>) {
    let (mut tree, _) = Tree::restore(limits(), records.to_vec());
    let what = TreeAction::Recover;
    let at = TimeMs(1);
    let effects = tree.apply(TreeCommand { at, what }).expect("never refused");
    let written = effects.into_iter().filter_map(|effect| match effect {
        TreeEffect::Persist(record) => Some(record),
        _ => None,
    });
    let written = written.collect();
    (tree, written)
}

struct Broken {
    log: Vec<String>,
    why: String,
}

fn tape(seed: u64) -> Vec<u64> {
    let mut state = seed;
    let mut next = move || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let steps = 10 + usize::try_from(next() % 50).unwrap_or(0);
    (0..steps.min(STEPS_MAX)).map(|_| next()).collect()
}

fn play(tape: &[u64]) -> Result<(), Broken> {
    play_with(tape, None)
}

/// Plays a tape; what happens is written down only if there is a log for it.
fn play_with(tape: &[u64], log: Option<Vec<String>>) -> Result<(), Broken> {
    let mut world = World::new(log);
    let played = catch_unwind(AssertUnwindSafe(|| {
        for step in tape {
            world.step(*step)?;
        }
        world.settle()
    }));
    let why = match played {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(_) => "the tree panicked".to_owned(),
    };
    let log = world.log.unwrap_or_default();
    Err(Broken { log, why })
}

/// Leaves out every step without which it still breaks.
fn shorten(mut tape: Vec<u64>) -> (Vec<u64>, Broken) {
    let mut at = 0;
    while at < tape.len() {
        let mut shorter = tape.clone();
        shorter.remove(at);
        match play(&shorter) {
            Ok(()) => at += 1,
            Err(_) => tape = shorter,
        }
    }
    let broken = play_with(&tape, Some(Vec::new()));
    (tape, broken.expect_err("it broke a moment ago"))
}
