//! What Troupe costs, measured as users meet it: whole processes against a scripted model
//! on loopback, beside the machine's own floor and, if asked, beside another program.
//!
//! Deliberately absent: pass or fail. The figures are for reading; this machine may be busy,
//! so ratios within one run count and single numbers do not.

mod app_server;
mod fixtures;
mod followers;
mod measure;
mod report;
mod script;
mod subject;
mod workload;

use std::io;
use std::path::PathBuf;

use clap::Args;

use self::measure::{ProcessCost, adopt_orphans, median};
use self::report::BenchReport;
use self::subject::BenchSubject;
use self::workload::{BenchStage, BenchWorkload};
use crate::commands::print;
use crate::failure::{CommandExit, CommandFailure, Outcome};

/// Measure start, turns, shell calls, text, resume and agent trees.
#[derive(Debug, Args)]
pub struct BenchArguments {
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
    /// 50 and 500 threads at once). CPU and memory are of everything but the scripted model
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
}

pub fn run(arguments: BenchArguments) -> Outcome {
    let subjects = subjects(&arguments)?;
    let workloads: Vec<BenchWorkload> = BenchWorkload::ALL
        .into_iter()
        .filter(|workload| {
            arguments.only.is_empty() || arguments.only.iter().any(|name| name == workload.name())
        })
        .collect();
    if workloads.is_empty() {
        let names = BenchWorkload::ALL.map(BenchWorkload::name).join(", ");
        return Err(CommandFailure::usage(format!(
            "--only takes any of {names}"
        )));
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(CommandFailure::not_started)?;
    let stage = runtime.block_on(BenchStage::set_up()).map_err(|error| {
        CommandFailure::failed(anyhow::anyhow!("the bench could not be set up: {error}"))
    })?;
    adopt_orphans().map_err(failed)?;
    let mut report = BenchReport::new(arguments.runs);
    report.floor(&stage, arguments.runs).map_err(failed)?;
    for workload in workloads {
        for subject in &subjects {
            if let Some(why) = workload.not_for(subject) {
                report.skip(workload, subject, why);
                continue;
            }
            let costs = (0..arguments.runs.min(workload.runs_max()))
                .map(|_| workload.run(&stage, subject, &runtime))
                .collect::<Result<Vec<ProcessCost>, io::Error>>()
                .map_err(failed)?;
            report.add(workload, subject, median(costs));
        }
    }
    print(&report.to_string())?;
    Ok(CommandExit::Success)
}

fn failed(error: io::Error) -> CommandFailure {
    CommandFailure::failed(anyhow::Error::new(error).context("a measurement failed"))
}

fn subjects(arguments: &BenchArguments) -> Result<Vec<BenchSubject>, CommandFailure> {
    let own = std::env::current_exe().map_err(CommandFailure::not_started)?;
    let mut subjects = vec![BenchSubject::troupe(own)];
    for beside in &arguments.beside {
        let Some((name, path)) = beside.split_once('=') else {
            return Err(CommandFailure::usage(format!(
                "--beside takes NAME=PATH, such as codex=/usr/bin/codex; {beside:?} has no ="
            )));
        };
        let path = PathBuf::from(path);
        if !path.is_file() {
            return Err(CommandFailure::usage(format!(
                "--beside {name}: there is no program {}",
                path.display()
            )));
        }
        subjects.push(BenchSubject::other(name, path));
    }
    Ok(subjects)
}
