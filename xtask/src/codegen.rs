//! Rewrites generated files, mostly by running the tests that otherwise complain about them.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Tests that compare checked-in files with the code, and rewrite the files if they are told to.
struct Generator {
    /// What `cargo test` is told to run: the package, its target, the tests.
    tests: &'static [&'static str],
    /// Set, this makes them rewrite the files instead.
    update_variable: &'static str,
    /// The files; `.gitattributes` marks them as generated.
    files: &'static [&'static str],
}

const GENERATORS: &[Generator] = &[
    Generator {
        tests: &["troupe-protocol", "--lib", "generated"],
        update_variable: "UPDATE_SCHEMA",
        files: &[
            "crates/protocol/schema/troupe-protocol.schema.json",
            "crates/protocol/schema/troupe-protocol.ts",
        ],
    },
    Generator {
        tests: &["troupe-app-server", "--lib", "generated"],
        update_variable: "UPDATE_SCHEMA",
        files: &[
            "crates/app-server/schema/troupe-app-server.schema.json",
            "crates/app-server/schema/troupe-app-server.ts",
        ],
    },
    Generator {
        tests: &["troupe-daemon", "--lib", "openapi"],
        update_variable: "UPDATE_EXPECT",
        files: &["crates/daemon/openapi.json"],
    },
    Generator {
        tests: &["troupe-tools", "--lib", "generated"],
        update_variable: "UPDATE_EXPECT",
        files: &["crates/tools/schema/hook_input.schema.json"],
    },
    Generator {
        tests: &["troupe", "--bin", "troupe", "generated"],
        update_variable: "UPDATE_EXPECT",
        files: &["crates/cli/schema/config.schema.json", "docs/config.md"],
    },
    Generator {
        tests: &["troupe-tui", "--test", "it", "the_page_lists_the_keys"],
        update_variable: "UPDATE_EXPECT",
        // A page that is written by hand but for its tables.
        files: &[],
    },
];

/// What the other generators write.
const PRINTED: &[&str] = &[
    "crates/transport/src/grpc/generated.rs",
    "sdk/python/troupe_sdk/protocol.py",
    "sdk/typescript/src/protocol.d.ts",
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
    let root = crate::test::root();
    for file in files() {
        ensure!(root.join(file).is_file(), "nothing writes {file}");
    }
    Ok(())
}

fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Generator {
    fn run(&self) -> Result<()> {
        let status = cargo()
            .args(["test", "--quiet", "-p"])
            .args(self.tests)
            .env(self.update_variable, "1")
            .status()
            .context("cargo cannot be started")?;
        ensure!(
            status.success(),
            "the generating tests of {} failed",
            self.tests[0]
        );
        Ok(())
    }
}

/// Returns every file that this command writes as a whole.
pub fn files() -> impl Iterator<Item = &'static str> {
    let by_tests = GENERATORS.iter().flat_map(|it| it.files);
    by_tests.chain(PRINTED).copied()
}
