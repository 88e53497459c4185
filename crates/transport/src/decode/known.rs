//! The types that a message may have, and the one that was probably meant.

use troupe_protocol::JsonCodec;

use crate::limits::SHOWN_TYPE_BYTES_MAX;
use crate::refusal::shortened;

/// Returns what to say about `kind` if no variant of `B` is called so.
pub(super) fn unknown_type<B: JsonCodec>(kind: String) -> Option<String> {
    let known = known_types::<B>();
    if known.contains(&kind) {
        return None;
    }
    let kind = shortened(kind, SHOWN_TYPE_BYTES_MAX);
    Some(match nearest(&kind, &known) {
        Some(near) => format!("unknown type `{kind}`; did you mean `{near}`?"),
        None => format!("unknown type `{kind}`; known types: {}", known.join(", ")),
    })
}

/// Returns the names that serde itself would take, from its own complaint, so that the list
/// cannot differ from what is accepted: "unknown variant ``, expected one of `a`, `b`".
fn known_types<B: JsonCodec>() -> Vec<String> {
    let complaint = match B::from_json(br#"{"type":""}"#) {
        Ok(_) => return Vec::new(),
        Err(error) => error.to_string(),
    };
    let expected = complaint.split_once("expected").map_or("", |(_, it)| it);
    let quoted = expected.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// Returns the known name that takes the fewest edits, if they are few.
fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let edits_max = (name.chars().count() / 3).max(1);
    known
        .iter()
        .map(|candidate| (strsim::levenshtein(name, candidate), candidate.as_str()))
        .filter(|(edits, _)| *edits <= edits_max)
        .min()
        .map(|(_, candidate)| candidate)
}
