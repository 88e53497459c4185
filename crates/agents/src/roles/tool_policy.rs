//! Which tools a role has.

use std::fmt;

use serde::{Serialize, Serializer};

use super::limits::PATTERN_CHARS_MAX;

/// The allow and deny list of a role.
///
/// Entries are exact names or patterns, and case counts. Deny beats allow. Without an allow
/// list everything is allowed; with an empty one, nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    pub allow: Option<Vec<ToolPattern>>,
    pub deny: Vec<ToolPattern>,
}

impl ToolPolicy {
    /// Tells whether a tool of this name may be offered and called.
    pub fn allows(&self, tool: &str) -> bool {
        let named = |patterns: &[ToolPattern]| patterns.iter().any(|pattern| pattern.matches(tool));
        !named(&self.deny) && self.allow.as_deref().is_none_or(named)
    }
}

/// The name of a tool, in which `*` stands for any characters and `?` for one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPattern(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected the name of a tool, in which `*` and `?` may stand for other characters, found {0:?}"
)]
pub struct BadPattern(pub String);

impl ToolPattern {
    /// Refuses what no tool can be called: an entry of a deny list that never matches would
    /// look like a lock and be none.
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let allowed = |letter: u8| letter.is_ascii_alphanumeric() || b"_-.:/*?".contains(&letter);
        if (1..=PATTERN_CHARS_MAX).contains(&text.len()) && text.bytes().all(allowed) {
            Ok(Self(text.to_owned()))
        } else {
            Err(BadPattern(text.chars().take(PATTERN_CHARS_MAX).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Matches the whole name.
    ///
    /// Only the last `*` is ever tried again: what an earlier one could take more of, the
    /// last one can take as well. So the cost is bounded by pattern × name.
    pub fn matches(&self, tool: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = tool.chars().collect();
        let (mut at, mut in_name) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while in_name < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    retry = Some((at, in_name));
                    at += 1;
                }
                Some(&letter) if letter == '?' || letter == name[in_name] => {
                    at += 1;
                    in_name += 1;
                }
                _ => {
                    let Some((star, taken)) = retry else {
                        return false;
                    };
                    retry = Some((star, taken + 1));
                    at = star + 1;
                    in_name = taken + 1;
                }
            }
        }
        pattern[at..].iter().all(|&letter| letter == '*')
    }
}

impl ToolPattern {
    /// Tells whether it matches some name that begins so. What is left of a pattern can
    /// always be matched by something.
    pub(super) fn matches_some_beginning(&self, beginning: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let mut places = vec![0];
        for letter in beginning.chars() {
            let mut next = Vec::new();
            for place in with_stars_left_out(&pattern, places) {
                match pattern.get(place) {
                    Some('*') => next.push(place),
                    Some(&expected) if expected == '?' || expected == letter => {
                        next.push(place + 1);
                    }
                    _ => {}
                }
            }
            next.dedup();
            places = next;
        }
        !places.is_empty()
    }
}

/// Adds the places behind each star that stands for nothing. Sorted, each once.
fn with_stars_left_out(pattern: &[char], places: Vec<usize>) -> Vec<usize> {
    let mut all = Vec::new();
    for mut place in places {
        all.push(place);
        while pattern.get(place) == Some(&'*') {
            place += 1;
            all.push(place);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

impl fmt::Display for ToolPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for ToolPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{ToolPattern, ToolPolicy};

    fn patterns(words: &str) -> Vec<ToolPattern> {
        words
            .split_whitespace()
            .map(|word| ToolPattern::parse(word).unwrap())
            .collect()
    }

    fn policy(allow: Option<&str>, deny: &str) -> ToolPolicy {
        ToolPolicy {
            allow: allow.map(patterns),
            deny: patterns(deny),
        }
    }

    fn check(allow: Option<&str>, deny: &str, tool: &str, expected: bool) {
        let policy = policy(allow, deny);
        assert_eq!(policy.allows(tool), expected, "{policy:?} {tool}");
    }

    #[test]
    fn deny_beats_allow_and_no_allow_list_is_everything() {
        check(None, "", "anything", true);
        check(None, "spawn_agent", "spawn_agent", false);
        check(None, "spawn_agent", "spawn_agents", true);
        check(Some("read_file"), "", "read_file", true);
        check(Some("read_file"), "", "shell_command", false);
        check(Some("read_file"), "read_file", "read_file", false);
        check(Some("*"), "subagent_*", "subagent_fork", false);
        check(Some("*"), "*", "read_file", false);
        check(Some(""), "", "read_file", false);
    }

    #[test]
    fn case_counts() {
        check(Some("Read_File"), "", "read_file", false);
        check(None, "SPAWN_*", "spawn_agent", true);
    }

    #[test]
    fn globs_match_whole_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "x", true),
            ("?", "", false),
            ("?", "é", true),
            ("mcp__*__get_*", "mcp__files__get_one", true),
            ("mcp__*__get_*", "mcp__files__set_one", false),
            ("*_file", "read_file", true),
            ("*_file", "read_file_2", false),
            ("a*b*c", "a_b_b_c", true),
            ("a*b*c", "a_c_b", false),
            ("list_???", "list_dir", true),
            ("list_???", "list_dirs", false),
        ] {
            let found = ToolPattern::parse(pattern).unwrap().matches(name);
            assert_eq!(found, expected, "{pattern} {name}");
        }
    }

    #[test]
    fn what_never_matches_is_refused() {
        for text in ["", " ", "spawn_agent ", "a,b", "[ab]*", "{a,b}", "!x", "é"] {
            assert!(ToolPattern::parse(text).is_err(), "{text:?}");
        }
        assert!(ToolPattern::parse(&"*".repeat(129)).is_err());
    }

    #[test]
    fn many_stars_are_not_slow() {
        let pattern = ToolPattern::parse(&"*a".repeat(64)).unwrap();
        assert!(!pattern.matches(&"a".repeat(63)));
        assert!(!pattern.matches(&format!("{}b", "a".repeat(20_000))));
    }

    /// The definition, without regard to cost.
    fn by_definition(pattern: &[u8], name: &[u8]) -> bool {
        match (pattern, name) {
            ([], []) => true,
            ([b'*', rest @ ..], _) => {
                by_definition(rest, name)
                    || (!name.is_empty() && by_definition(pattern, &name[1..]))
            }
            ([b'?', rest @ ..], [_, others @ ..]) => by_definition(rest, others),
            ([a, rest @ ..], [b, others @ ..]) => a == b && by_definition(rest, others),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn a_beginning_is_matched_if_some_end_makes_it_a_match(
            pattern in "[ab*?]{1,5}", beginning in "[ab]{0,4}"
        ) {
            let mut ends = vec![String::new()];
            for length in 0..5 {
                let longest = ends.iter().filter(|end| end.len() == length);
                let longer: Vec<String> =
                    longest.flat_map(|end| [format!("{end}a"), format!("{end}b")]).collect();
                ends.extend(longer);
            }
            let pattern = ToolPattern::parse(&pattern).unwrap();
            let expected = ends.iter().any(|end| pattern.matches(&format!("{beginning}{end}")));
            prop_assert_eq!(pattern.matches_some_beginning(&beginning), expected);
        }

        #[test]
        fn matching_is_what_it_is_defined_to_be(pattern in "[ab*?]{1,8}", name in "[ab]{0,8}") {
            let expected = by_definition(pattern.as_bytes(), name.as_bytes());
            prop_assert_eq!(ToolPattern::parse(&pattern).unwrap().matches(&name), expected);
        }

        #[test]
        fn another_deny_entry_never_allows_more(
            allow in "[ab*? ]{1,8}", deny in "[ab*? ]{0,8}", more in "[ab*?]{1,4}", name in "[ab]{0,6}"
        ) {
            let before = policy(Some(&allow), &deny);
            let after = policy(Some(&allow), &format!("{deny} {more}"));
            prop_assert!(before.allows(&name) || !after.allows(&name));
        }
    }
}
