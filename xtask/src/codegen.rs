//! Rewrites generated files, mostly by running the tests that otherwise complain about them.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// A package whose tests compare checked-in files with the code.
struct Generator {
    package: &'static str,
    /// The tests to run.
    filter: &'static str,
    /// Set, this makes them rewrite the files instead.
    update_variable: &'static str,
}

const GENERATORS: &[Generator] = &[
    Generator {
        package: "troupe-protocol",
        filter: "generated",
        update_variable: "UPDATE_SCHEMA",
    },
    Generator {
        package: "troupe-app-server",
        filter: "generated",
        update_variable: "UPDATE_SCHEMA",
    },
    Generator {
        package: "troupe-daemon",
        filter: "openapi",
        update_variable: "UPDATE_EXPECT",
    },
];

pub fn run() -> Result<()> {
    GENERATORS.iter().try_for_each(Generator::run)?;
    // From what the generators wrote.
    crate::sdk::generate(&crate::test::root())?;
    // By a build of this program that brings what it takes.
    let status = cargo()
        .args(["run", "--quiet", "-p", "xtask", "--features", "grpc"])
        .args(["--", "codegen", "grpc"])
        .status()
        .context("cargo cannot be started")?;
    ensure!(status.success(), "the gRPC code was not generated");
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Generator {
    fn run(&self) -> Result<()> {
        let status = cargo()
            .args(["test", "--quiet", "-p", self.package, "--lib", self.filter])
            .env(self.update_variable, "1")
            .status()
            .context("cargo cannot be started")?;
        ensure!(
            status.success(),
            "the generating tests of {} failed",
            self.package
        );
        Ok(())
    }
}
