//! `troupe apply-patch`: the patch as the one argument or on standard input.

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use crate::limits::PATCH_BYTES_MAX;
use crate::{Patch, PatchRoots, plan};

const USAGE: &str = "usage: troupe apply-patch PATCH, or the patch on standard input\n";

/// What the process prints and how it ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StandaloneResult {
    /// 0: applied. 1: refused or failed, and nothing was changed. 2: called wrongly.
    pub code: u8,
    pub stdout: String,
    pub stderr: String,
}

/// Applies a patch wherever it leads: whoever calls this has the rights of a person.
/// `args` come without the program's name; `stdin` is read only when there are none.
pub fn run_standalone(args: &[OsString], stdin: impl Read, cwd: &Path) -> StandaloneResult {
    match read_patch(args, stdin).and_then(|text| apply(&text, cwd)) {
        Ok(stdout) => StandaloneResult {
            code: 0,
            stdout,
            stderr: String::new(),
        },
        Err(failure) => StandaloneResult {
            code: failure.code,
            stdout: String::new(),
            stderr: failure.text,
        },
    }
}

struct StandaloneFailure {
    code: u8,
    text: String,
}

impl StandaloneFailure {
    fn new(code: u8, text: impl std::fmt::Display) -> Self {
        let text = format!("error: {text}\n");
        Self { code, text }
    }
}

fn read_patch(args: &[OsString], stdin: impl Read) -> Result<String, StandaloneFailure> {
    match args {
        [patch] => match patch.to_str() {
            Some(patch) => Ok(patch.to_owned()),
            None => Err(StandaloneFailure::new(1, "the patch is not UTF-8 text")),
        },
        [] => {
            let mut text = String::new();
            // One byte over the limit is enough for the parser to refuse.
            let mut bounded = stdin.take(PATCH_BYTES_MAX as u64 + 1);
            bounded.read_to_string(&mut text).map_err(|error| {
                StandaloneFailure::new(1, format!("failed to read the patch: {error}"))
            })?;
            if text.is_empty() {
                let text = USAGE.to_owned();
                return Err(StandaloneFailure { code: 2, text });
            }
            Ok(text)
        }
        _ => {
            let text = format!("error: expected one argument\n{USAGE}");
            Err(StandaloneFailure { code: 2, text })
        }
    }
}

fn apply(text: &str, cwd: &Path) -> Result<String, StandaloneFailure> {
    let patch = Patch::parse(text).map_err(|error| StandaloneFailure::new(1, error))?;
    let roots = PatchRoots::Within {
        writable: vec![cwd.to_owned()],
        protected: Vec::new(),
        protected_names: Vec::new(),
    };
    let plan = plan(&patch, cwd, &roots).map_err(|error| StandaloneFailure::new(1, error))?;
    let applied = plan
        .apply()
        .map_err(|error| StandaloneFailure::new(1, error))?;
    Ok(applied.summary())
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(args: &[&str], stdin: &[u8], expected: Expect) {
        let work = tempfile::tempdir().expect("a temporary directory can be made");
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let StandaloneResult {
            code,
            stdout,
            stderr,
        } = run_standalone(&args, stdin, work.path());
        expected.assert_eq(&format!("{code} out: {stdout}err: {stderr}"));
    }

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n";

    #[test]
    fn the_patch_is_the_argument_or_the_input() {
        for (args, stdin) in [(&[PATCH][..], ""), (&[], PATCH)] {
            check(
                args,
                stdin.as_bytes(),
                expect![[r"
                    0 out: The patch was applied. These files were updated:
                    A a
                    err: "]],
            );
        }
    }

    #[test]
    fn wrong_calls_are_told_apart_from_wrong_patches() {
        check(
            &[],
            b"",
            expect![[r"
                2 out: err: usage: troupe apply-patch PATCH, or the patch on standard input
            "]],
        );
        check(
            &[PATCH, PATCH],
            b"",
            expect![[r"
                2 out: err: error: expected one argument
                usage: troupe apply-patch PATCH, or the patch on standard input
            "]],
        );
        check(
            &["nonsense"],
            b"",
            expect![[r"
                1 out: err: error: the first line of a patch must be `*** Begin Patch`, not `nonsense`
            "]],
        );
        check(
            &[],
            b"\xff",
            expect![[r"
                1 out: err: error: failed to read the patch: stream did not contain valid UTF-8
            "]],
        );
    }

    #[test]
    fn a_patch_does_not_leave_its_directory() {
        let outer = tempfile::tempdir().expect("a temporary directory can be made");
        let work = outer.path().join("work");
        std::fs::create_dir(&work).expect("the directory is ours");
        std::os::unix::fs::symlink(outer.path(), work.join("link")).expect("so is the link");
        let absolute = outer.path().join("escaped").display().to_string();
        for name in ["../escaped", "link/escaped", &absolute] {
            let patch = format!("*** Begin Patch\n*** Add File: {name}\n+a\n*** End Patch\n");
            let finished = run_standalone(&[patch.into()], &b""[..], &work);
            assert_eq!(finished.code, 1, "{name}: {finished:?}");
            assert!(!outer.path().join("escaped").exists(), "{name}");
        }
    }
}
