//! One target under fire for a while.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use super::mutate::mutate;
use super::{Shape, Target};

/// How long one input may take, in a build without optimisation on a busy machine.
pub const INPUT_TIME_MAX: Duration = Duration::from_secs(10);
/// What one input may hold in memory at its peak, beyond what was held before.
pub const INPUT_HEAP_BYTES_MAX: usize = 128 * 1024 * 1024;
/// What all inputs together may leave behind, after the first ones have filled every cache.
pub const GROWTH_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Inputs that are kept to be changed further.
const POOL_INPUTS_MAX: usize = 2_000;
const POOL_BYTES_MAX: usize = 4 * 1024 * 1024;
/// After so many inputs what is held should stay the same.
const WARM_UP_INPUTS: u64 = 2_000;

/// Counts what is held on the heap. The program that runs a campaign brings it.
#[derive(Debug, Clone, Copy)]
pub struct Heap {
    pub held: fn() -> usize,
    /// Returns the most that was held since the last call, and begins anew.
    pub peak: fn() -> usize,
}

/// What is under fire at the moment, for who watches from another thread or, after a crash, from
/// another process.
#[derive(Debug)]
pub struct Watch {
    began: Instant,
    /// Milliseconds since then at which the current input was begun, plus one; 0 for none.
    since_ms: AtomicU64,
    current: File,
}

impl Watch {
    /// Keeps the current input in this file.
    pub fn new(current: &Path) -> io::Result<Self> {
        Ok(Self {
            began: Instant::now(),
            since_ms: AtomicU64::new(0),
            current: File::create(current)?,
        })
    }

    /// Tells whether the current input takes too long.
    pub fn is_stuck(&self) -> bool {
        let since = self.since_ms.load(Ordering::Relaxed);
        let now = self.now_ms();
        since > 0 && Duration::from_millis(now.saturating_sub(since)) > INPUT_TIME_MAX
    }

    fn begin(&self, input: &[u8]) -> io::Result<()> {
        self.current.write_all_at(input, 0)?;
        self.current.set_len(input.len() as u64)?;
        self.since_ms.store(self.now_ms() + 1, Ordering::Relaxed);
        Ok(())
    }

    fn end(&self) {
        self.since_ms.store(0, Ordering::Relaxed);
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// What a campaign came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    pub inputs: u64,
    pub shapes: usize,
}

/// Why an input, or all of them, failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("it panicked")]
    Panicked { input: Vec<u8> },
    #[error("it held {bytes} bytes for an input of {}", input.len())]
    TooMuchMemory { input: Vec<u8>, bytes: usize },
    #[error("it holds {bytes} bytes more than after the first inputs")]
    Growth { bytes: usize },
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Runs the corpus, then changed inputs until the time is over.
pub fn run(
    target: &Target,
    corpus: &Path,
    time: Duration,
    seed: u64,
    heap: Heap,
    watch: &Watch,
) -> Result<Report, Failure> {
    let until = Instant::now() + time;
    let mut random = SmallRng::seed_from_u64(seed);
    let mut campaign = Campaign {
        target,
        heap,
        watch,
        pool: Vec::new(),
        pool_bytes: 0,
        seen: HashSet::new(),
        inputs: 0,
    };
    for path in inputs(corpus)? {
        campaign.try_input(fs::read(path)?)?;
    }
    campaign.try_input(Vec::new())?;
    let mut warm = None;
    while Instant::now() < until {
        let input = {
            let pick = |random: &mut SmallRng| random.random_range(0..campaign.pool.len());
            let (one, other) = (pick(&mut random), pick(&mut random));
            let pool = &campaign.pool;
            mutate(&pool[one], &pool[other], target.words, &mut random)
        };
        campaign.try_input(input)?;
        if campaign.inputs == WARM_UP_INPUTS {
            warm = Some((heap.held)());
        }
    }
    let grown = warm.map_or(0, |warm| (heap.held)().saturating_sub(warm));
    if grown > GROWTH_BYTES_MAX {
        return Err(Failure::Growth { bytes: grown });
    }
    Ok(Report {
        inputs: campaign.inputs,
        shapes: campaign.seen.len(),
    })
}

struct Campaign<'a> {
    target: &'a Target,
    heap: Heap,
    watch: &'a Watch,
    pool: Vec<Vec<u8>>,
    pool_bytes: usize,
    seen: HashSet<Shape>,
    inputs: u64,
}

impl Campaign<'_> {
    fn try_input(&mut self, input: Vec<u8>) -> Result<(), Failure> {
        self.inputs += 1;
        let before = (self.heap.held)();
        (self.heap.peak)();
        self.watch.begin(&input)?;
        let result = catch_unwind(AssertUnwindSafe(|| (self.target.run)(&input)));
        self.watch.end();
        let bytes = (self.heap.peak)().saturating_sub(before);
        let Ok(shape) = result else {
            return Err(Failure::Panicked { input });
        };
        if bytes > INPUT_HEAP_BYTES_MAX {
            return Err(Failure::TooMuchMemory { input, bytes });
        }
        let is_new = self.seen.insert(shape);
        let has_room =
            self.pool.len() < POOL_INPUTS_MAX && self.pool_bytes + input.len() <= POOL_BYTES_MAX;
        if self.pool.is_empty() || (is_new && has_room) {
            self.pool_bytes += input.len();
            self.pool.push(input);
        }
        Ok(())
    }
}

fn inputs(corpus: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(corpus)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}
