//! A process that outlives whoever started it: in a session of its own, so that neither a closed
//! terminal nor Ctrl-C reaches it. It is no command: nothing confines it, and nobody ends it.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::limits::DETACHED_ERROR_BYTES_MAX;

/// A process that has begun, and has not said yet that it is ready.
#[derive(Debug)]
pub struct DetachedProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

/// How a process ended that was never ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetachedEnd {
    /// None if a signal ended it.
    pub code: Option<i32>,
    /// The beginning of what it wrote to its standard error.
    pub error: String,
}

impl DetachedProcess {
    /// Starts a program with this on its standard input.
    pub fn start(
        program: &Path,
        arguments: &[impl AsRef<OsStr>],
        cwd: &Path,
        input: &[u8],
    ) -> io::Result<Self> {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // SAFETY: between fork and exec the one call is `setsid`, which is safe there.
        unsafe {
            command.pre_exec(|| {
                nix::unistd::setsid()?;
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        // One that reads nothing tells why when its output is read.
        stdin.map(|mut stdin| stdin.write_all(input));
        let output = child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("the process has no output"))?;
        let output = BufReader::new(output);
        Ok(Self { child, output })
    }

    /// Returns the first line that it writes, which says that it is ready, or how it ended
    /// without one. From then on nobody reads what it writes.
    pub fn ready(mut self) -> io::Result<Result<String, DetachedEnd>> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? > 0 {
            return Ok(Ok(line.trim_end().to_owned()));
        }
        let mut error = Vec::new();
        if let Some(stderr) = self.child.stderr.take() {
            stderr
                .take(DETACHED_ERROR_BYTES_MAX)
                .read_to_end(&mut error)?;
        }
        let code = self.child.wait()?.code();
        let error = String::from_utf8_lossy(&error).trim_end().to_owned();
        Ok(Err(DetachedEnd { code, error }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> io::Result<Result<String, DetachedEnd>> {
        let started = DetachedProcess::start(
            Path::new("/bin/sh"),
            &["-c", script],
            Path::new("/"),
            b"go\n",
        );
        started?.ready()
    }

    #[test]
    fn it_leads_a_session_of_its_own_and_says_when_it_is_ready() {
        let line = shell("read word; echo $word $$ $(ps -o sid= -p $$)").unwrap();
        let line = line.unwrap();
        let mut words = line.split_whitespace();
        assert_eq!(words.next(), Some("go"));
        assert_eq!(words.next(), words.next(), "{line}");
    }

    #[test]
    fn one_that_never_was_ready_tells_why() {
        let end = shell("echo no such thing >&2; exit 3")
            .unwrap()
            .unwrap_err();
        let expected = DetachedEnd {
            code: Some(3),
            error: "no such thing".to_owned(),
        };
        assert_eq!(end, expected);
    }
}
