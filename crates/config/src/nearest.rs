//! Which known name a person may have meant.

use crate::limits::SUGGESTION_EDITS_MAX;

/// Returns the candidate with the fewest edits to `name`, if it is near enough to be a
/// likely slip.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A third of the name may be wrong; in a short name fewer letters carry the meaning.
    let edits_max = (name.chars().count() / 3).clamp(1, SUGGESTION_EDITS_MAX);
    candidates
        .into_iter()
        .map(|candidate| (edits(name, candidate), candidate))
        .filter(|(distance, _)| *distance <= edits_max)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Counts insertions, deletions, substitutions and swaps of neighbours. Case and the
/// choice between `-` and `_` do not count.
fn edits(left: &str, right: &str) -> usize {
    let folded = |name: &str| name.chars().map(fold).collect::<String>();
    strsim::osa_distance(&folded(left), &folded(right))
}

fn fold(letter: char) -> char {
    match letter {
        '-' => '_',
        other => other.to_ascii_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    fn check(name: &str, expected: Option<&str>) {
        let known = ["model", "model_provider", "sandbox_mode", "profile"];
        assert_eq!(nearest(name, known), expected, "{name}");
    }

    #[test]
    fn slips_are_recognised() {
        check("modle", Some("model"));
        check("mode", Some("model"));
        check("model-provider", Some("model_provider"));
        check("SandboxMode", Some("sandbox_mode"));
        check("sanbox_mdoe", Some("sandbox_mode"));
        check("profiles", Some("profile"));
    }

    #[test]
    fn strangers_are_not() {
        check("notify", None);
        check("x", None);
        check("", None);
        check("history_persistence", None);
    }
}
