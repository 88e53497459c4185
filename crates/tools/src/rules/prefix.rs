//! Which beginnings of a command say enough to be allowed.

use crate::safety::script::{is_shell, program_name};
use crate::safety::search::runs_others;

/// Programs that do what their arguments tell them, so that the name alone allows everything.
const INTERPRETERS: &str = "\
    awk bun cargo clj deno docker elixir emacs erl fish gawk gdb ghc git go groovy irb java \
    jshell julia just kubectl lua luajit make mawk nim node npm npx osascript perl php pnpm podman \
    poetry pip powershell pwsh python R racket raku Rscript rscript ruby sbcl scala sed sqlite3 \
    swift tclsh tsx uv vi vim yarn";

/// Subcommands that run whatever is named next.
const RUNNERS: [&[&str]; 9] = [
    &["bun", "run"],
    &["cargo", "run"],
    &["docker", "run"],
    &["go", "run"],
    &["npm", "run"],
    &["pnpm", "run"],
    &["poetry", "run"],
    &["uv", "run"],
    &["yarn", "run"],
];

/// More words are more targets: no beginning of these says what is lost.
const DESTROYERS: &str = "dd eval mkfs rm rmdir shred source truncate unlink .";

/// Says why a prefix may not be allowed.
pub(super) fn too_broad(prefix: &[String]) -> Option<String> {
    let (program, arguments) = prefix.split_first()?;
    let name = program_name(program);
    if lists(DESTROYERS, name) {
        return Some(format!(
            "every word after `{name}` widens what it does, so no rule can allow it"
        ));
    }
    if is_shell(name) && arguments.iter().any(|word| is_script_flag(word)) {
        return Some(format!(
            "a script given to `{name}` is judged by the commands in it: allow those"
        ));
    }
    if runs_others(name) && !is_shell(name) {
        return wrapper(name, arguments);
    }
    if RUNNERS.iter().any(|runner| prefix == *runner) {
        return Some("it runs whatever is named next: name it".to_owned());
    }
    let says_what = arguments.iter().any(|word| !word.starts_with('-'));
    // `git -C DIR` and `make -C DIR` say where, and still not what.
    let says_where = matches!(name, "git" | "make" | "npm" | "docker" | "kubectl")
        && arguments.first().is_some_and(|word| word.starts_with('-'));
    ((is_interpreter(name) || is_shell(name)) && (!says_what || says_where))
        .then(|| format!("`{name}` does whatever it is told next: add the words that say what"))
}

/// Whether a rule that leaves the sandbox may be offered for these words: what they run must
/// not lie in a file that the model can write.
pub(super) fn can_leave_the_sandbox(prefix: &[String]) -> bool {
    let name = prefix.first().map_or("", |program| program_name(program));
    let subcommands = ["git", "docker", "kubectl", "podman"];
    let interprets = is_interpreter(name) && !subcommands.contains(&name);
    !interprets && !is_shell(name) && !runs_others(name)
}

/// A command that runs another one is as broad as the other one.
fn wrapper(name: &str, arguments: &[String]) -> Option<String> {
    let is_setting = |word: &String| {
        word.contains('=') || word.starts_with(|first: char| first.is_ascii_digit())
    };
    let inner: Vec<String> = arguments
        .iter()
        .skip_while(|word| is_setting(word))
        .cloned()
        .collect();
    match inner.first() {
        None => Some(format!(
            "`{name}` runs whatever is named next: add the command"
        )),
        Some(word) if word.starts_with('-') => Some(format!(
            "what `{name} {word}` runs cannot be told: allow the command that it runs"
        )),
        Some(_) => too_broad(&inner),
    }
}

fn is_script_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains('c')
}

/// `python3.12` is `python`.
fn is_interpreter(name: &str) -> bool {
    let plain = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    lists(INTERPRETERS, name) || lists(INTERPRETERS, plain)
}

fn lists(names: &str, name: &str) -> bool {
    names.split_whitespace().any(|one| one == name)
}
