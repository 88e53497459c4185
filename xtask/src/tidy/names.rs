//! Names of types.

use std::collections::BTreeMap;

use super::sources::{is_test, numbered, without_tests};
use super::{SourceFile, assert_none, rust_files};

/// Where a name may be declared again, and why.
const DECLARED_AGAIN: &[(&str, &str)] = &[
    ("/generated.rs", "made from a description that others wrote"),
    (
        "/app/wire",
        "the wire of the app-server has the names of its clients",
    ),
    (
        "/app-server/src/wire",
        "the wire of the app-server has the names of its clients",
    ),
];

/// Words that name nothing when they are the whole name of a type.
const NO_NAMES: &[&str] = &[
    // Question words, pronouns, prepositions.
    "What",
    "Who",
    "Whom",
    "Whose",
    "Which",
    "Where",
    "When",
    "Why",
    "How",
    "This",
    "That",
    "These",
    "Those",
    "It",
    "Its",
    "Other",
    "Others",
    "Anything",
    "Anybody",
    "Everything",
    "Everybody",
    "Nothing",
    "Nobody",
    "Somebody",
    "Something",
    "From",
    "To",
    "In",
    "Into",
    "On",
    "Of",
    "At",
    "By",
    "With",
    "Within",
    "Without",
    "For",
    "About",
    "Above",
    "Below",
    "Before",
    "After",
    "Behind",
    "Beside",
    "Until",
    "Since",
    "Out",
    "Up",
    "Down",
    "Again",
    "Later",
    "Here",
    "There",
    "Elsewhere",
    // Participles.
    "Agreed",
    "Answered",
    "Applied",
    "Asked",
    "Assembled",
    "Begun",
    "Broken",
    "Brought",
    "Cancelled",
    "Captured",
    "Checked",
    "Chosen",
    "Closed",
    "Collected",
    "Compacted",
    "Connected",
    "Counted",
    "Cut",
    "Deferred",
    "Digested",
    "Done",
    "Due",
    "Edited",
    "Emitted",
    "Ended",
    "Evicted",
    "Finished",
    "Fitted",
    "Folded",
    "Followed",
    "Forgiven",
    "Found",
    "Gathered",
    "Given",
    "Gone",
    "Happened",
    "Heard",
    "Held",
    "Hidden",
    "Imported",
    "Kept",
    "Known",
    "Left",
    "Listed",
    "Loaded",
    "Lost",
    "Made",
    "Meant",
    "Met",
    "Noted",
    "Opened",
    "Overridden",
    "Parsed",
    "Planned",
    "Played",
    "Prepared",
    "Ran",
    "Received",
    "Recorded",
    "Refused",
    "Rendered",
    "Repeated",
    "Requested",
    "Resolved",
    "Resumed",
    "Said",
    "Searched",
    "Seen",
    "Sent",
    "Served",
    "Settled",
    "Shared",
    "Shown",
    "Skipped",
    "Spawned",
    "Stamped",
    "Started",
    "Steered",
    "Stopped",
    "Stored",
    "Streamed",
    "Submitted",
    "Taken",
    "Told",
    "Touched",
    "Typed",
    "Unfinished",
    "Unused",
    "Unwritten",
    "Versioned",
    "Waited",
    "Wanted",
    "Watched",
    "Written",
    "Asking",
    "Beginning",
    "Changing",
    "Doing",
    "Ending",
    "Keeping",
    "Listening",
    "Opening",
    "Reading",
    "Running",
    "Searching",
    "Standing",
    "Stopping",
    "Telling",
    "Viewing",
    "Watching",
    // Words that name the wrong thing, or everything.
    "Data",
    "Helper",
    "Info",
    "Manager",
    "Stuff",
    "Thing",
    "Util",
    "Utils",
];

/// Words that name nothing at the end of a longer name either: a type is a noun.
const NO_LAST_WORDS: &[&str] = &[
    "What",
    "Who",
    "Whose",
    "Which",
    "Where",
    "When",
    "Why",
    "How",
    "From",
    "To",
    "In",
    "Into",
    "On",
    "Of",
    "At",
    "By",
    "With",
    "Within",
    "Without",
    "For",
    "About",
    "Above",
    "Below",
    "Before",
    "After",
    "Until",
    "Since",
    "Here",
    "There",
    "Elsewhere",
    "Helper",
    "Manager",
    "Util",
    "Utils",
];

/// Names that end in such a word all the same, and why.
const KEPT_NAMES: &[(&str, &str)] = &[
    (
        "FileBefore",
        "stands in the generated schema of the protocol",
    ),
    (
        "ImportedFrom",
        "stands in the generated schema of the protocol",
    ),
    (
        "WaitingOn",
        "the key `waiting_on` of statuses on every wire",
    ),
];

#[test]
fn a_type_name_is_declared_once_in_its_crate() {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for declared in types().into_iter().filter(|declared| !declared.may_repeat) {
        let key = (declared.room, declared.name);
        places.entry(key).or_default().push(declared.place);
    }
    let complaints: Vec<String> = places
        .into_iter()
        .filter(|(_, places)| places.len() > 1)
        .map(|((_, name), places)| format!("{name}: {}", places.join(", ")))
        .collect();
    assert_none(
        &complaints,
        "give each of them a name that says noun and role, so that it is understood without its \
         imports",
    );
}

#[test]
fn a_type_is_named_by_a_noun() {
    let complaints: Vec<String> = types()
        .into_iter()
        .filter(|declared| !declared.may_repeat && is_no_name(&declared.name))
        .map(|declared| format!("{}: {}", declared.place, declared.name))
        .collect();
    assert_none(
        &complaints,
        "participles, pronouns, prepositions and question words are no names: say what it is",
    );
}

fn is_no_name(name: &str) -> bool {
    if KEPT_NAMES.iter().any(|(kept, _)| *kept == name) {
        return false;
    }
    NO_NAMES.contains(&name) || NO_LAST_WORDS.contains(&last_word(name))
}

fn last_word(name: &str) -> &str {
    let at = name.rfind(|letter: char| letter.is_ascii_uppercase());
    &name[at.unwrap_or_default()..]
}

/// `ResumePoint`, but neither `Resume` nor `RESUME_POINT`: names that are surely those of types.
pub(super) fn is_camel_case(name: &str) -> bool {
    let uppercase = name.chars().filter(char::is_ascii_uppercase).count();
    name.chars().all(|letter| letter.is_ascii_alphanumeric())
        && name.starts_with(|letter: char| letter.is_ascii_uppercase())
        && uppercase > 1
        && name.chars().any(|letter| letter.is_ascii_lowercase())
}

/// The declaration of a type.
pub(super) struct DeclaredType {
    room: String,
    pub(super) name: String,
    place: String,
    may_repeat: bool,
}

/// Returns every type that our code declares outside tests.
pub(super) fn types() -> Vec<DeclaredType> {
    let files = rust_files();
    let ours = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && !is_test(&file.path));
    ours.flat_map(types_of).collect()
}

fn types_of(file: &SourceFile) -> Vec<DeclaredType> {
    let room = file.path.split('/').nth(1).unwrap_or_default();
    let may_repeat = DECLARED_AGAIN
        .iter()
        .any(|(place, _)| file.path.contains(place));
    numbered(without_tests(&file.text))
        .filter_map(|(number, line)| Some((number, type_name(line)?)))
        .map(|(number, name)| DeclaredType {
            room: room.to_owned(),
            name: name.to_owned(),
            place: format!("{}:{number}", file.path),
            may_repeat,
        })
        .collect()
}

/// Returns the name of the type that a line declares. An alias counts at the top of a module
/// only: elsewhere it is the associated type of a trait.
fn type_name(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_at_top = code.len() == line.len();
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let (kind, rest) = code.split_once(' ')?;
    let declares =
        matches!(kind, "struct" | "enum" | "trait" | "union") || kind == "type" && is_at_top;
    let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    let is_name = name.starts_with(|letter: char| letter.is_ascii_uppercase());
    (declares && is_name).then_some(name)
}
