//! Patterns of rules about edits and about tools of MCP servers.

use std::path::Path;

use ignore::gitignore::GitignoreBuilder;

/// Stands for a `/` in the name of a tool, which is no separator there.
const SLASH_IN_NAME: &str = "\u{2215}";

/// Says what is wrong with the pattern of an edit rule, if anything is.
pub(super) fn check_path(pattern: &str) -> Result<(), String> {
    let why = match pattern.chars().next() {
        None => "it is empty",
        Some('!' | '#') => "it begins with `!` or `#`",
        Some('~') => "`~` is not known here: write the whole path, or begin with `**/`",
        Some(_) if pattern.trim() != pattern => "it begins or ends with a blank",
        Some(_) if pattern.contains(['\n', '\r', '\0']) => "it has more than one line",
        Some(_) => return built(&anchored(pattern)).map(drop),
    };
    Err(format!("edit = {pattern:?} is no pattern of paths: {why}"))
}

/// Says what is wrong with the pattern of a rule about tools of servers, if anything is.
pub(super) fn check_tool(pattern: &str) -> Result<(), String> {
    let is_plain = pattern.trim() == pattern && !pattern.contains(['\n', '\r', '\0']);
    match named(pattern) {
        Some(named) if is_plain => built(&named).map(drop),
        Some(_) | None => Err(format!(
            "mcp = {pattern:?} is no pattern of tools: expected SERVER/TOOL, as in `github/delete_*`"
        )),
    }
}

/// Tells whether a path is one that the pattern means: as in a `.gitignore`, a name anywhere, a
/// directory with all that is in it; an absolute path is one.
pub(super) fn matches_path(pattern: &str, path: &Path) -> bool {
    matches(&anchored(pattern), path)
}

/// Tells whether a tool of a server is one that the pattern means.
pub(super) fn matches_tool(pattern: &str, server: &str, tool: &str) -> bool {
    let plain = |name: &str| name.replace('/', SLASH_IN_NAME);
    let path = format!("/{}/{}", plain(server), plain(tool));
    named(pattern).is_some_and(|pattern| matches(&pattern, Path::new(&path)))
}

/// A `/` inside a pattern does not tie it to the root of all directories.
fn anchored(pattern: &str) -> String {
    if pattern.starts_with('/') {
        pattern.to_owned()
    } else {
        format!("**/{pattern}")
    }
}

fn named(pattern: &str) -> Option<String> {
    let (server, tool) = pattern.split_once('/')?;
    let tool = tool.replace('/', SLASH_IN_NAME);
    (!server.is_empty() && !tool.is_empty()).then(|| format!("/{server}/{tool}"))
}

fn matches(pattern: &str, path: &Path) -> bool {
    // A rule that cannot be used makes its file unreadable, so none gets here.
    built(pattern).is_ok_and(|built| built.matched_path_or_any_parents(path, false).is_ignore())
}

fn built(pattern: &str) -> Result<ignore::gitignore::Gitignore, String> {
    let mut builder = GitignoreBuilder::new("/");
    builder.allow_unclosed_class(false);
    let added = builder.add_line(None, pattern).map(drop);
    added
        .and_then(|()| builder.build())
        .map_err(|error| format!("the pattern {pattern:?} is not understood: {error}"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{check_path, check_tool, matches_path, matches_tool};

    #[test]
    fn paths_are_matched_as_in_a_gitignore() {
        for (pattern, path, expected) in [
            ("*.lock", "/w/a/Cargo.lock", true),
            ("*.lock", "/w/a/Cargo.lock.rs", false),
            ("migrations/", "/w/db/migrations/1/up.sql", true),
            ("db/migrations", "/w/db/migrations/up.sql", true),
            ("src/*.rs", "/w/src/lib.rs", true),
            ("src/*.rs", "/w/src/a/lib.rs", false),
            ("src/**/*.rs", "/w/src/a/lib.rs", true),
            ("/w/secret", "/w/secret/x", true),
            ("/secret", "/w/secret", false),
            ("[a-c].txt", "/w/b.txt", true),
        ] {
            let found = matches_path(pattern, Path::new(path));
            assert_eq!(found, expected, "{pattern} {path}");
        }
    }

    #[test]
    fn tools_are_matched_by_server_and_name() {
        for (pattern, server, tool, expected) in [
            ("github/*", "github", "create_issue", true),
            ("github/*", "github", "repos/delete", true),
            ("github/delete_*", "github", "create_issue", false),
            ("*/delete_*", "other", "delete_all", true),
            ("github/*", "github2", "x", false),
            ("a/repos/*", "a", "repos/delete", true),
        ] {
            let found = matches_tool(pattern, server, tool);
            assert_eq!(found, expected, "{pattern} {server} {tool}");
        }
    }

    #[test]
    fn what_would_match_nothing_is_refused() {
        for pattern in ["", " x", "!x", "#x", "~/x", "a\nb", "[a"] {
            assert!(check_path(pattern).is_err(), "{pattern:?}");
        }
        for pattern in ["", "github", "/x", "github/", "a/\nb"] {
            assert!(check_tool(pattern).is_err(), "{pattern:?}");
        }
    }
}
