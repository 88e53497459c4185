//! Every bound of this crate, with its unit last.

/// What one read of a command's output returns at most; also the size of an output event.
pub const OUTPUT_EVENT_BYTES_MAX: usize = 8 * 1024;

/// Output kept aside while the caller writes to stdin or kills; beyond it, a write stops
/// reading and a kill throws output away.
pub const OUTPUT_ASIDE_BYTES_MAX: usize = 1024 * 1024;

/// How long processes that a command left behind may go on writing to its output after the
/// command itself has ended. Process substitutions (`> >(tee log)`) need a moment; servers
/// started with `&` would use any time they are given.
pub const DRAIN_GRACE_MS: u64 = 250;

/// How long a killed tree may take to disappear before it is reported as not verified.
pub const SWEEP_WAIT_MS: u64 = 5_000;

/// How long a command may take to end itself after SIGTERM.
pub const TERMINATE_GRACE_MS: u64 = 1_000;

/// How long a write to stdin may wait without a byte being taken.
pub const STDIN_STALL_MS: u64 = 30_000;

/// How long starting a holder and one command may take, exec included.
pub const START_WAIT_MS: u64 = 10_000;

/// Arguments and environment of one command; the kernel's own limit is in the same order.
pub const REQUEST_BYTES_MAX: u64 = 4 * 1024 * 1024;

/// One message between engine, holder and keeper, file descriptors aside.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024;

/// How long a login shell may take to print its environment.
pub const LOGIN_WAIT_MS: u64 = 10_000;

/// What a login shell may print, its profile's chatter included.
pub const LOGIN_BYTES_MAX: usize = 1024 * 1024;

/// Holders kept running, each for one policy. Beyond it the one unused for longest is let go.
pub const HOLDERS_MAX: usize = 16;

/// Files and directories that the search for nested repositories looks at, for one policy.
pub const NESTED_ENTRIES_MAX: usize = 200_000;

/// What is read of an index to learn where a repository has others; one that is longer is not
/// understood.
pub const INDEX_BYTES_MAX: u64 = 64 << 20;

/// Symlinks that are followed from a name under which something is made; more is refused.
pub const LINKS_FOLLOWED_MAX: usize = 40;

/// How deep the search for repositories looks in temporary directories, at how many files and for
/// how long, and how many it protects there. What lies beyond is not protected.
pub const NESTED_TEMPORARY_DEPTH_MAX: usize = 3;
pub const NESTED_TEMPORARY_ENTRIES_MAX: usize = 20_000;
pub const NESTED_TEMPORARY_MS_MAX: u64 = 100;
pub const NESTED_TEMPORARY_PATHS_MAX: usize = 64;

/// How deep below a writable root it looks.
pub const NESTED_DEPTH_MAX: usize = 32;

/// What it protects at most. Each is a mount, of which every new keeper gets a copy, and a look
/// before every command.
pub const NESTED_PATHS_MAX: usize = 256;

/// Repositories that the indices of a workspace and of its submodules name, checked out or not. They
/// are protected before all others, and do not count as those.
pub const NESTED_EXPECTED_MAX: usize = 4_096;

/// How long it may take, for disks that answer slowly.
pub const NESTED_SEARCH_MS_MAX: u64 = 1_000;

/// How often a mount is tried whose place changes meanwhile.
pub const MOUNT_ATTEMPTS_MAX: usize = 8;

/// How often the name of a repository is taken that somebody else gives up at the same time.
pub const PLACEHOLDER_ATTEMPTS_MAX: usize = 64;

/// Names that are tried for what is moved aside; all but the first have the time in them.
pub const ASIDE_NAMES_MAX: usize = 64;

/// Refused attempts of one command that are remembered; more of them add no evidence.
pub const DENIALS_MAX: usize = 8;

/// Text about one of them, which can name a path of any length.
pub const DENIAL_BYTES_MAX: usize = 256;

/// What a command's process may use between its start and exec. Touched only as far as needed.
pub const CHILD_STACK_BYTES: usize = 256 * 1024;

/// Keepers of one holder that wait for another command. More than that are let go when their
/// command has ended.
pub const KEEPERS_IDLE_MAX: usize = 8;

/// What a git of the engine's own may print.
pub const GIT_OUTPUT_BYTES_MAX: usize = 16 << 20;

/// What is kept of its complaints.
pub const GIT_COMPLAINT_BYTES_MAX: usize = 4 * 1024;

/// How long it may take.
pub const GIT_TIME_MS_MAX: u64 = 30_000;

/// Filters of a repository that are switched off, four variables each. With more nothing is run.
pub const GIT_FILTERS_MAX: usize = 256;

/// The most that a message carries: those of a request, and its text.
pub(crate) const PACKET_DESCRIPTORS_MAX: usize = 4;

/// What is kept of the words of a process that did not get ready.
pub const DETACHED_ERROR_BYTES_MAX: u64 = 64 * 1024;

/// How often a work tree is looked at for repositories that a running command has brought there,
/// and how many times the time of the last look is waited at least.
pub const SECOND_LOOK_INTERVAL_MS: u64 = 2_000;
pub const SECOND_LOOK_SHARE: u32 = 100;

/// Directories that are looked at before a command and after it for repositories that it has
/// brought there, the outer ones first. The others are not looked at again.
pub const NESTED_PLAIN_MAX: usize = 10_000;
