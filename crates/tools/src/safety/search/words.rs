//! The words of a command, decoded as far as they are literal.

use tree_sitter::Node;

use crate::safety::script::{ShellScript, children};

/// `None`: only known when the command runs.
pub type Word = Option<String>;

pub fn of_command(script: &ShellScript<'_>, command: Node<'_>) -> Vec<Word> {
    children(command)
        .into_iter()
        .filter(|child| {
            !matches!(
                child.kind(),
                "variable_assignment" | "file_redirect" | "herestring_redirect"
            )
        })
        .map(|child| literal(script, child))
        .collect()
}

pub fn literal(script: &ShellScript<'_>, node: Node<'_>) -> Word {
    let text = script.text(node);
    match node.kind() {
        "command_name" => literal(script, node.child(0)?),
        "word" | "number" => Some(unescape_bare(text)),
        "raw_string" => Some(text.trim_matches('\'').to_owned()),
        "ansi_c_string" => {
            let inner = text.strip_prefix("$'")?.strip_suffix('\'')?;
            Some(unescape_ansi(inner))
        }
        "string" if children(node).iter().all(|part| !is_expansion(*part)) => {
            let inner = text.strip_prefix('"')?.strip_suffix('"')?;
            Some(unescape_double(inner))
        }
        "translated_string" => literal(script, node.named_child(0)?),
        "concatenation" => {
            let parts = children(node);
            parts
                .into_iter()
                .map(|part| literal(script, part))
                .collect()
        }
        _ => None,
    }
}

fn is_expansion(part: Node<'_>) -> bool {
    part.is_named() && part.kind() != "string_content"
}

fn unescape_bare(text: &str) -> String {
    unescape(text, |_| true)
}

fn unescape_double(text: &str) -> String {
    unescape(text, |c| matches!(c, '$' | '`' | '"' | '\\'))
}

/// Removes backslashes before the characters that they make plain, and continued lines.
fn unescape(text: &str, plain: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('\n') => {}
            Some(next) if plain(next) => out.push(next),
            Some(next) => out.extend(['\\', next]),
            None => out.push('\\'),
        }
    }
    out
}

/// `$'…'`, with the escapes that stand for printable characters.
fn unescape_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(kind) = after.chars().next() else {
            return out;
        };
        let (radix, skip, digits_max) = match kind {
            'x' => (16, 1, 2),
            'u' => (16, 1, 4),
            'U' => (16, 1, 8),
            '0'..='7' => (8, 0, 3),
            _ => {
                out.push(match kind {
                    'n' => '\n',
                    't' => '\t',
                    other => other,
                });
                rest = &after[kind.len_utf8()..];
                continue;
            }
        };
        let number = &after[skip..];
        let digits = number
            .chars()
            .take(digits_max)
            .take_while(|c| c.is_digit(radix))
            .count();
        let code = u32::from_str_radix(&number[..digits], radix).ok();
        out.extend(code.and_then(char::from_u32));
        rest = &number[digits..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ansi_quotes_are_decoded() {
        let cases = [
            (r"rm", "rm"),
            (r"\x72\155", "rm"),
            (r"\u0072m\t", "rm\t"),
            (r"\'\\", r"'\"),
            (r"a\", "a"),
            (r"\xzz", "zz"),
            (r"\U00110000", ""),
        ];
        for (text, decoded) in cases {
            assert_eq!(unescape_ansi(text), decoded, "{text}");
        }
    }

    #[test]
    fn backslashes_are_removed_where_the_shell_removes_them() {
        assert_eq!(unescape_bare("r\\m\\\n"), "rm");
        assert_eq!(unescape_double(r#"a\"b\c\$"#), r#"a"b\c$"#);
    }
}
