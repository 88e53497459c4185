//! Commands that only read, and the arguments with which they do.
//!
//! Options are allowed by list, never forbidden by list, wherever a command has any option
//! that writes or runs something: an unknown or shortened option makes it unknown. Reading
//! any file counts as safe; the sandbox decides what is readable.

mod git;

use super::script::{is_of_the_system, program_name};

pub fn all_read_only(commands: &[Vec<String>]) -> Result<(), String> {
    let mut moved = false;
    for argv in commands {
        let (name, arguments) = argv.split_first().ok_or("the command is empty")?;
        if !is_of_the_system(name) {
            return Err(format!("`{name}` is not a program of the system"));
        }
        let name = program_name(name);
        if name == "git" && moved {
            return Err("`git` follows the configuration of the directory after `cd`".to_owned());
        }
        moved |= name == "cd";
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        reads_only(name, &arguments)?;
    }
    Ok(())
}

fn reads_only(name: &str, arguments: &[&str]) -> Result<(), String> {
    let rule = RULES
        .iter()
        .find(|rule| lists(rule.names, name))
        .ok_or_else(|| format!("`{name}` is not known to only read"))?;
    let allowed = match rule.allows {
        AllowedArguments::Anything => true,
        AllowedArguments::Flags(flags) => flags.operands(arguments).is_some(),
        AllowedArguments::If(allows) => allows(arguments),
    };
    if allowed {
        Ok(())
    } else {
        Err(format!(
            "`{name}` is not known to only read with these arguments"
        ))
    }
}

/// Whether a name is among words that are separated by blanks.
fn lists(words: &str, name: &str) -> bool {
    words.split(' ').any(|word| word == name)
}

struct SafeCommandRule {
    /// Separated by blanks.
    names: &'static str,
    allows: AllowedArguments,
}

enum AllowedArguments {
    /// No argument makes it write or run anything.
    Anything,
    Flags(&'static AllowedFlags),
    If(fn(&[&str]) -> bool),
}

/// Options of one command that are allowed.
struct AllowedFlags {
    /// Letters without value, as in `-abc`.
    short: &'static str,
    /// Letters that take the rest of the word, or the next word, as their value.
    short_valued: &'static str,
    /// Long options, alone or with `=value`, separated by blanks.
    long: &'static str,
}

impl AllowedFlags {
    /// The arguments that are no options; `None` when an option is not allowed.
    ///
    /// Whether a word is the value of an option depends on the option and on the version of
    /// the program. So whatever starts with a dash must be an allowed option in any place, as
    /// a value and after `--` too.
    fn operands<'a>(&self, arguments: &[&'a str]) -> Option<Vec<&'a str>> {
        let mut operands = Vec::new();
        let mut is_value = false;
        for &argument in arguments {
            let was_value = std::mem::take(&mut is_value);
            if argument == "--" && !was_value {
                continue;
            }
            if let Some(long) = argument.strip_prefix("--") {
                let name = long.split('=').next().unwrap_or(long);
                lists(self.long, name).then_some(())?;
            } else if let Some(cluster) = argument.strip_prefix('-').filter(|c| !c.is_empty()) {
                is_value = self.value_follows(cluster)?;
            } else if !was_value {
                operands.push(argument);
            }
        }
        Some(operands)
    }

    /// Whether the value of the last letter is the next word; `None` for unknown letters.
    fn value_follows(&self, cluster: &str) -> Option<bool> {
        for (index, letter) in cluster.char_indices() {
            if self.short_valued.contains(letter) {
                return Some(index + letter.len_utf8() == cluster.len());
            }
            self.short.contains(letter).then_some(())?;
        }
        Some(false)
    }
}

const RULES: &[SafeCommandRule] = &[
    SafeCommandRule {
        names: "\
            basename cat cmp column comm cut df dirname du echo egrep expand false fgrep \
            fold grep head id ls md5sum nl nproc od paste pwd readlink realpath rev seq \
            sha1sum sha256sum stat tac tail tr true type uname unexpand wc which whoami",
        allows: AllowedArguments::Anything,
    },
    SafeCommandRule {
        names: "cd",
        allows: AllowedArguments::If(
            |arguments| matches!(arguments, [directory] if !directory.starts_with(['-', '+'])),
        ),
    },
    SafeCommandRule {
        names: "command",
        allows: AllowedArguments::If(|arguments| matches!(arguments, ["-v" | "-V", _, ..])),
    },
    SafeCommandRule {
        names: "date",
        allows: AllowedArguments::If(date),
    },
    SafeCommandRule {
        names: "diff",
        // `-l` starts a pager.
        allows: AllowedArguments::Flags(&AllowedFlags {
            short: "abBdeEiNpqrstTuwyZ0123456789",
            short_valued: "CUIx",
            long: "\
                brief unified context side-by-side recursive new-file text ignore-case \
                ignore-all-space ignore-space-change ignore-blank-lines exclude minimal \
                color label width report-identical-files",
        }),
    },
    SafeCommandRule {
        names: "file",
        // `-C` writes a file, `-z` runs programs.
        allows: AllowedArguments::Flags(&AllowedFlags {
            short: "bhiLNrsk0",
            short_valued: "F",
            long: "brief mime mime-type mime-encoding dereference keep-going",
        }),
    },
    SafeCommandRule {
        names: "find",
        allows: AllowedArguments::If(find),
    },
    SafeCommandRule {
        names: "git",
        allows: AllowedArguments::If(git::reads_only),
    },
    SafeCommandRule {
        names: "printf",
        allows: AllowedArguments::If(printf),
    },
    SafeCommandRule {
        names: "rg",
        allows: AllowedArguments::If(rg),
    },
    SafeCommandRule {
        names: "sed",
        allows: AllowedArguments::If(sed),
    },
    SafeCommandRule {
        names: "sort",
        // `-o` writes, `--compress-program` runs, `-T` chooses where to write.
        allows: AllowedArguments::Flags(&AllowedFlags {
            short: "bcCdfghiMmnrRsuVz",
            short_valued: "kt",
            long: "\
                check dictionary-order field-separator general-numeric-sort human-numeric- \
                sort ignore-case ignore-leading-blanks key merge month-sort numeric-sort \
                reverse sort stable unique version-sort zero-terminated",
        }),
    },
    SafeCommandRule {
        names: "tree",
        // `-o` writes, `-R` with `-H` writes too.
        allows: AllowedArguments::Flags(&AllowedFlags {
            short: "adfghilnpqrstuvxACDFNQS",
            short_valued: "LPI",
            long: "dirsfirst noreport gitignore prune du filelimit charset",
        }),
    },
    SafeCommandRule {
        names: "uniq",
        allows: AllowedArguments::If(|arguments| {
            // A second operand is a file that is written.
            let operands = UNIQ.operands(arguments);
            operands.is_some_and(|operands| operands.len() < 2)
        }),
    },
];

const UNIQ: AllowedFlags = AllowedFlags {
    short: "cdDiuz",
    short_valued: "fsw",
    long: "count repeated all-repeated ignore-case unique skip-fields",
};

/// An operand without plus sign sets the clock.
fn date(arguments: &[&str]) -> bool {
    const FLAGS: AllowedFlags = AllowedFlags {
        short: "uRI",
        short_valued: "dr",
        long: "utc universal date iso-8601 rfc-3339 rfc-email reference",
    };
    let operands = FLAGS.operands(arguments);
    operands.is_some_and(|operands| operands.iter().all(|word| word.starts_with('+')))
}

fn find(arguments: &[&str]) -> bool {
    const WRITE_OR_RUN: [&str; 5] = ["-delete", "-exec", "-fls", "-fprint", "-ok"];
    let acts = |word: &&str| WRITE_OR_RUN.iter().any(|action| word.starts_with(action));
    !arguments.iter().any(acts)
}

/// Only text is formatted: numbers are expressions to some shells, and those run commands.
fn printf(arguments: &[&str]) -> bool {
    let Some(format) = arguments.first().filter(|format| !format.starts_with('-')) else {
        return false;
    };
    // Some shells decode escapes before they look for directives.
    let escapes = format.replace(r"\\", "");
    let mut escapes = escapes.split('\\').skip(1);
    let directives = format.replace("%%", "");
    let mut directives = directives.split('%').skip(1);
    escapes.all(|escape| escape.starts_with(['n', 't']))
        && directives.all(|directive| directive.starts_with('s'))
}

fn rg(arguments: &[&str]) -> bool {
    let runs = |word: &&str| match word.strip_prefix("--") {
        Some(long) => {
            long.starts_with("pre") || long.starts_with("hostname-bin") || long == "search-zip"
        }
        // Searching compressed files runs programs.
        None => word.starts_with('-') && word.contains('z'),
    };
    !arguments.iter().any(runs)
}

/// Only `sed -n` that prints lines by number.
fn sed(arguments: &[&str]) -> bool {
    let ["-n", script, files @ ..] = arguments else {
        return false;
    };
    let is_line =
        |text: &str| text == "$" || (!text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()));
    let prints = |command: &str| {
        let Some(range) = command.trim().strip_suffix('p') else {
            return false;
        };
        match range.split_once(',') {
            Some((from, to)) => is_line(from) && is_line(to),
            None => is_line(range),
        }
    };
    script.split(';').all(prints) && files.iter().all(|file| !file.starts_with('-'))
}
