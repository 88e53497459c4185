//! Watches a program and its children, and notes each function when it is entered first.
//!
//! The first byte of every function is replaced by a breakpoint, which is taken out when it is
//! met. So each costs one stop, and the program runs on at its own speed.

use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::Functions;

const BREAKPOINT: u8 = 0xcc;

/// What was entered, first come first.
#[derive(Default)]
pub struct Order {
    pub names: Vec<String>,
    seen: HashSet<u64>,
}

/// Runs a command to its end.
pub fn watch(command: &mut Command, functions: &Functions, order: &mut Order) -> Result<()> {
    let program = fs::canonicalize(command.get_program())?;
    // SAFETY: the closure makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| ptrace::traceme().map_err(Into::into)) };
    let child = command.spawn()?;
    let first = Pid::from_raw(i32::try_from(child.id())?);
    waitpid(first, None)?;
    let options = Options::PTRACE_O_TRACEFORK
        | Options::PTRACE_O_TRACEVFORK
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACEEXEC
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(first, options)?;
    let mut watch = Watch {
        program: &program,
        original: Original::read(&program)?,
        functions,
        order,
    };
    watch.arm(first)?;
    ptrace::cont(first, None)?;
    watch.until_all_ended(first)
}

struct Watch<'a> {
    program: &'a Path,
    original: Original,
    functions: &'a Functions,
    order: &'a mut Order,
}

impl Watch<'_> {
    fn until_all_ended(&mut self, first: Pid) -> Result<()> {
        let mut alive = HashSet::from([first]);
        let mut ended = None;
        while !alive.is_empty() {
            match waitpid(None, Some(WaitPidFlag::__WALL))? {
                WaitStatus::Exited(pid, code) => {
                    alive.remove(&pid);
                    if pid == first {
                        ended = Some(code);
                    }
                }
                WaitStatus::Signaled(pid, ..) => {
                    alive.remove(&pid);
                }
                WaitStatus::Stopped(pid, Signal::SIGTRAP) => self.entered(pid)?,
                // A child begins with a stop that nobody sent.
                WaitStatus::Stopped(pid, Signal::SIGSTOP) => go_on(pid, None)?,
                WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal))?,
                WaitStatus::PtraceEvent(pid, _, libc::PTRACE_EVENT_EXEC) => {
                    if fs::read_link(format!("/proc/{pid}/exe"))? == self.program {
                        self.arm(pid)?;
                        go_on(pid, None)?;
                    } else {
                        alive.remove(&pid);
                        ptrace::detach(pid, None)?;
                    }
                }
                // A thread is no more than one more of them.
                WaitStatus::PtraceEvent(pid, ..) => {
                    alive.insert(Pid::from_raw(i32::try_from(ptrace::getevent(pid)?)?));
                    go_on(pid, None)?;
                }
                WaitStatus::Continued(_)
                | WaitStatus::StillAlive
                | WaitStatus::PtraceSyscall(_) => {}
            }
        }
        ensure!(ended == Some(0), "the program failed: {ended:?}");
        Ok(())
    }

    /// Puts a breakpoint on every function.
    fn arm(&self, pid: Pid) -> Result<()> {
        let base = base(pid, self.program)?;
        let mut text = self.original.text.clone();
        for address in self.functions.names.keys() {
            if let Some(index) = self.original.index(*address) {
                text[index] = BREAKPOINT;
            }
        }
        Ok(memory(pid)?.write_all_at(&text, base + self.original.address)?)
    }

    /// Takes out the breakpoint that a process has met.
    fn entered(&mut self, pid: Pid) -> Result<()> {
        let mut registers = ptrace::getregs(pid)?;
        let place = registers.rip - 1;
        let address = place - base(pid, self.program)?;
        let (Some(name), Some(index)) = (
            self.functions.names.get(&address),
            self.original.index(address),
        ) else {
            // A trap of its own.
            return go_on(pid, Some(Signal::SIGTRAP));
        };
        memory(pid)?.write_all_at(&self.original.text[index..=index], place)?;
        registers.rip = place;
        ptrace::setregs(pid, registers)?;
        if self.order.seen.insert(address) {
            self.order.names.push(name.clone());
        }
        go_on(pid, None)
    }
}

/// The code as it is in the file.
struct Original {
    address: u64,
    text: Vec<u8>,
}

impl Original {
    fn read(program: &Path) -> Result<Self> {
        let listed = Command::new("readelf")
            .args(["--sections", "--wide"])
            .arg(program)
            .output()
            .context("readelf of the binutils could not be started")?;
        let listed = String::from_utf8(listed.stdout)?;
        let section = listed.lines().find_map(|line| line.split_once(" .text "));
        let (_, section) = section.context("the program has no code")?;
        let mut numbers = section.split_whitespace().skip(1);
        let mut number = || u64::from_str_radix(numbers.next().unwrap_or_default(), 16);
        let (address, offset, size) = (number()?, number()?, number()?);
        let mut text = vec![0; usize::try_from(size)?];
        File::open(program)?.read_exact_at(&mut text, offset)?;
        Ok(Self { address, text })
    }

    fn index(&self, address: u64) -> Option<usize> {
        let index = usize::try_from(address.checked_sub(self.address)?).ok()?;
        (index < self.text.len()).then_some(index)
    }
}

/// Lets a process run; one that was killed meanwhile is heard of again.
fn go_on(pid: Pid, signal: Option<Signal>) -> Result<()> {
    match ptrace::cont(pid, signal) {
        Ok(()) | Err(nix::Error::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn memory(pid: Pid) -> Result<File> {
    let path = format!("/proc/{pid}/mem");
    Ok(OpenOptions::new().read(true).write(true).open(path)?)
}

/// Where a process has put the program.
fn base(pid: Pid, program: &Path) -> Result<u64> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps"))?;
    let path = program.to_string_lossy();
    let line = maps.lines().find(|line| line.ends_with(&*path));
    let start = line.and_then(|line| line.split('-').next());
    let start = start.context("the program is not in its own memory")?;
    Ok(u64::from_str_radix(start, 16)?)
}
