//! The figures as a table.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::app_server::ClientWorkload;
use crate::measure::{ProcessCost, measure, median};
use crate::screen::ScreenFigure;
use crate::script::FEW_CHILDREN;
use crate::subject::BenchSubject;
use crate::workload::{APP_THREADS, BenchStage, BenchWorkload, ROLLOUT_MEGABYTES};

/// Name of the rows that measure the machine itself.
const FLOOR: &str = "floor";

pub struct BenchReport {
    runs: usize,
    rows: Vec<BenchRow>,
    /// What was measured so far, to be taken off where calls or deltas are counted.
    costs: Vec<(BenchWorkload, String, ProcessCost)>,
}

struct BenchRow {
    what: String,
    who: String,
    cpu: String,
    wall: String,
    rss: String,
    note: String,
}

impl BenchReport {
    pub fn new(runs: usize) -> Self {
        Self {
            runs,
            rows: Vec::new(),
            costs: Vec::new(),
        }
    }

    /// Measures what the machine itself takes for the smallest things.
    pub fn floor(&mut self, stage: &BenchStage, runs: usize) -> io::Result<()> {
        let fork = (0..runs)
            .map(|_| measure(&mut Command::new("true"), ""))
            .collect::<io::Result<Vec<_>>>()?;
        self.push("fork + exec of `true`", FLOOR, median(fork), String::new());
        let shell = (0..runs)
            .map(|_| measure(Command::new("bash").args(["-c", "true"]), ""))
            .collect::<io::Result<Vec<_>>>()?;
        let title = "fork + exec of `bash -c true`";
        self.push(title, FLOOR, median(shell), String::new());
        self.bubblewrap(runs)?;
        let mut trips: Vec<Duration> = (0..runs)
            .map(|_| http_round_trip(stage))
            .collect::<io::Result<_>>()?;
        trips.sort_unstable();
        let trip = ProcessCost {
            wall: trips[trips.len() / 2],
            ..ProcessCost::default()
        };
        self.push("HTTP round trip on loopback", FLOOR, trip, String::new());
        Ok(())
    }

    /// What the usual sandbox program takes for one command, if it is installed.
    fn bubblewrap(&mut self, runs: usize) -> io::Result<()> {
        const CAGE: [&str; 8] = [
            "--unshare-all",
            "--ro-bind",
            "/",
            "/",
            "--dev",
            "/dev",
            "--proc",
            "/proc",
        ];
        let title = "bubblewrap around `bash -c true`";
        let wrapped = || {
            measure(
                Command::new("bwrap")
                    .args(CAGE)
                    .args(["bash", "-c", "true"]),
                "",
            )
        };
        match wrapped() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.push(
                    title,
                    FLOOR,
                    ProcessCost::default(),
                    "bwrap is not installed".to_owned(),
                );
            }
            first => {
                let costs = std::iter::once(first).chain((1..runs).map(|_| wrapped()));
                let costs = costs.collect::<io::Result<Vec<_>>>()?;
                self.push(title, FLOOR, median(costs), String::new());
            }
        }
        Ok(())
    }

    pub fn add(&mut self, workload: BenchWorkload, subject: &BenchSubject, cost: ProcessCost) {
        self.costs.push((workload, subject.name.clone(), cost));
        let mut notes = Vec::new();
        if let Some((count, unit, without)) = workload.units()
            && let Some(base) = self.cost_of(without, &subject.name)
        {
            let each = cost.cpu.saturating_sub(base.cpu) / count;
            notes.push(format!("{} CPU per {unit}", time(each)));
            if workload == BenchWorkload::Births {
                let each = cost.wall.saturating_sub(base.wall) / count;
                notes.push(format!("{} wall", time(each)));
            }
        }
        if matches!(workload, BenchWorkload::Followers(1..))
            && let Some(alone) = self.cost_of(BenchWorkload::Followers(0), &subject.name)
        {
            let part = alone.wall.as_secs_f64() / cost.wall.as_secs_f64();
            notes.push(format!("driver's throughput {part:.2} x of alone"));
        }
        if workload == BenchWorkload::Sandboxed
            && let Some(bare) = self.cost_of(BenchWorkload::Shell, &subject.name)
        {
            notes.push(format!(
                "{:.2} x CPU and {:.2} x wall of unsandboxed",
                cost.cpu.as_secs_f64() / bare.cpu.as_secs_f64(),
                cost.wall.as_secs_f64() / bare.wall.as_secs_f64(),
            ));
        }
        if let BenchWorkload::FanOut(children) = workload {
            notes.extend(self.beside_fewer(children, &subject.name, cost));
        }
        if let BenchWorkload::Crowd(children, resident) = workload {
            notes.extend(self.each_of_crowd(children, resident, &subject.name, cost));
        }
        if workload == BenchWorkload::Reindex {
            let rate = f64::from(ROLLOUT_MEGABYTES) / cost.wall.as_secs_f64();
            notes.push(format!("{rate:.0} MB/s"));
        }
        if subject.is_troupe() {
            notes.extend(goal(workload).map(|goal| format!("goal {goal}")));
        }
        self.push(&workload.title(), &subject.name, cost, notes.join("; "));
    }

    /// How much of a child's cost comes with the number of its siblings. A parent that is told
    /// of each child sends its whole history each time, so the bytes grow by nature.
    fn beside_fewer(&self, children: u32, who: &str, cost: ProcessCost) -> Option<String> {
        let sent = size(cost.sent / u64::from(children));
        let each =
            |cost: ProcessCost, base: ProcessCost, count| cost.cpu.saturating_sub(base.cpu) / count;
        let base = self.cost_of(BenchWorkload::Turn, who).unwrap_or_default();
        let few = self.cost_of(BenchWorkload::FanOut(FEW_CHILDREN), who)?;
        let ratio =
            each(cost, base, children).as_secs_f64() / each(few, base, FEW_CHILDREN).as_secs_f64();
        Some(match children {
            FEW_CHILDREN => format!("{sent} sent per child"),
            _ => format!("{ratio:.2} x that of {FEW_CHILDREN}, {sent} sent per child"),
        })
    }

    /// What one more child takes, from the crowd measured before this one: in memory if
    /// more of this one are, else out of it.
    fn each_of_crowd(
        &self,
        children: u32,
        resident: u32,
        who: &str,
        cost: ProcessCost,
    ) -> Option<String> {
        let (before, more, what) = match (children, resident) {
            (1_000, 64) => (BenchWorkload::Crowd(100, 64), 900, "child out of memory"),
            (1_000, 1_000) => (BenchWorkload::Crowd(1_000, 64), 936, "child in memory"),
            _ => return None,
        };
        let base = self.cost_of(before, who)?;
        let kilobytes = cost.rss.saturating_sub(base.rss) / more / 1024;
        Some(format!("{kilobytes} KB more per {what}, history included"))
    }

    pub fn screens(&mut self, subject: &BenchSubject, figures: Vec<ScreenFigure>) {
        for figure in figures {
            let cost = ProcessCost {
                cpu: figure.cpu,
                wall: figure.wall,
                rss: figure.rss,
                sent: 0,
            };
            self.push(figure.what, &subject.name, cost, figure.note);
        }
    }

    pub fn skip(&mut self, workload: BenchWorkload, subject: &BenchSubject, why: &str) {
        self.rows.push(BenchRow {
            what: workload.title(),
            who: subject.name.clone(),
            cpu: "-".to_owned(),
            wall: "-".to_owned(),
            rss: "-".to_owned(),
            note: why.to_owned(),
        });
    }

    fn push(&mut self, what: &str, who: &str, cost: ProcessCost, note: String) {
        self.rows.push(BenchRow {
            what: what.to_owned(),
            who: who.to_owned(),
            cpu: if cost.cpu.is_zero() {
                "-".to_owned()
            } else {
                time(cost.cpu)
            },
            wall: if cost.wall.is_zero() {
                "-".to_owned()
            } else {
                time(cost.wall)
            },
            rss: if cost.rss == 0 {
                "-".to_owned()
            } else {
                size(cost.rss)
            },
            note,
        });
    }

    fn cost_of(&self, workload: BenchWorkload, name: &str) -> Option<ProcessCost> {
        let found = self
            .costs
            .iter()
            .find(|(what, who, _)| *what == workload && who == name);
        found.map(|(_, _, cost)| *cost)
    }
}

/// What the figures should be at most; CPU of the whole process tree.
fn goal(workload: BenchWorkload) -> Option<&'static str> {
    match workload {
        BenchWorkload::Version => Some("3 ms CPU"),
        BenchWorkload::Turn => Some("29 ms CPU, 20 MB"),
        // Holds the start of a login shell, which is captured once per session.
        BenchWorkload::FirstCall
        | BenchWorkload::Child
        | BenchWorkload::Plans
        | BenchWorkload::Followers(0)
        | BenchWorkload::Search
        | BenchWorkload::Snapshot(_)
        | BenchWorkload::App(ClientWorkload::FirstEvent) => None,
        BenchWorkload::Births => Some("1 ms CPU per spawn"),
        BenchWorkload::Shell => Some("3 ms per call, the command included"),
        BenchWorkload::Sandboxed => Some("1.5 x CPU and wall of unsandboxed"),
        BenchWorkload::Deltas => Some("3 µs per delta"),
        BenchWorkload::Resume => Some("30 ms CPU"),
        BenchWorkload::Reindex => Some("200 MB/s or more"),
        BenchWorkload::Children => Some("0.4 s CPU, commands included, and 30 MB"),
        BenchWorkload::Waiting => Some("no CPU while it waits"),
        BenchWorkload::FanOut(_) => Some("the same CPU per child for any number"),
        BenchWorkload::Followers(_) => Some("0.9 x of the driver's throughput alone"),
        BenchWorkload::App(ClientWorkload::Turns(_)) => Some("8 ms CPU per turn, 41 MB"),
        BenchWorkload::App(ClientWorkload::Threads(APP_THREADS)) => {
            Some("5.2 s CPU, commands included, 68 MB")
        }
        BenchWorkload::App(ClientWorkload::Threads(_)) => {
            Some("the same CPU per turn for any number")
        }
        BenchWorkload::Crowd(..) => Some("64 KB per child in memory beyond its history, else 2 KB"),
    }
}

/// Asks the scripted model for its list of models, over a new connection.
fn http_round_trip(stage: &BenchStage) -> io::Result<Duration> {
    let started = Instant::now();
    let mut stream = TcpStream::connect(stage.address())?;
    stream.write_all(b"GET /v1/models HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(started.elapsed())
}

fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    if micros < 1_000.0 {
        format!("{micros:.1} µs")
    } else if micros < 1_000_000.0 {
        format!("{:.1} ms", micros / 1e3)
    } else {
        format!("{:.2} s", micros / 1e6)
    }
}

fn size(bytes: u64) -> String {
    let tenths = bytes * 10 / (1024 * 1024);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Medians of {} runs. CPU is of the whole process tree; the sandbox is off where not said.\n",
            self.runs
        )?;
        writeln!(
            f,
            "{:<34} {:<8} {:>10} {:>10} {:>10}  note",
            "work", "who", "CPU", "wall", "peak RSS"
        )?;
        for row in &self.rows {
            writeln!(
                f,
                "{:<34} {:<8} {:>10} {:>10} {:>10}  {}",
                row.what, row.who, row.cpu, row.wall, row.rss, row.note
            )?;
        }
        Ok(())
    }
}
