//! Errors of role files, and of requests that name a role.

use std::fmt;
use std::io;
use std::path::PathBuf;

use troupe_config::nearest;
use troupe_schema::SchemaError;

use super::limits::{FILE_BYTES_MAX, LIST_ENTRIES_MAX, PLACE_FILES_MAX};
use super::name::{BadName, RoleName};
use super::role::RoleOrigin;
use super::tool_policy::BadPattern;

#[derive(Debug, thiserror::Error)]
pub enum RoleError {
    #[error(transparent)]
    BadName(#[from] BadName),
    #[error("unknown role {name}; {}", one_of(name.as_str(), known))]
    Unknown {
        name: RoleName,
        known: Vec<RoleName>,
    },
    #[error("the role {role} has no persona {name:?}; {}", one_of(name, known))]
    UnknownPersona {
        role: RoleName,
        name: String,
        known: Vec<RoleName>,
    },
    #[error("the role {name} is ambiguous; keep one of {}", joined(paths.iter().map(|path| path.display())))]
    Ambiguous { name: RoleName, paths: Vec<PathBuf> },
    #[error(
        "{}: a role file is called NAME.md, with letters, digits, `-` and `_` in the name",
        path.display()
    )]
    FileName { path: PathBuf },
    #[error(
        "{}: {name} is a built-in role, which a file of Claude Code does not replace; copy it to \
         .troupe/agents/{name}.md if it is to, or name it otherwise",
        path.display()
    )]
    BuiltIn { name: RoleName, path: PathBuf },
    #[error("cannot list the roles in {}: {source}", path.display())]
    Place { path: PathBuf, source: io::Error },
    #[error("{} holds more than {PLACE_FILES_MAX} files named *.md; remove some", path.display())]
    Crowded { path: PathBuf },
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Invalid(Box<InvalidRoleFile>),
    #[error(transparent)]
    UnknownName(Box<UnknownName>),
}

/// An entry of a role's lists that means nothing here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {key}: there is no {what} `{name}`; {}", self.hint())]
pub struct UnknownName {
    pub origin: RoleOrigin,
    /// The list.
    pub key: &'static str,
    pub what: &'static str,
    pub name: String,
    pub nearest: Option<String>,
    pub known: Vec<String>,
}

impl UnknownName {
    fn hint(&self) -> String {
        match (&self.nearest, self.known.as_slice()) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "there are none".to_owned(),
            (None, known) => format!("there are {}", joined(known)),
        }
    }
}

/// A role file that is not understood, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}:{fault}", path.display())]
pub struct InvalidRoleFile {
    pub path: PathBuf,
    pub fault: RoleFault,
}

/// A place in a file, and what is wrong there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {problem}")]
pub struct RoleFault {
    /// Counted from 1.
    pub line: u64,
    /// In characters, counted from 1.
    pub column: u64,
    pub problem: RoleProblem,
}

impl RoleFault {
    pub(super) fn at_line(line: u64, problem: RoleProblem) -> Self {
        Self {
            line,
            column: 1,
            problem,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RoleProblem {
    #[error("the file is not UTF-8 text")]
    NotText,
    #[error("expected `---` as the first line, then YAML, then `---` and the prompt")]
    NoFrontMatter,
    #[error("the front matter has no end; expected a line `---` before the prompt")]
    Unclosed,
    #[error("not readable as YAML: {0}")]
    Syntax(String),
    #[error("{0} are not accepted in a front matter")]
    Unsupported(&'static str),
    #[error("the front matter is too large or too deeply nested; keep a long schema in a file")]
    TooComplex,
    #[error("unknown key `{key}`{}", CorrectionHint(key, expected))]
    UnknownKey {
        key: String,
        expected: Vec<&'static str>,
    },
    #[error("the key `{0}` is given twice; keep one")]
    DuplicateKey(String),
    #[error("the key `{0}` is missing")]
    MissingKey(&'static str),
    #[error(
        "`{found}` is none of the values that this key has{}",
        CorrectionHint(found, expected)
    )]
    UnknownValue {
        found: String,
        expected: Vec<&'static str>,
    },
    #[error("expected {0}")]
    Expected(String),
    #[error("the list has more than {LIST_ENTRIES_MAX} entries; use patterns or split the role")]
    LongList,
    #[error(transparent)]
    Name(#[from] BadName),
    #[error(transparent)]
    Pattern(#[from] BadPattern),
    #[error("expected a prompt after the front matter")]
    NoPrompt,
    #[error("expected `<!-- agent_name: NAME -->`")]
    Marker,
    #[error("the persona {0} is declared twice; keep one")]
    PersonaTwice(RoleName),
    #[error("the persona {0} has two blocks; keep one")]
    BlockTwice(RoleName),
    #[error(
        "the persona {0} has no block; expected a line `<!-- agent_name: {0} -->` and a prompt"
    )]
    NoBlock(RoleName),
    #[error("the block of {0} belongs to no persona; expected `- name: {0}` in `agent_names`")]
    NotDeclared(RoleName),
    #[error("the block of {0} is empty; expected a prompt")]
    EmptyBlock(RoleName),
    #[error("output_schema: {0}")]
    OutputSchema(#[from] SchemaError),
    #[error("the schema {path:?}: {problem}")]
    Schema {
        path: String,
        problem: SchemaProblem,
    },
}

/// Why the file of an output schema cannot be used. Of its text only keys are quoted: a link
/// may lead anywhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaProblem {
    #[error("expected a path below the directory of the role")]
    Outside,
    #[error("cannot be read: {0}")]
    Unreadable(String),
    #[error("not JSON at {line}:{column}")]
    NotJson { line: usize, column: usize },
    #[error("expected a JSON object")]
    NotAnObject,
    #[error(transparent)]
    NotUnderstood(#[from] SchemaError),
}

/// Why bytes of a file are not there. Becomes [`RoleError::Read`] or [`SchemaProblem::Unreadable`].
pub(super) fn too_large() -> io::Error {
    io::Error::other(format!("it is larger than {FILE_BYTES_MAX} bytes"))
}

/// The likely correction of a slip, else everything that could stand there.
struct CorrectionHint<'a>(&'a str, &'a [&'static str]);

impl fmt::Display for CorrectionHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(found, expected) = self;
        match nearest(found, expected.iter().copied()) {
            Some(near) => write!(f, " (did you mean `{near}`?)"),
            None => write!(f, "; expected one of {}", joined(*expected)),
        }
    }
}

fn one_of(name: &str, known: &[RoleName]) -> String {
    match nearest(name, known.iter().map(RoleName::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None if known.is_empty() => "it has none".to_owned(),
        None => format!("there are {}", joined(known)),
    }
}

fn joined(items: impl IntoIterator<Item = impl ToString>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    items.join(", ")
}
