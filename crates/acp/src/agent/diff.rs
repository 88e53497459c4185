//! Changes of files, as the texts before and after that clients compare.
//!
//! A unified diff has only the lines around a change, so each of its hunks is one diff.

use std::path::Path;

use agent_client_protocol_schema::v1::{Diff, ToolCallContent};
use troupe_protocol::command::{FileChange, FileChanges};

use crate::limits::DIFFS_MAX;

pub(super) fn of(changes: &FileChanges) -> Vec<ToolCallContent> {
    let diffs = changes
        .iter()
        .flat_map(|(path, change)| of_file(path, change));
    diffs.take(DIFFS_MAX).map(ToolCallContent::from).collect()
}

fn of_file(path: &Path, change: &FileChange) -> Vec<Diff> {
    match change {
        FileChange::Add { content } => vec![Diff::new(path, content.clone())],
        FileChange::Delete { content } => {
            vec![Diff::new(path, "").old_text(content.clone())]
        }
        FileChange::Update {
            unified_diff,
            move_path,
        } => {
            let path = move_path.as_deref().unwrap_or(path);
            let hunks = hunks(unified_diff).into_iter();
            hunks
                .map(|hunk| Diff::new(path, hunk.after).old_text(hunk.before))
                .collect()
        }
    }
}

#[derive(Debug, Default)]
struct DiffHunk {
    before: String,
    after: String,
}

fn hunks(unified_diff: &str) -> Vec<DiffHunk> {
    let mut hunks: Vec<DiffHunk> = Vec::new();
    for line in unified_diff.split_inclusive('\n') {
        if line.starts_with("@@") {
            hunks.push(DiffHunk::default());
            continue;
        }
        // What comes before the first hunk names the files.
        let Some(hunk) = hunks.last_mut() else {
            continue;
        };
        match line.split_at_checked(1) {
            Some((" ", rest)) => {
                hunk.before.push_str(rest);
                hunk.after.push_str(rest);
            }
            Some(("-", rest)) => hunk.before.push_str(rest),
            Some(("+", rest)) => hunk.after.push_str(rest),
            // That a file ends without a newline.
            _ => {}
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::hunks;

    fn check(diff: &str, expected: Expect) {
        expected.assert_debug_eq(&hunks(diff));
    }

    #[test]
    fn a_hunk_has_two_sides() {
        check(
            "--- a\n+++ b\n@@ -1,2 +1,3 @@\n one\n-two\n+zwei\n+drei\n@@ -9 +10 @@\n-x\n+y\n\\ No newline at end of file\n",
            expect![[r#"
                [
                    DiffHunk {
                        before: "one\ntwo\n",
                        after: "one\nzwei\ndrei\n",
                    },
                    DiffHunk {
                        before: "x\n",
                        after: "y\n",
                    },
                ]
            "#]],
        );
    }

    #[test]
    fn what_is_no_diff_has_no_hunks() {
        check(
            "nothing\n",
            expect![[r#"
                []
            "#]],
        );
    }
}
