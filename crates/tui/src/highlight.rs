//! Colours for code, line by line: comments, strings, numbers and keywords. No grammar, no state
//! from one line to the next, and so no cost to speak of.

use crate::text::{Ink, TextSpan, TextStyle};

/// What tells the parts of a language apart.
struct CodeLanguage {
    names: &'static [&'static str],
    comment: &'static str,
    keywords: &'static str,
}

const LANGUAGES: &[CodeLanguage] = &[
    CodeLanguage {
        names: &["rust", "rs"],
        comment: "//",
        keywords: "as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true false type unsafe use where while",
    },
    CodeLanguage {
        names: &["python", "py"],
        comment: "#",
        keywords: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield",
    },
    CodeLanguage {
        names: &["javascript", "js", "typescript", "ts", "jsx", "tsx"],
        comment: "//",
        keywords: "async await break case catch class const continue default delete do else enum export extends false finally for from function if implements import in instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield",
    },
    CodeLanguage {
        names: &["go"],
        comment: "//",
        keywords: "break case chan const continue default defer else false for func go goto if import interface map nil package range return select struct switch true type var",
    },
    CodeLanguage {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "java", "kotlin", "swift", "cs", "csharp",
        ],
        comment: "//",
        keywords: "abstract auto bool break case catch char class const continue default delete do double else enum extends extern false final float for fun func goto if implements import int interface let long namespace new null nullptr override package private protected public return short signed sizeof static struct super switch template this throw true try typedef union unsigned using val var virtual void volatile while",
    },
    CodeLanguage {
        names: &["sh", "bash", "zsh", "shell", "console"],
        comment: "#",
        keywords: "case do done elif else esac exit export fi for function if in local return set then until while",
    },
    CodeLanguage {
        names: &[
            "toml",
            "yaml",
            "yml",
            "ini",
            "dockerfile",
            "make",
            "makefile",
            "ruby",
            "rb",
        ],
        comment: "#",
        keywords: "true false null nil begin class def do else elsif end ensure if module require rescue return self unless until while yield",
    },
    CodeLanguage {
        names: &["sql"],
        comment: "--",
        keywords: "ALTER AND AS BY CREATE DELETE DROP FROM GROUP HAVING IN INDEX INSERT INTO IS JOIN LEFT LIMIT NOT NULL ON OR ORDER SELECT SET TABLE UPDATE VALUES WHERE WITH and as by create delete drop from group in index insert into join left limit not null on or order select set table update values where with",
    },
    CodeLanguage {
        names: &["json"],
        comment: "\0",
        keywords: "true false null",
    },
];

const COMMENT: TextStyle = TextStyle::DIM;
const STRING: TextStyle = TextStyle::ink(Ink::Green);
const NUMBER: TextStyle = TextStyle::ink(Ink::Cyan);
const KEYWORD: TextStyle = TextStyle::ink(Ink::Magenta);

/// Returns a line of code, coloured if the language is known.
pub fn highlighted(line: &str, language: &str) -> Vec<TextSpan> {
    let word = language
        .split(|letter: char| !letter.is_alphanumeric() && letter != '+')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let known = LANGUAGES
        .iter()
        .find(|known| known.names.contains(&word.as_str()));
    let Some(known) = known else {
        return if word == "diff" {
            vec![TextSpan::new(line, diff_style(line))]
        } else {
            vec![TextSpan::new(line, TextStyle::PLAIN)]
        };
    };
    known.spans(line)
}

/// Returns how a line of a unified diff is marked.
pub fn diff_style(line: &str) -> TextStyle {
    match line.as_bytes().first() {
        Some(b'+') => TextStyle::ink(Ink::Green),
        Some(b'-') => TextStyle::ink(Ink::Red),
        Some(b'@') => TextStyle::ink(Ink::Cyan),
        _ => TextStyle::PLAIN,
    }
}

impl CodeLanguage {
    fn spans(&self, line: &str) -> Vec<TextSpan> {
        let mut spans = Vec::new();
        let mut rest = line;
        while let Some(first) = rest.chars().next() {
            let (length, style) = if rest.starts_with(self.comment) {
                (rest.len(), COMMENT)
            } else if matches!(first, '"' | '\'' | '`') {
                match string_length(rest, first) {
                    Some(length) => (length, STRING),
                    // A lifetime, or a string that goes on below.
                    None => (first.len_utf8(), TextStyle::PLAIN),
                }
            } else if first.is_ascii_digit() {
                let is_number =
                    |letter: char| letter.is_ascii_alphanumeric() || "._".contains(letter);
                (run_length(rest, is_number), NUMBER)
            } else if first.is_alphabetic() || first == '_' {
                let length = run_length(rest, |letter| letter.is_alphanumeric() || letter == '_');
                let is_keyword = self.keywords.split(' ').any(|word| word == &rest[..length]);
                (
                    length,
                    if is_keyword {
                        KEYWORD
                    } else {
                        TextStyle::PLAIN
                    },
                )
            } else {
                let other =
                    |letter: char| !(letter.is_alphanumeric() || "_\"'`#-/\0".contains(letter));
                (
                    run_length(rest, other).max(first.len_utf8()),
                    TextStyle::PLAIN,
                )
            };
            spans.push(TextSpan::new(&rest[..length], style));
            rest = &rest[length..];
        }
        spans
    }
}

fn run_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|letter| !belongs(letter)).unwrap_or(text.len())
}

fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            letter if letter == quote => return Some(at + quote.len_utf8()),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_line_are_told_apart() {
        let marked = |line: &str, language: &str| -> Vec<(String, TextStyle)> {
            highlighted(line, language)
                .into_iter()
                .filter(|span| span.style != TextStyle::PLAIN)
                .map(|span| (span.text, span.style))
                .collect()
        };
        assert_eq!(
            marked("let x = \"a\\\"b\" + 12; // no", "rust"),
            [
                ("let".to_owned(), KEYWORD),
                ("\"a\\\"b\"".to_owned(), STRING),
                ("12".to_owned(), NUMBER),
                ("// no".to_owned(), COMMENT),
            ]
        );
        assert!(marked("fn f<'a>(x: &'a str)", "text").is_empty());
        let text: String = highlighted("é = 'x' # y", "py,ignore")
            .into_iter()
            .map(|span| span.text)
            .collect();
        assert_eq!(text, "é = 'x' # y");
    }
}
