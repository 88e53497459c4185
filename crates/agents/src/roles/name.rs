//! Names of roles and personas.

use std::fmt;

use serde::Serialize;

use super::limits::NAME_CHARS_MAX;

/// Lower-case letters, digits, `-` and `_`. Names that differ only in `-` and `_` are the
/// same name, so both spellings can be asked for.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RoleName(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a name; expected 1 to {NAME_CHARS_MAX} letters, digits, `-` or `_`")]
pub struct BadName(pub String);

impl RoleName {
    /// Reads a name in any case.
    pub fn parse(text: &str) -> Result<Self, BadName> {
        // Only ASCII is folded: the Kelvin sign is not a `k`.
        let name = text.trim().to_ascii_lowercase();
        let allowed = |letter: u8| matches!(letter, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_');
        if (1..=NAME_CHARS_MAX).contains(&name.len()) && name.bytes().all(allowed) {
            Ok(Self(name))
        } else {
            Err(BadName(text.chars().take(NAME_CHARS_MAX).collect()))
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as it is compared.
    fn folded(&self) -> impl Iterator<Item = u8> {
        self.0.bytes().map(|letter| match letter {
            b'-' => b'_',
            other => other,
        })
    }
}

impl PartialEq for RoleName {
    fn eq(&self, other: &Self) -> bool {
        self.folded().eq(other.folded())
    }
}

impl Eq for RoleName {}

impl PartialOrd for RoleName {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for RoleName {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.folded().cmp(other.folded())
    }
}

impl fmt::Display for RoleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::RoleName;

    fn check(text: &str, expected: Option<&str>) {
        let name = RoleName::parse(text).ok();
        assert_eq!(name.as_ref().map(RoleName::as_str), expected, "{text:?}");
    }

    #[test]
    fn names_are_folded_or_refused() {
        check("worker", Some("worker"));
        check(" Linter-Fixer ", Some("linter-fixer"));
        check("linter_fixer2", Some("linter_fixer2"));
        check("", None);
        check("two words", None);
        check("../worker", None);
        check("wor\u{212a}er", None);
        check("ünder", None);
        check(&"x".repeat(65), None);
    }

    #[test]
    fn dashes_and_underscores_are_one() {
        let name = |text| RoleName::parse(text).unwrap();
        assert_eq!(name("linter-fixer"), name("LINTER_FIXER"));
        assert_ne!(name("linterfixer"), name("linter_fixer"));
    }
}
