//! One file of a diff, as git writes it.

use std::fmt::Write as _;
use std::path::Path;

use troupe_patch::{DiffContext, difference};
use troupe_protocol::undo::FileState;

use super::DiffSide;

/// Returns how a file differs. Both sides are known not to be the same.
pub(super) fn file(path: &Path, before: &DiffSide, after: &DiffSide) -> String {
    let (old, new) = (name("a", path), name("b", path));
    let mut text = format!("diff --git {old} {new}\n");
    let header = match (mode(&before.state), mode(&after.state)) {
        (None, Some(mode)) => format!("new file mode {mode}\n"),
        (Some(mode), None) => format!("deleted file mode {mode}\n"),
        (Some(before), Some(after)) if before != after => {
            format!("old mode {before}\nnew mode {after}\n")
        }
        (Some(_), Some(_)) | (None, None) => String::new(),
    };
    text.push_str(&header);
    let shown = |side: &DiffSide, name: &str| match side.state {
        FileState::Absent => "/dev/null".to_owned(),
        FileState::File { .. } | FileState::Link { .. } | FileState::Other { .. } => {
            name.to_owned()
        }
    };
    let (from, to) = (shown(before, &old), shown(after, &new));
    match (content(before), content(after)) {
        (Some(before), Some(after)) if before == after => {}
        (Some(before), Some(after)) => {
            let hunks = difference(before, after, DiffContext::Usual);
            write!(text, "--- {from}\n+++ {to}\n{hunks}").expect("a string takes everything");
        }
        // What is too large is said as of what is not text: readers of diffs know that line.
        _ => writeln!(text, "Binary files {from} and {to} differ")
            .expect("a string takes everything"),
    }
    text
}

/// Says how many files are missing, in a line that readers of diffs pass over.
pub(super) fn left_out(count: usize) -> String {
    match count {
        1 => "# one more file was changed\n".to_owned(),
        count => format!("# {count} more files were changed\n"),
    }
}

fn content(side: &DiffSide) -> Option<&str> {
    match side.state {
        FileState::Absent => Some(""),
        FileState::File { .. } | FileState::Link { .. } | FileState::Other { .. } => {
            side.text.as_deref()
        }
    }
}

fn mode(state: &FileState) -> Option<&'static str> {
    match state {
        FileState::Absent => None,
        FileState::File { mode, .. } if mode & 0o111 != 0 => Some("100755"),
        FileState::File { .. } | FileState::Link { .. } | FileState::Other { .. } => Some("100644"),
    }
}

/// Returns a path below `side`, in quotes if it would break its line.
fn name(side: &str, path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = format!("{side}/{}", path.trim_start_matches('/'));
    let is_plain = |letter: char| !letter.is_control() && letter != '"' && letter != '\\';
    if path.chars().all(is_plain) {
        path
    } else {
        format!("\"{}\"", path.escape_default())
    }
}

#[cfg(test)]
mod tests;
