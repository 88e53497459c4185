//! Things that the user points at: an app, a server's resource, a file. The model gets the
//! name and where it leads; what is there, it looks up by itself.

use std::path::Path;

use troupe_protocol::history::ContentItem;

use crate::limits::{MENTION_NAME_CHARS_MAX, MENTION_PATH_BYTES_MAX};

/// Returns the line that a mention becomes. A path without a scheme is that of a file, which
/// must be there: who points at it saw it.
pub(super) fn part(name: &str, path: &str, cwd: &Path) -> Result<ContentItem, String> {
    let is_bad = |text: &str| text.trim().is_empty() || text.contains(char::is_control);
    if is_bad(name) || name.chars().count() > MENTION_NAME_CHARS_MAX {
        return Err(format!(
            "a mention has no usable name: give it one of at most {MENTION_NAME_CHARS_MAX} \
             characters, in one line"
        ));
    }
    if is_bad(path) || path.len() > MENTION_PATH_BYTES_MAX {
        return Err(format!(
            "the mention {name} leads nowhere: give it the path of a file, or an address such as \
             app://ID, of at most {MENTION_PATH_BYTES_MAX} bytes"
        ));
    }
    let text = if is_address(path) {
        format!("<mention name=\"{name}\">{path}</mention>")
    } else {
        let file = cwd.join(path);
        if let Err(error) = file.symlink_metadata() {
            return Err(format!(
                "the mention {name} leads to {}, which is not there: {error}",
                file.display()
            ));
        }
        format!("<mention name=\"{name}\">{}</mention>", file.display())
    };
    Ok(ContentItem::InputText { text })
}

/// Tells an address from a path: it begins with a scheme.
fn is_address(path: &str) -> bool {
    path.split_once("://").is_some_and(|(scheme, rest)| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(is_part)
            && !rest.is_empty()
    })
}
