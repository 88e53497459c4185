//! A program with its arguments and environment, in the form in which the kernel takes them.
//!
//! Everything is made before the child that executes it, which then has nothing to allocate.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, NulError, c_char};
use std::io;

use nix::errno::Errno;

/// Reads files that are executable and in no format that the kernel knows.
const SHELL: &CStr = c"/bin/sh";

/// Where programs are looked for without a `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

pub(super) struct ExecProgram {
    /// Where it may be, in the order of trying.
    places: Vec<CString>,
    /// [`SHELL`], in case it is needed, then the program's own.
    arguments: StringPointers,
    environment: StringPointers,
}

impl ExecProgram {
    pub fn new(argv: Vec<String>, env: BTreeMap<String, String>) -> io::Result<Self> {
        let name = argv.first().map_or("", String::as_str);
        let path = env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
        let places = places(name, path)?;
        let arguments = argv.into_iter().map(CString::new);
        let environment = env
            .into_iter()
            .map(|(name, value)| CString::new(name + "=" + &value));
        Ok(Self {
            places,
            arguments: StringPointers::new(std::iter::once(Ok(SHELL.to_owned())).chain(arguments))?,
            environment: StringPointers::new(environment)?,
        })
    }

    /// Makes the calling process this program; returns why it could not.
    pub fn execute(&mut self) -> Errno {
        let mut refused = None;
        for place in &self.places {
            let error = execute(place, &self.arguments.0[1..], &self.environment);
            match error {
                Errno::ENOEXEC => {
                    self.arguments.0[1] = place.as_ptr();
                    return execute(SHELL, &self.arguments.0, &self.environment);
                }
                // It may be in another directory; if not, this is what to tell.
                Errno::EACCES => refused = Some(error),
                Errno::ENOENT | Errno::ENOTDIR | Errno::ESTALE | Errno::ENODEV => {}
                _ => return error,
            }
        }
        refused.unwrap_or(Errno::ENOENT)
    }
}

fn execute(place: &CStr, arguments: &[*const c_char], environment: &StringPointers) -> Errno {
    // SAFETY: the place is a C string, both lists end with null and hold pointers to C strings
    // that live as long as the program.
    unsafe { libc::execve(place.as_ptr(), arguments.as_ptr(), environment.0.as_ptr()) };
    Errno::last()
}

/// The rules of `execvp`: a name with a slash is a path; an empty entry is the working directory.
fn places(name: &str, path: &str) -> Result<Vec<CString>, NulError> {
    if name.contains('/') {
        return Ok(vec![CString::new(name)?]);
    }
    path.split(':')
        .map(|directory| match directory {
            "" => CString::new(name),
            directory => CString::new(format!("{directory}/{name}")),
        })
        .collect()
}

/// C strings and, in front of the null that ends the list, pointers to them.
struct StringPointers(
    Vec<*const c_char>,
    #[expect(dead_code, reason = "owns")] Vec<CString>,
);

impl StringPointers {
    fn new(strings: impl Iterator<Item = Result<CString, NulError>>) -> Result<Self, NulError> {
        let strings = strings.collect::<Result<Vec<_>, _>>()?;
        let pointers = strings
            .iter()
            .map(|string| string.as_ptr())
            .chain(std::iter::once(std::ptr::null()))
            .collect();
        Ok(Self(pointers, strings))
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(name: &str, path: &str, expected: Expect) {
        expected.assert_eq(&format!("{:?}", places(name, path).unwrap()));
    }

    #[test]
    fn a_name_is_looked_up_and_a_path_is_not() {
        check(
            "ls",
            "/bin:/usr/bin",
            expect![[r#"["/bin/ls", "/usr/bin/ls"]"#]],
        );
        check("/x/ls", "/bin", expect![[r#"["/x/ls"]"#]]);
        check("./ls", "/bin", expect![[r#"["./ls"]"#]]);
    }

    #[test]
    fn an_empty_entry_is_the_working_directory() {
        check("ls", ":/bin", expect![[r#"["ls", "/bin/ls"]"#]]);
        check("ls", "", expect![[r#"["ls"]"#]]);
    }
}
