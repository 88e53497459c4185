//! A text file as lines that remember how they ended.

/// The byte order mark, which belongs to no line.
const MARK: char = '\u{feff}';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileLine<'a> {
    pub text: &'a str,
    /// `\n`, `\r\n`, `\r`, or nothing at the end of a file.
    pub end: &'a str,
}

#[derive(Debug)]
pub struct FileText<'a> {
    pub mark: &'a str,
    pub lines: Vec<FileLine<'a>>,
}

impl<'a> FileText<'a> {
    pub fn new(content: &'a str) -> Self {
        let body = content.strip_prefix(MARK).unwrap_or(content);
        let mark = &content[..content.len() - body.len()];
        let mut lines = Vec::new();
        let mut rest = body;
        while !rest.is_empty() {
            let (line, after) = first_line(rest);
            lines.push(line);
            rest = after;
        }
        Self { mark, lines }
    }

    /// What new lines end with: the first line end of the file.
    pub fn line_end(&self) -> &'a str {
        match self.lines.first() {
            Some(line) if !line.end.is_empty() => line.end,
            _ => "\n",
        }
    }
}

fn first_line(rest: &str) -> (FileLine<'_>, &str) {
    let length = rest.find(['\n', '\r']).unwrap_or(rest.len());
    let (text, after) = rest.split_at(length);
    let end = if after.starts_with("\r\n") {
        2
    } else {
        after.len().min(1)
    };
    let (end, after) = after.split_at(end);
    (FileLine { text, end }, after)
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(content: &str, expected: Expect) {
        let text = FileText::new(content);
        let pairs: Vec<_> = text
            .lines
            .iter()
            .map(|line| (line.text, line.end))
            .collect();
        expected.assert_eq(&format!("{:?} {:?} {pairs:?}", text.mark, text.line_end()));
    }

    #[test]
    fn lines_keep_their_ends() {
        check("", expect![[r#""" "\n" []"#]]);
        check("a", expect![[r#""" "\n" [("a", "")]"#]]);
        check("\n", expect![[r#""" "\n" [("", "\n")]"#]]);
        check(
            "a\r\nb\rc\n\nd",
            expect![[
                r#""" "\r\n" [("a", "\r\n"), ("b", "\r"), ("c", "\n"), ("", "\n"), ("d", "")]"#
            ]],
        );
        check(
            "\u{feff}a\r\r\n",
            expect![[r#""\u{feff}" "\r" [("a", "\r"), ("", "\r\n")]"#]],
        );
    }
}
