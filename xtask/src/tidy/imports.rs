//! Who may import whom.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{assert_none, cargo};

/// The room, and the rooms that its code may use. Drawn in `ARCHITECTURE.md`.
const ROOMS: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("config", &[]),
    ("schema", &[]),
    ("model", &["protocol"]),
    ("mock-model", &["protocol", "model"]),
    ("process", &["protocol"]),
    ("tree", &["protocol"]),
    ("store", &["protocol", "tree"]),
    ("transport", &["protocol"]),
    ("import", &["protocol", "store"]),
    ("patch", &["protocol", "process"]),
    ("tools", &["protocol", "process", "patch"]),
    ("mcp", &["protocol", "process", "tools"]),
    ("engine", &["protocol", "schema", "model", "tools", "store"]),
    (
        "agents",
        &[
            "protocol", "schema", "tree", "model", "tools", "store", "engine", "process", "config",
        ],
    ),
    (
        "server",
        &[
            "protocol",
            "schema",
            "tree",
            "transport",
            "process",
            "engine",
            "agents",
            "store",
            "mcp",
        ],
    ),
    (
        "app-server",
        &[
            "protocol",
            "tree",
            "transport",
            "process",
            "engine",
            "agents",
            "store",
            "server",
        ],
    ),
    (
        "daemon",
        &[
            "protocol",
            "schema",
            "tree",
            "transport",
            "engine",
            "agents",
            "store",
            "server",
        ],
    ),
    ("client", &["protocol", "transport"]),
    (
        "acp",
        &[
            "protocol",
            "model",
            "process",
            "tools",
            "transport",
            "store",
            "engine",
            "agents",
            "server",
        ],
    ),
    ("cluster", &["protocol", "store"]),
    ("tui", &["protocol", "transport", "client"]),
    (
        "cli",
        &[
            "protocol",
            "schema",
            "tree",
            "config",
            "model",
            "mock-model",
            "process",
            "store",
            "transport",
            "patch",
            "tools",
            "mcp",
            "engine",
            "agents",
            "server",
            "app-server",
            "daemon",
            "client",
            "acp",
            "import",
            "cluster",
            "tui",
        ],
    ),
    (
        "bench",
        &["protocol", "mock-model", "store", "transport", "client"],
    ),
    (
        "testkit",
        &[
            "protocol",
            "tree",
            "config",
            "model",
            "mock-model",
            "process",
            "store",
            "transport",
            "patch",
            "tools",
            "mcp",
            "engine",
            "agents",
            "server",
            "app-server",
            "client",
            "acp",
            "cluster",
        ],
    ),
    ("xtask", &[]),
];

#[test]
fn arrows_between_crates_never_point_up() {
    let rooms: BTreeMap<&str, &[&str]> = ROOMS.iter().copied().collect();
    let mut complaints = Vec::new();
    for package in packages() {
        let room = room_of(&package.name);
        let Some(allowed) = rooms.get(room) else {
            complaints.push(format!(
                "{} has no entry in the table of rooms",
                package.name
            ));
            continue;
        };
        for import in &package.imports {
            let target = room_of(&import.name);
            // Tests of a crate may play scenarios, and ask a model that follows a script.
            let in_tests = import.only_for_tests && matches!(target, "testkit" | "mock-model");
            if !allowed.contains(&target) && !in_tests {
                complaints.push(format!("{room} imports {target}"));
            }
        }
    }
    assert_none(
        &complaints,
        "remove the import from Cargo.toml, or argue for it in ARCHITECTURE.md and change the \
         table in xtask/src/tidy/imports.rs",
    );
}

#[test]
fn a_package_is_called_after_its_folder() {
    let complaints: Vec<String> = packages()
        .into_iter()
        .filter(|package| package.folder != room_of(&package.name))
        .map(|package| format!("{} lies in {}", package.name, package.folder))
        .collect();
    assert_none(
        &complaints,
        "rename: crates/NAME holds the package troupe-NAME",
    );
}

struct Package {
    name: String,
    folder: String,
    imports: Vec<Import>,
}

struct Import {
    name: String,
    only_for_tests: bool,
}

/// Returns the packages of the workspace, with those of their imports that are ours.
fn packages() -> Vec<Package> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("cargo prints JSON");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let import = |dependency: &Value| Import {
        name: text(&dependency["name"]),
        only_for_tests: dependency["kind"] == "dev",
    };
    list(&metadata["packages"])
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            folder: text(&package["manifest_path"])
                .rsplit('/')
                .nth(1)
                .unwrap_or_default()
                .to_owned(),
            imports: list(&package["dependencies"])
                .iter()
                .filter(|dependency| dependency["path"].is_string())
                .map(import)
                .collect(),
        })
        .collect()
}

/// Returns the name of a package without the prefix. The program has the prefix for a name.
fn room_of(package: &str) -> &str {
    match package {
        "troupe" => "cli",
        _ => package.strip_prefix("troupe-").unwrap_or(package),
    }
}
