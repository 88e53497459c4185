//! Upper bounds of role files. Whatever goes over one is refused with the bound's name or
//! value; nothing is cut.

/// A role file, or the schema beside it, larger than this is not one that a person wrote.
pub const FILE_BYTES_MAX: u64 = 256 * 1024;

/// Names of roles and personas.
pub const NAME_CHARS_MAX: usize = 64;

/// One entry of an allow or deny list. Matching costs at most pattern × name.
pub const PATTERN_CHARS_MAX: usize = 128;

/// Entries of one list in the front matter.
pub const LIST_ENTRIES_MAX: usize = 256;

/// Values in one front matter, those of an inline schema included.
pub const YAML_NODES_MAX: usize = 10_000;

/// Nesting of a front matter. Deeper schemas belong in a file of their own.
pub const YAML_DEPTH_MAX: usize = 32;

/// Files named `*.md` in one directory of roles.
pub const PLACE_FILES_MAX: usize = 512;

/// Parsed roles that are kept. Over it, all are forgotten and read anew.
pub const CACHED_ROLES_MAX: usize = 256;

/// Error messages quote at most this much of what a file says.
pub const QUOTE_CHARS_MAX: usize = 60;
