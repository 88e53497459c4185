//! Fuzzes one target: `fuzz TARGET SECONDS [SEED]`, or lists them without arguments.
//!
//! `cargo xtask fuzz` runs one of these per target, side by side. An input that fails is
//! written to `target/fuzz/`, and its path printed; `fuzz TARGET FILE` runs it again.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool for people"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use troupe_testkit::fuzz::campaign::{self, Failure, Heap, Watch};
use troupe_testkit::fuzz::{TARGETS, Target, target};

/// How often somebody looks whether the current input takes too long.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        [] => {
            for target in TARGETS {
                println!("{}", target.name);
            }
            ExitCode::SUCCESS
        }
        [name, what, ..] => match target(name) {
            Some(target) => {
                let seed = words.get(2).and_then(|seed| seed.parse().ok());
                match what.parse() {
                    Ok(seconds) => fuzz(target, Duration::from_secs(seconds), seed.unwrap_or(1)),
                    Err(_) => once(target, Path::new(what)),
                }
            }
            None => refuse(&format!("there is no target {name:?}")),
        },
        [_] => refuse("say how many seconds, or which file"),
    }
}

fn refuse(why: &str) -> ExitCode {
    eprintln!("{why}; usage: fuzz TARGET SECONDS|FILE [SEED]");
    ExitCode::from(2)
}

fn once(target: &Target, file: &Path) -> ExitCode {
    match std::fs::read(file) {
        Ok(input) => {
            println!("{:?}", (target.run)(&input));
            ExitCode::SUCCESS
        }
        Err(error) => refuse(&format!("{}: {error}", file.display())),
    }
}

fn fuzz(target: &'static Target, time: Duration, seed: u64) -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let corpus = root.join("fuzz/corpus").join(target.name);
    let failures = root.join("target/fuzz");
    let current = failures.join(format!("{}.current", target.name));
    let watch = std::fs::create_dir_all(&failures).and_then(|()| Watch::new(&current));
    let watch = match watch {
        Ok(watch) => Arc::new(watch),
        Err(error) => return refuse(&format!("{}: {error}", current.display())),
    };
    let watched = Arc::clone(&watch);
    std::thread::spawn(move || end_if_stuck(target, &watched, &current));
    let heap = Heap { held, peak };
    match campaign::run(target, &corpus, time, seed, heap, &watch) {
        Ok(report) => {
            println!(
                "{}: {} inputs, {} shapes, seed {seed}",
                target.name, report.inputs, report.shapes
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("{}: {failure} (seed {seed})", target.name);
            if let Failure::Panicked { input } | Failure::TooMuchMemory { input, .. } = failure {
                keep(&failures.join(format!("{}.failed", target.name)), &input);
            }
            ExitCode::FAILURE
        }
    }
}

fn keep(path: &PathBuf, input: &[u8]) {
    match std::fs::write(path, input) {
        Ok(()) => eprintln!("the input is {}", path.display()),
        Err(error) => eprintln!("the input could not be written: {error}; it is {input:?}"),
    }
}

fn end_if_stuck(target: &Target, watch: &Watch, current: &Path) {
    loop {
        std::thread::sleep(LOOK_INTERVAL);
        if watch.is_stuck() {
            let seconds = campaign::INPUT_TIME_MAX.as_secs();
            eprintln!(
                "{}: an input takes longer than {seconds} s: {}",
                target.name,
                current.display()
            );
            std::process::exit(1);
        }
    }
}

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

fn peak() -> usize {
    PEAK.swap(held(), Ordering::Relaxed)
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn add(bytes: usize) {
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

fn remove(bytes: usize) {
    HELD.fetch_sub(bytes, Ordering::Relaxed);
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        remove(layout.size());
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // The old and the new block may both exist while the content moves.
        add(size);
        let moved = unsafe { System.realloc(memory, layout, size) };
        remove(layout.size());
        moved
    }
}
