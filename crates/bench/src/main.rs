//! What Troupe costs, measured as users meet it: whole processes against a scripted model
//! on loopback, beside the machine's own floor and, if asked, beside another program.
//!
//! ```text
//! cargo build --release -p troupe -p troupe-bench && target/release/troupe-bench
//! ```
//!
//! Deliberately absent: pass or fail. The figures are for reading; this machine may be busy,
//! so ratios within one run count and single numbers do not.

mod app_server;
mod fixtures;
mod followers;
mod limits;
mod measure;
mod report;
mod screen;
mod script;
mod subject;
mod workload;

use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser;

use self::measure::{ProcessCost, adopt_orphans, median};
use self::report::BenchReport;
use self::subject::BenchSubject;
use self::workload::{BenchStage, BenchWorkload};

/// Measure start, turns, shell calls, text, resume and agent trees.
#[derive(Debug, Parser)]
#[command(name = "troupe-bench", version)]
struct BenchArguments {
    /// The program to measure; else the `troupe` in the directory of this one
    #[arg(long, value_name = "PATH")]
    troupe: Option<PathBuf>,

    /// How often each figure is taken; the median is shown
    #[arg(long, default_value_t = 5, value_name = "N")]
    runs: usize,

    /// Measure another program of the Codex family in the same run (repeatable)
    #[arg(long, value_name = "NAME=PATH")]
    beside: Vec<String>,

    /// Only these workloads (repeatable): version, turn, call, shell, sandbox, deltas, resume,
    /// reindex, search, undo; of agent trees child, spawn (up to the child's first request), children (16 at work), wait (10 s for one that is
    /// silent), fanout (250 to 1,000 children and callbacks), crowd (memory of 1,000 children
    /// with 20 turns each); followers (a driver over a socket, alone and with 100 who follow; the
    /// wall time is the driver's); app (an app-server: its first event, 100 turns of a thread,
    /// 50 and 500 threads at once); tui (the screen at a terminal: first paint, rest, keys, text,
    /// 64 agents, 100,000 lines, 10,000 sessions; two minutes). CPU and memory are of everything but the scripted model
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

fn main() -> Result<()> {
    let arguments = BenchArguments::parse();
    let subjects = subjects(&arguments)?;
    let workloads: Vec<BenchWorkload> = BenchWorkload::ALL
        .into_iter()
        .filter(|workload| {
            arguments.only.is_empty() || arguments.only.iter().any(|name| name == workload.name())
        })
        .collect();
    if workloads.is_empty() && !wants_screens(&arguments) {
        let names = BenchWorkload::ALL.map(BenchWorkload::name).join(", ");
        bail!("--only takes any of {names}, {SCREENS}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let stage = runtime
        .block_on(BenchStage::set_up())
        .map_err(|error| anyhow::anyhow!("the bench could not be set up: {error}"))?;
    let report = measure_all(&arguments, &subjects, workloads, &stage, &runtime)
        .context("a measurement failed")?;
    Ok(write!(io::stdout(), "{report}")?)
}

fn measure_all(
    arguments: &BenchArguments,
    subjects: &[BenchSubject],
    workloads: Vec<BenchWorkload>,
    stage: &BenchStage,
    runtime: &tokio::runtime::Runtime,
) -> io::Result<BenchReport> {
    adopt_orphans()?;
    let mut report = BenchReport::new(arguments.runs);
    report.floor(stage, arguments.runs)?;
    for workload in workloads {
        for subject in subjects {
            if let Some(why) = workload.not_for(subject) {
                report.skip(workload, subject, why);
                continue;
            }
            let costs = (0..arguments.runs.min(workload.runs_max()))
                .map(|_| workload.run(stage, subject, runtime))
                .collect::<Result<Vec<ProcessCost>, io::Error>>()?;
            report.add(workload, subject, median(costs));
        }
    }
    if wants_screens(arguments) {
        for subject in subjects.iter().filter(|subject| subject.is_troupe()) {
            let figures = screen::measure_screens(stage, subject, runtime, arguments.runs)?;
            report.screens(subject, figures);
        }
    }
    Ok(report)
}

/// The name of the measurements of the screen.
const SCREENS: &str = "tui";

fn wants_screens(arguments: &BenchArguments) -> bool {
    arguments.only.is_empty() || arguments.only.iter().any(|name| name == SCREENS)
}

fn subjects(arguments: &BenchArguments) -> Result<Vec<BenchSubject>> {
    let own = match &arguments.troupe {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("troupe"),
    };
    ensure!(
        own.is_file(),
        "there is no program {}; build it in the same profile, or name one with --troupe",
        own.display()
    );
    let mut subjects = vec![BenchSubject::troupe(own)];
    for beside in &arguments.beside {
        let Some((name, path)) = beside.split_once('=') else {
            bail!("--beside takes NAME=PATH, such as codex=/usr/bin/codex; {beside:?} has no =");
        };
        let path = PathBuf::from(path);
        ensure!(
            path.is_file(),
            "--beside {name}: there is no program {}",
            path.display()
        );
        subjects.push(BenchSubject::other(name, path));
    }
    Ok(subjects)
}
