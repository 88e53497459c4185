//! Dotted keys, as people write them.

use std::fmt;

/// The way to a value: `model_providers.local.base_url`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyPath(Vec<String>);

impl KeyPath {
    /// Reads a dotted key. Parts that hold dots are quoted: `projects."/a.b".trust_level`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        let mut rest = text.trim();
        loop {
            let (part, after) = split_part(rest)?;
            parts.push(part);
            rest = after.trim_start();
            if rest.is_empty() {
                return Some(Self(parts));
            }
            rest = rest.strip_prefix('.')?.trim_start();
        }
    }

    pub fn root() -> Self {
        Self::default()
    }

    pub fn parts(&self) -> &[String] {
        &self.0
    }

    pub fn child(&self, name: &str) -> Self {
        let mut parts = self.0.clone();
        parts.push(name.to_owned());
        Self(parts)
    }

    /// Returns this path as seen from further up.
    pub(crate) fn under(mut self, parent: &Self) -> Self {
        self.0.splice(0..0, parent.0.iter().cloned());
        self
    }

    pub(crate) fn prepend(&mut self, name: &str) {
        self.0.insert(0, name.to_owned());
    }
}

impl<const N: usize> From<[&str; N]> for KeyPath {
    fn from(parts: [&str; N]) -> Self {
        Self(parts.iter().map(|&part| part.to_owned()).collect())
    }
}

impl fmt::Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if is_bare(part) {
                f.write_str(part)?;
            } else {
                write!(f, "{part:?}")?;
            }
        }
        Ok(())
    }
}

/// Splits the first part off; what follows it begins with a dot or is empty.
fn split_part(text: &str) -> Option<(String, &str)> {
    let first = text.chars().next()?;
    if first == '"' || first == '\'' {
        let (part, after) = text[1..].split_once(first)?;
        return Some((part.to_owned(), after));
    }
    let end = text.find('.').unwrap_or(text.len());
    let part = text[..end].trim_end();
    is_bare(part).then(|| (part.to_owned(), &text[end..]))
}

fn is_bare(part: &str) -> bool {
    !part.is_empty()
        && part
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::KeyPath;

    fn check(text: &str, parts: Option<&[&str]>) {
        let parsed = KeyPath::parse(text);
        let found: Option<Vec<&str>> = parsed
            .as_ref()
            .map(|key| key.parts().iter().map(String::as_str).collect());
        assert_eq!(found.as_deref(), parts, "{text}");
    }

    #[test]
    fn dotted_keys() {
        check("model", Some(&["model"]));
        check("a.b-c.d_1", Some(&["a", "b-c", "d_1"]));
        check(" a . b ", Some(&["a", "b"]));
        check(
            r#"projects."/tmp/x.y".trust_level"#,
            Some(&["projects", "/tmp/x.y", "trust_level"]),
        );
        check("'a.b'.c", Some(&["a.b", "c"]));
        check("", None);
        check("a..b", None);
        check("a.", None);
        check("a b", None);
        check(r#""open"#, None);
        check(r#""a"b"#, None);
    }

    #[test]
    fn a_printed_key_reads_back() {
        for text in ["a.b", r#"projects."/tmp/x.y".trust_level"#] {
            let key = KeyPath::parse(text).unwrap();
            assert_eq!(key.to_string(), text);
        }
    }
}
