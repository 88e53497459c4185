//! Lines that a log has twice. Only another hand than ours writes such a log (a copy that was
//! joined, a synchronisation that went wrong), but its requests would have calls of one id twice,
//! which providers refuse for ever after.
//!
//! An event is known by its number, a call by its id. A message has neither, and people do say
//! the same thing twice: it counts as repeated only next to something that is, or to itself.
//!
//! A tool that writes lines anew may give them another time. Providers that count their calls anew
//! give an id again, so then a line is repeated only directly behind itself, and a message only in
//! a log that has such calls.

use std::collections::{HashMap, HashSet};

use troupe_protocol::CallId;
use troupe_protocol::history::ResponseItem;
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{LogPosition, StampedRecord};

type LoggedLine = (LogPosition, StampedRecord<RolloutRecord>);

/// Takes out what is there already. Returns how many lines that were.
pub(crate) fn leave_out(lines: &mut Vec<LoggedLine>) -> usize {
    let known = known_repetitions(lines);
    if known.is_empty() && !has_twins(lines) {
        return 0;
    }
    let repeated = with_messages(lines, known);
    let mut index = 0;
    lines.retain(|_| {
        index += 1;
        !repeated.contains(&(index - 1))
    });
    repeated.len()
}

/// Finds the repeated lines that can be told by themselves.
fn known_repetitions(lines: &[LoggedLine]) -> HashSet<usize> {
    let mut events: HashMap<u64, usize> = HashMap::new();
    let mut calls: HashMap<&CallId, usize> = HashMap::new();
    let mut answers: HashMap<&CallId, usize> = HashMap::new();
    let mut repeated = HashSet::new();
    for (index, (_, line)) in lines.iter().enumerate() {
        let first = match &line.record {
            RolloutRecord::EventMsg(event) => *events.entry(event.seq).or_insert(index),
            RolloutRecord::ResponseItem(item) => match (item.open_call(), item.answered_call()) {
                (Some(call), _) => *calls.entry(call).or_insert(index),
                (None, Some(call)) => *answers.entry(call).or_insert(index),
                (None, None) => index,
            },
            _ => index,
        };
        let is_repeated = lines[first].1 == *line || is_rewritten(lines, index);
        if first != index && is_repeated {
            repeated.insert(index);
        }
    }
    repeated
}

/// Tells whether a line is the one before it, at another time.
fn is_rewritten(lines: &[LoggedLine], index: usize) -> bool {
    let before = index.checked_sub(1).map(|at| &lines[at].1);
    let line = &lines[index].1;
    before.is_some_and(|before| before.timestamp != line.timestamp && before.record == line.record)
}

/// Adds the messages that lie next to repeated lines, or directly behind themselves.
fn with_messages(lines: &[LoggedLine], mut repeated: HashSet<usize>) -> HashSet<usize> {
    let mut seen: HashMap<_, Vec<usize>> = HashMap::new();
    let are_rewritten = repeated.iter().any(|at| is_rewritten(lines, *at));
    for (index, (_, line)) in lines.iter().enumerate() {
        if plain_item(line).is_none() {
            continue;
        }
        let same_time = seen.entry(line.timestamp).or_default();
        let is_seen = same_time.iter().any(|at| lines[*at].1 == *line);
        let before = index.checked_sub(1);
        let is_twin = before.is_some_and(|at| lines[at].1 == *line);
        let is_beside = before.is_some_and(|at| repeated.contains(&at))
            || next_known(lines, index).is_some_and(|at| repeated.contains(&at));
        let is_late_twin = are_rewritten && is_rewritten(lines, index);
        if is_late_twin || (is_seen && (is_twin || is_beside)) {
            repeated.insert(index);
        } else {
            same_time.push(index);
        }
    }
    repeated
}

/// Returns the next line that can be told by itself.
fn next_known(lines: &[LoggedLine], index: usize) -> Option<usize> {
    let mut after = lines.iter().enumerate().skip(index + 1);
    let is_known = |line: &StampedRecord<RolloutRecord>| match &line.record {
        RolloutRecord::EventMsg(_) => true,
        RolloutRecord::ResponseItem(_) => plain_item(line).is_none(),
        _ => false,
    };
    after.find_map(|(at, (_, line))| is_known(line).then_some(at))
}

fn has_twins(lines: &[LoggedLine]) -> bool {
    lines
        .windows(2)
        .any(|pair| plain_item(&pair[0].1).is_some() && pair[0].1 == pair[1].1)
}

/// Returns an item that is neither a call nor the answer to one.
fn plain_item(line: &StampedRecord<RolloutRecord>) -> Option<&ResponseItem> {
    match &line.record {
        RolloutRecord::ResponseItem(item)
            if item.open_call().is_none() && item.answered_call().is_none() =>
        {
            Some(item)
        }
        _ => None,
    }
}
