//! The terminal as a device: raw while it is ours, and as it was before in every other case.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, Once, PoisonError};

use rustix::fs::OFlags;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr, ttyname};
use tokio::io::unix::AsyncFd;

use super::ScreenSize;

/// Brackets around pastes, focus, and keys that say which they are.
const ENTER_MODES: &str = "\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// The end of an update, of the alternate screen and of the modes; and the cursor.
const LEAVE_MODES: &str = "\x1b[?2026l\x1b[<1u\x1b[?1004l\x1b[?2004l\x1b[m\x1b[?25h";

/// How terminals were, for whoever has to restore them: a panic runs no destructor of ours in
/// time, so its hook looks here.
static BEFORE: Mutex<Vec<SavedTerminal>> = Mutex::new(Vec::new());
static HOOK: Once = Once::new();

struct SavedTerminal {
    /// Equal to the descriptor that the terminal is used by.
    id: RawFd,
    device: File,
    termios: Termios,
    /// Whether lines are added to and nothing else: then no mode was set.
    is_plain: bool,
    on_alternate_screen: bool,
}

impl SavedTerminal {
    fn restore(&self) {
        if !self.is_plain {
            let mut out = String::new();
            if self.on_alternate_screen {
                out.push_str(super::full::LEAVE);
            }
            out.push_str(LEAVE_MODES);
            // Nobody is left who could be told of an error.
            (&self.device).write_all(out.as_bytes()).ok();
        }
        tcsetattr(&self.device, OptionalActions::Now, &self.termios).ok();
    }
}

/// A terminal that is ours until this is dropped.
#[derive(Debug)]
pub struct TerminalDevice {
    device: AsyncFd<File>,
    is_plain: bool,
}

impl TerminalDevice {
    /// Opens the terminal of this process. It is opened anew, because what it is set to then
    /// holds for us alone: others share the descriptors of standard input and output.
    pub fn open(is_plain: bool) -> io::Result<Self> {
        let stdin = io::stdin();
        let name = ttyname(stdin.as_fd(), Vec::new()).ok();
        let path = name.map_or_else(
            || PathBuf::from("/dev/tty"),
            |name| PathBuf::from(std::ffi::OsStr::from_bytes(name.as_bytes())),
        );
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let device = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        Self::new(device, is_plain)
    }

    /// Takes a terminal whose reads and writes do not block.
    pub fn from_fd(terminal: OwnedFd, is_plain: bool) -> io::Result<Self> {
        Self::new(File::from(terminal), is_plain)
    }

    fn new(device: File, is_plain: bool) -> io::Result<Self> {
        let before = SavedTerminal {
            termios: tcgetattr(&device)?,
            id: device.as_raw_fd(),
            device: device.try_clone()?,
            is_plain,
            on_alternate_screen: false,
        };
        lock().push(before);
        HOOK.call_once(|| {
            let others = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                lock().iter().for_each(SavedTerminal::restore);
                others(panic);
            }));
        });
        let device = Self {
            // SAFETY: the file owns its descriptor, is never replaced, and lives as long as the
            // registration.
            device: unsafe { AsyncFd::register(device) }?,
            is_plain,
        };
        device.enter()?;
        Ok(device)
    }

    /// Sets the modes, at the beginning and after the terminal was somebody else's.
    pub fn enter(&self) -> io::Result<()> {
        let device = self.device.get_ref();
        let mut termios = tcgetattr(device)?;
        termios.make_raw();
        tcsetattr(device, OptionalActions::Now, &termios)?;
        if self.is_plain {
            return Ok(());
        }
        let mut device = device;
        device.write_all(ENTER_MODES.as_bytes())
    }

    /// Makes the terminal what it was.
    pub fn leave(&self) {
        self.with_before(|before| before.restore());
    }

    /// Remembers what is to be left when the terminal is restored.
    pub fn set_on_alternate_screen(&self, is_on: bool) {
        self.with_before(|before| before.on_alternate_screen = is_on);
    }

    fn with_before(&self, act: impl FnOnce(&mut SavedTerminal)) {
        let id = self.device.as_raw_fd();
        let mut all = lock();
        if let Some(before) = all.iter_mut().find(|before| before.id == id) {
            act(before);
        }
    }

    /// Returns the size; a terminal that does not say has 80 columns and 24 rows.
    pub fn size(&self) -> ScreenSize {
        let size = tcgetwinsize(self.device.get_ref()).ok();
        let known = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
        known.map_or(
            ScreenSize {
                columns: 80,
                rows: 24,
            },
            |size| ScreenSize {
                columns: usize::from(size.ws_col),
                rows: usize::from(size.ws_row),
            },
        )
    }

    /// Reads what is there; 0 when the terminal is gone. Cancel-safe.
    pub async fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.device.readable().await?;
            if let Ok(read) = ready.try_io(|device| device.get_ref().read(buffer)) {
                return read;
            }
        }
    }

    /// Writes everything.
    pub async fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let mut left = bytes;
        while !left.is_empty() {
            let count = self.write(left).await?;
            left = &left[count..];
        }
        Ok(())
    }

    /// Writes what the terminal takes. Cancel-safe.
    pub async fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            let mut ready = self.device.writable().await?;
            if let Ok(written) = ready.try_io(|device| device.get_ref().write(bytes)) {
                return written;
            }
        }
    }
}

impl Drop for TerminalDevice {
    fn drop(&mut self) {
        self.leave();
        let id = self.device.as_raw_fd();
        lock().retain(|before| before.id != id);
    }
}

fn lock() -> std::sync::MutexGuard<'static, Vec<SavedTerminal>> {
    BEFORE.lock().unwrap_or_else(PoisonError::into_inner)
}
