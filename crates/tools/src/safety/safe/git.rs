//! `git`, as far as it only reads.
//!
//! What a repository's own configuration runs (pagers, external differs) is the user's
//! choice; what the command line could make it run or write is not allowed.

use super::AllowedFlags;

pub fn reads_only(arguments: &[&str]) -> bool {
    // `-C`, `-c`, `--git-dir` and the like choose a configuration, which names programs.
    let own = ["--no-pager", "--no-optional-locks"];
    let start = arguments
        .iter()
        .take_while(|word| own.contains(word))
        .count();
    let Some((command, arguments)) = arguments[start..].split_first() else {
        return false;
    };
    match *command {
        "status" => STATUS.operands(arguments).is_some(),
        "diff" | "log" | "show" | "rev-list" | "shortlog" | "whatchanged" => {
            HISTORY.operands(arguments).is_some() && !checks_signatures(arguments)
        }
        "blame" => BLAME.operands(arguments).is_some(),
        "grep" => GREP.operands(arguments).is_some(),
        "ls-files" | "ls-tree" => LISTING.operands(arguments).is_some(),
        "rev-parse" | "describe" | "merge-base" | "name-rev" => {
            NAMING.operands(arguments).is_some()
        }
        "cat-file" => {
            matches!(arguments, ["-p" | "-t" | "-s" | "-e", object] if !object.starts_with('-'))
        }
        "branch" => lists(arguments, &BRANCHES),
        "tag" => lists(arguments, &TAGS),
        "remote" => matches!(arguments, [] | ["-v" | "--verbose"]),
        "stash" | "worktree" => matches!(arguments, ["list"] | ["list", "--porcelain"]),
        "reflog" => matches!(arguments, [] | ["show"]),
        _ => false,
    }
}

/// `branch` and `tag` create something from an operand unless they are told to list.
/// (Told by `--list`: to `branch`, `-l` meant something else for many years.)
fn lists(arguments: &[&str], flags: &AllowedFlags) -> bool {
    let told =
        arguments.contains(&"--list") || (flags.short.contains('l') && arguments.contains(&"-l"));
    let operands = flags.operands(arguments);
    operands.is_some_and(|operands| told || operands.is_empty())
}

/// Showing a signature runs the program that verifies it.
fn checks_signatures(arguments: &[&str]) -> bool {
    arguments.iter().any(|word| word.contains("%G"))
}

const STATUS: AllowedFlags = AllowedFlags {
    short: "sbvz",
    short_valued: "",
    long: "short branch porcelain long show-stash ignored untracked-files",
};

const HISTORY: AllowedFlags = AllowedFlags {
    short: "pusqwbRaizMEFPtcm0123456789",
    short_valued: "nUSGL",
    long: "\
        abbrev abbrev-commit after all all-match author before branches cached check color \
        committer compact-summary count date decorate diff-filter dirstat exit-code find- \
        renames first-parent follow format full-history function-context graph grep \
        histogram ignore-all-space ignore-blank-lines ignore-space-at-eol ignore-space- \
        change invert-grep left-right max-count max-parents merge-base merges min-parents \
        minimal name-only name-status no-abbrev no-color no-decorate no-ext-diff no-merges \
        no-notes no-patch no-prefix no-renames no-textconv not numbered numstat oneline \
        patch patch-with-stat patience pickaxe-all pickaxe-regex pretty quiet raw remotes \
        reverse shortstat simplify-by-decoration since skip staged stat submodule summary \
        tags text topo-order unified until word-diff word-diff-regex",
};

const BLAME: AllowedFlags = AllowedFlags {
    short: "wMCselfntbp",
    short_valued: "L",
    long: "date show-name show-number show-email porcelain line-porcelain root",
};

// Not `-O`, which opens what it finds in a program.
const GREP: AllowedFlags = AllowedFlags {
    short: "nilLwvEFGPcIhHoqprz",
    short_valued: "eABCm",
    long: "\
        line-number ignore-case files-with-matches files-without-match word-regexp extended- \
        regexp fixed-strings perl-regexp count cached untracked and or not context after- \
        context before-context break heading column show-function function-context max-depth \
        max-count no-color color",
};

const LISTING: AllowedFlags = AllowedFlags {
    short: "cdmoisuktrlz",
    short_valued: "x",
    long: "\
        cached deleted modified others ignored stage unmerged killed exclude-standard \
        exclude full-name name-only name-status long abbrev error-unmatch directory no- \
        empty-directory recurse-submodules format",
};

const NAMING: AllowedFlags = AllowedFlags {
    short: "aq",
    short_valued: "",
    long: "\
        abbrev abbrev-ref absolute-git-dir all always candidates contains dirty exact-match \
        first-parent fork-point git-common-dir git-dir independent is-ancestor is-bare- \
        repository is-inside-git-dir is-inside-work-tree long name-only quiet short show- \
        cdup show-prefix show-superproject-working-tree show-toplevel symbolic symbolic- \
        full-name tags verify",
};

const BRANCHES: AllowedFlags = AllowedFlags {
    short: "arvi",
    short_valued: "",
    long: "\
        abbrev all color column format ignore-case list no-abbrev no-color no-column remotes \
        show-current sort verbose",
};

const TAGS: AllowedFlags = AllowedFlags {
    short: "il",
    short_valued: "",
    long: "column format ignore-case list no-column sort",
};
