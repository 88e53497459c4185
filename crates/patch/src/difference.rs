//! How two texts differ, for people: a unified diff.
//!
//! Only the algorithm that is used is named here. The convenient way in asks for it by a value, and
//! the compiler then makes every algorithm there is, which took a third of this crate's build.

use std::fmt::{self, Write as _};
use std::ops::Range;
use std::time::{Duration, Instant};

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{DiffOp, group_diff_ops};

use crate::limits::DIFF_MS_MAX;

/// How many lines around a change are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiffContext {
    /// Enough to see what one patch did.
    Narrow,
    /// As much as other tools need to find the place.
    Usual,
}

impl DiffContext {
    fn lines(self) -> usize {
        match self {
            Self::Narrow => 1,
            Self::Usual => 3,
        }
    }
}

/// Beyond its time limit the result is right and larger than it need be.
pub fn difference(before: &str, after: &str, context: DiffContext) -> String {
    let deadline = Instant::now() + Duration::from_millis(DIFF_MS_MAX);
    let before: Vec<&str> = before.split_inclusive('\n').collect();
    let after: Vec<&str> = after.split_inclusive('\n').collect();
    let hunks = group_diff_ops(changes(&before, &after, deadline), context.lines());
    let mut text = String::new();
    for hunk in &hunks {
        write_hunk(&mut text, hunk, &before, &after).expect("a string takes everything");
    }
    text
}

fn changes(before: &[&str], after: &[&str], deadline: Instant) -> Vec<DiffOp> {
    let mut hook = Compact::new(Replace::new(Capture::new()), before, after);
    let (old, new) = (0..before.len(), 0..after.len());
    let Ok(()) = myers::diff_deadline(&mut hook, before, old, after, new, Some(deadline));
    hook.into_inner().into_inner().into_ops()
}

fn write_hunk(text: &mut String, hunk: &[DiffOp], before: &[&str], after: &[&str]) -> fmt::Result {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
        return Ok(());
    };
    write!(text, "@@ -")?;
    write_range(text, first.old_range().start..last.old_range().end)?;
    write!(text, " +")?;
    write_range(text, first.new_range().start..last.new_range().end)?;
    writeln!(text, " @@")?;
    for change in hunk {
        let (old, new) = (&before[change.old_range()], &after[change.new_range()]);
        match change {
            DiffOp::Equal { .. } => write_lines(text, ' ', old)?,
            DiffOp::Delete { .. } | DiffOp::Insert { .. } | DiffOp::Replace { .. } => {
                write_lines(text, '-', old)?;
                write_lines(text, '+', new)?;
            }
        }
    }
    Ok(())
}

/// Lines count from one; a range without lines is named by the line before it.
fn write_range(text: &mut String, lines: Range<usize>) -> fmt::Result {
    match lines.len() {
        0 => write!(text, "{},0", lines.start),
        1 => write!(text, "{}", lines.start + 1),
        length => write!(text, "{},{length}", lines.start + 1),
    }
}

fn write_lines(text: &mut String, sign: char, lines: &[&str]) -> fmt::Result {
    for line in lines {
        write!(text, "{sign}{line}")?;
        if !line.ends_with('\n') {
            text.push_str("\n\\ No newline at end of file\n");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(before: &str, after: &str, expected: Expect) {
        expected.assert_eq(&difference(before, after, DiffContext::Narrow));
    }

    #[test]
    fn equal_texts_have_none() {
        check("", "", expect![""]);
        check("a\nb\n", "a\nb\n", expect![""]);
    }

    #[test]
    fn changes_have_a_line_of_context() {
        check(
            "a\nb\nc\nd\n",
            "a\nb\nX\nd\n",
            expect![[r#"
                @@ -2,3 +2,3 @@
                 b
                -c
                +X
                 d
            "#]],
        );
    }

    #[test]
    fn changes_far_apart_are_hunks_of_their_own() {
        check(
            "a\nb\nc\nd\ne\nf\n",
            "b\nc\nd\ne\nf\ng\n",
            expect![[r#"
                @@ -1,2 +1 @@
                -a
                 b
                @@ -6 +5,2 @@
                 f
                +g
            "#]],
        );
    }

    #[test]
    fn a_whole_text_comes_or_goes() {
        check(
            "",
            "a\nb\n",
            expect![[r#"
                @@ -0,0 +1,2 @@
                +a
                +b
            "#]],
        );
        check(
            "a\n",
            "",
            expect![[r#"
                @@ -1 +0,0 @@
                -a
            "#]],
        );
    }

    #[test]
    fn a_missing_last_newline_is_told() {
        check(
            "a",
            "a\n",
            expect![[r#"
                @@ -1 +1 @@
                -a
                \ No newline at end of file
                +a
            "#]],
        );
    }
}
