//! Upper bounds of what is judged; whatever is over them is unknown.

/// The text of one script.
pub const SCRIPT_BYTES_MAX: usize = 64 << 10;
/// Time for parsing one script.
pub const PARSE_MS_MAX: u64 = 250;
/// Statements within statements that are still called plain.
pub const PLAIN_DEPTH_MAX: usize = 200;
/// Commands of one script that are still called plain. Nobody reads more, and what is over it
/// must not depend on how fast the machine is.
pub const PLAIN_COMMANDS_MAX: usize = 1_000;
/// Shells within shells: `bash -c 'bash -c …'`.
pub const SHELL_DEPTH_MAX: usize = 4;
/// Scripts parsed for one judgement of danger, those in arguments included.
pub const SCRIPTS_MAX: usize = 64;
/// Words of one command that are looked at for danger.
pub const WORDS_MAX: usize = 1000;
