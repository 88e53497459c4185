//! Events of the Markdown parser become rows.

use pulldown_cmark::{Alignment, CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use crate::highlight::highlighted;
use crate::text::wrap::{WrapMode, wrap_into};
use crate::text::{Indent, Ink, TextRow, TextSpan, TextStyle, text_width};

pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

/// Returns a text in Markdown as rows.
pub fn markdown_rows(text: &str, columns: usize) -> Vec<TextRow> {
    let mut page = Page::new(columns);
    for event in Parser::new_ext(text, options()) {
        page.take(event);
    }
    page.flush();
    page.rows
}

/// A list that is open: the number of its next item, if items have numbers.
type OpenList = Option<u64>;

#[derive(Default)]
struct OpenTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<Vec<TextSpan>>>,
}

struct Page {
    columns: usize,
    rows: Vec<TextRow>,
    /// The line that is being filled.
    spans: Vec<TextSpan>,
    style: Vec<TextStyle>,
    lists: Vec<OpenList>,
    /// The mark of the item whose first line was not written yet.
    mark: Option<String>,
    quotes: usize,
    /// The language of an open code block.
    code: Option<String>,
    table: Option<OpenTable>,
    link: Option<String>,
    /// A blank row comes before the next block.
    gap: bool,
}

impl Page {
    fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: Vec::new(),
            spans: Vec::new(),
            style: vec![TextStyle::PLAIN],
            lists: Vec::new(),
            mark: None,
            quotes: 0,
            code: None,
            table: None,
            link: None,
            gap: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) if self.code.is_some() => self.code_lines(&text),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.words(&text),
            Event::Code(text) => self.span(&text, TextStyle::ink(Ink::Cyan)),
            Event::SoftBreak => self.words(" "),
            Event::HardBreak => self.line(),
            Event::Rule => {
                self.block();
                let rule = "─".repeat(self.columns.min(20));
                self.rows.push(TextRow::dim(rule));
                self.gap = true;
            }
            Event::TaskListMarker(done) => self.words(if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.words(&text);
            }
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.block(),
            Tag::Heading { level, .. } => {
                self.block();
                self.style.push(TextStyle::BOLD);
                self.span(heading_mark(level), TextStyle::BOLD);
            }
            Tag::BlockQuote(_) => {
                self.block();
                self.quotes += 1;
            }
            Tag::CodeBlock(kind) => {
                self.block();
                self.code = Some(match kind {
                    CodeBlockKind::Fenced(language) => language.to_string(),
                    CodeBlockKind::Indented => String::new(),
                });
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.block();
                } else {
                    self.line();
                    self.gap = false;
                }
                self.lists.push(first);
            }
            Tag::Item => {
                self.line();
                self.gap = false;
                let mark = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        *number += 1;
                        format!("{}. ", *number - 1)
                    }
                    _ => "- ".to_owned(),
                };
                self.mark = Some(mark);
            }
            Tag::Table(alignments) => {
                self.block();
                self.table = Some(OpenTable {
                    alignments,
                    rows: Vec::new(),
                });
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.rows.push(Vec::new());
                }
            }
            Tag::Emphasis => self.mark_with(|style| style.italic = true),
            Tag::Strong => self.mark_with(|style| style.bold = true),
            Tag::Strikethrough => self.mark_with(|style| style.strike = true),
            Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. } => {
                self.link = Some(dest_url.to_string());
                self.mark_with(|style| style.underline = true);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.line();
                self.gap = true;
            }
            TagEnd::Heading(_) => {
                self.line();
                self.style.pop();
                self.gap = true;
            }
            TagEnd::BlockQuote(_) => {
                self.line();
                self.quotes = self.quotes.saturating_sub(1);
                self.gap = true;
            }
            TagEnd::CodeBlock => {
                self.code = None;
                self.gap = true;
            }
            TagEnd::Item => {
                self.line();
                // An item of nothing has its mark all the same.
                if let Some(mark) = self.mark.take() {
                    self.spans.push(TextSpan::new(mark, TextStyle::PLAIN));
                    self.line();
                }
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.spans);
                let row = self.table.as_mut().and_then(|table| table.rows.last_mut());
                if let Some(row) = row {
                    row.push(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    self.rows.extend(table_rows(&table, self.columns));
                }
                self.gap = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.style.pop();
            }
            TagEnd::Link | TagEnd::Image => {
                self.style.pop();
                let url = self.link.take().unwrap_or_default();
                let said = self.spans.last().is_some_and(|last| last.text == url);
                if !said && !url.is_empty() {
                    self.span(&format!(" ({url})"), TextStyle::DIM);
                }
            }
            _ => {}
        }
    }

    fn mark_with(&mut self, change: impl FnOnce(&mut TextStyle)) {
        let mut style = self.current();
        change(&mut style);
        self.style.push(style);
    }

    fn current(&self) -> TextStyle {
        self.style.last().copied().unwrap_or_default()
    }

    fn words(&mut self, text: &str) {
        let style = self.current();
        for (number, line) in text.trim_end_matches('\n').split('\n').enumerate() {
            if number > 0 {
                self.line();
            }
            self.span(line, style);
        }
    }

    fn span(&mut self, text: &str, style: TextStyle) {
        self.spans.push(TextSpan::new(text, style));
    }

    /// Begins a block.
    fn block(&mut self) {
        self.line();
        if self.gap && !self.rows.is_empty() && self.mark.is_none() {
            self.rows.push(TextRow::new());
        }
        self.gap = false;
    }

    fn code_lines(&mut self, text: &str) {
        let language = self.code.clone().unwrap_or_default();
        let indent = self.indent();
        for line in text.lines() {
            let spans = highlighted(line, &language);
            let mode = WrapMode::Letters;
            wrap_into(&mut self.rows, &spans, &indent, self.columns, mode);
        }
    }

    /// Ends the line that is being filled.
    fn line(&mut self) {
        if self.spans.is_empty() {
            return;
        }
        let spans = std::mem::take(&mut self.spans);
        let indent = self.indent();
        wrap_into(
            &mut self.rows,
            &spans,
            &indent,
            self.columns,
            WrapMode::Words,
        );
    }

    fn flush(&mut self) {
        self.line();
    }

    /// Returns what stands before the rows of the next line; uses the mark of an item up.
    fn indent(&mut self) -> Indent {
        let quote = "> ".repeat(self.quotes);
        let depth = self.lists.len().saturating_sub(1);
        let outer = format!("{quote}{}", "  ".repeat(depth));
        let mark = self.mark.take();
        let inner = match &mark {
            Some(mark) => " ".repeat(text_width(mark)),
            None if self.lists.is_empty() => String::new(),
            None => "  ".to_owned(),
        };
        let first = format!("{outer}{}", mark.as_deref().unwrap_or(&inner));
        let span = |text: String| {
            if text.is_empty() {
                Vec::new()
            } else {
                vec![TextSpan::new(text, TextStyle::DIM)]
            }
        };
        Indent {
            first: span(first),
            rest: span(format!("{outer}{inner}")),
        }
    }
}

fn heading_mark(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => "# ",
        HeadingLevel::H2 => "## ",
        HeadingLevel::H3 => "### ",
        HeadingLevel::H4 => "#### ",
        HeadingLevel::H5 => "##### ",
        HeadingLevel::H6 => "###### ",
    }
}

/// Returns a table as columns, or, where it is too wide, one line for each of its rows.
fn table_rows(table: &OpenTable, columns: usize) -> Vec<TextRow> {
    let cell_width =
        |cell: &Vec<TextSpan>| -> usize { cell.iter().map(|span| text_width(&span.text)).sum() };
    let count = table.rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count)
        .map(|at| {
            let cells = table.rows.iter().filter_map(|row| row.get(at));
            cells.map(cell_width).max().unwrap_or(0)
        })
        .collect();
    let fits = widths.iter().sum::<usize>() + 3 * count.saturating_sub(1) <= columns;
    let mut rows = Vec::new();
    for (number, cells) in table.rows.iter().enumerate() {
        let mut line = Vec::new();
        for (at, cell) in cells.iter().enumerate() {
            if at > 0 {
                line.push(TextSpan::new(" | ", TextStyle::DIM));
            }
            let gap = if fits {
                widths[at] - cell_width(cell)
            } else {
                0
            };
            let right = matches!(table.alignments.get(at), Some(Alignment::Right));
            let spaces = TextSpan::new(" ".repeat(gap), TextStyle::PLAIN);
            if right {
                line.push(spaces.clone());
            }
            line.extend(cell.iter().cloned().map(|mut span| {
                span.style.bold |= number == 0;
                span
            }));
            if !right && at + 1 < cells.len() {
                line.push(spaces);
            }
        }
        wrap_into(
            &mut rows,
            &line,
            &Indent::default(),
            columns,
            WrapMode::Words,
        );
        if number == 0 && fits {
            let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            rows.push(TextRow::dim(rules.join("─┼─")));
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(text: &str, columns: usize, expected: Expect) {
        let rows = markdown_rows(text, columns);
        let texts: Vec<String> = rows.iter().map(TextRow::text).collect();
        assert!(rows.iter().all(|row| row.width() <= columns));
        expected.assert_eq(&texts.join("\n"));
    }

    #[test]
    fn blocks_are_rows() {
        check(
            "# Head\nSome *words* and `code` that wrap.\n\n- one\n- two\n  - inner\n\n3. three\n\n> said\n\n```rust\nfn main() {\n    x\n}\n```\nend [link](https://example.org)",
            24,
            expect![[r#"
                # Head

                Some words and code that
                wrap.

                - one
                - two
                  - inner

                3. three

                > said

                fn main() {
                    x
                }

                end link
                (https://example.org)"#]],
        );
    }

    #[test]
    fn tables_are_columns_while_they_fit() {
        let table = "| file | lines |\n|---|--:|\n| a.rs | 1 |\n| long.rs | 200 |";
        check(
            table,
            40,
            expect![[r#"
                file    | lines
                ────────┼──────
                a.rs    |     1
                long.rs |   200"#]],
        );
        check(
            table,
            10,
            expect![[r#"
                file |
                lines
                a.rs | 1
                long.rs |
                200"#]],
        );
    }

    #[test]
    fn what_a_terminal_would_obey_is_shown_as_signs() {
        check("a\u{1b}[31mb `\u{7}`", 40, expect!["a␛[31mb ␇"]);
    }
}
