//! The names that models call tools of servers by.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};
use troupe_tools::{callable, server_prefix};

use crate::limits::NAME_BYTES_MAX;

/// Hexadecimal digits that tell apart what would have one name.
const MARK_DIGITS: usize = 8;

/// Returns a name for each tool of each server, `mcp__<server>__<tool>`: made of letters,
/// digits, `_` and `-`, short enough for every provider, and no two alike.
///
/// A name depends on the other tools only where two would be alike: then each has a mark made
/// of its true name, so that the order in which servers answer does not matter.
pub(crate) fn names(tools: &[(&str, &str)]) -> Vec<String> {
    let plain: Vec<String> = tools
        .iter()
        .map(|(server, tool)| format!("{}{}", server_prefix(server), callable(tool)))
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *counts.entry(name).or_default() += 1;
    }
    let is_usable = |name: &String| name.len() <= NAME_BYTES_MAX && counts[name.as_str()] == 1;
    let named = plain.iter().zip(tools);
    named
        .map(|(name, tool)| {
            if is_usable(name) {
                name.clone()
            } else {
                marked(name, tool)
            }
        })
        .collect()
}

fn marked(name: &str, (server, tool): &(&str, &str)) -> String {
    let digest = Sha256::new()
        .chain_update(server)
        .chain_update([0])
        .chain_update(tool)
        .finalize();
    let mark = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    // All of it is ASCII by now, so any place is between two characters.
    let kept = name.len().min(NAME_BYTES_MAX - MARK_DIGITS - 1);
    format!("{}_{mark:08x}", &name[..kept])
}

#[cfg(test)]
mod tests;
