//! Crates that we do not want, and how many versions of one crate we accept.

use std::collections::{BTreeMap, BTreeSet};

use super::{assert_none, cargo, read};

/// Crates that were tried and refused. (chrono is not among them: rmcp prints its time-outs with
/// it. Our own clock is jiff.)
const BANNED: &[(&str, &str)] = &[
    ("aide", "schemas come from schemars, of one version"),
    ("async-std", "discontinued; tokio is the runtime"),
    (
        "backoff",
        "unmaintained; retries are decided per error in crates/model",
    ),
    ("birdcage", "GPL"),
    (
        "command-group",
        "unmaintained; crates/process keeps the groups",
    ),
    (
        "eventsource-stream",
        "panics on a byte order mark and is quadratic in the event size",
    ),
    (
        "figment",
        "unmaintained; crates/config remembers where a value came from",
    ),
    ("hakoniwa", "LGPL"),
    (
        "icu_provider",
        "nineteen crates to read foreign host names; `cargo update -p idna_adapter --precise 1.1.0`",
    ),
    (
        "native-tls",
        "links OpenSSL at run time; rustls with aws-lc-rs",
    ),
    ("nono", "127 crates for what crates/process does with four"),
    (
        "openssl",
        "links OpenSSL at run time; rustls with aws-lc-rs",
    ),
    (
        "openssl-sys",
        "links OpenSSL at run time; rustls with aws-lc-rs",
    ),
    (
        "portable-pty",
        "needs a thread per terminal; pty-process is asynchronous",
    ),
    ("ring", "a second provider of cryptography beside aws-lc-rs"),
    ("serde_yaml", "deprecated"),
    ("serde_yaml_ng", "unmaintained"),
    ("serde_yml", "has a history of advisories"),
    ("time", "jiff is the one clock and calendar"),
    ("tui-textarea", "unmaintained"),
    ("yash-syntax", "GPL"),
];

/// Crates of which two versions are built, and who holds the older one. The list may
/// shrink; to grow it takes a reason.
const DUPLICATES: &[(&str, &str)] = &[
    ("base64", "ours is 0.22, reqwest has 0.23"),
    ("bit-set", "jsonschema, in tests, through fancy-regex"),
    ("bit-vec", "jsonschema, in tests, through fancy-regex"),
    ("cpufeatures", "sha2 0.10"),
    ("darling", "handlebars, through derive_builder"),
    ("darling_core", "handlebars, through derive_builder"),
    ("darling_macro", "handlebars, through derive_builder"),
    (
        "getrandom",
        "rand 0.9, oauth2 of rmcp, and jsonschema in tests",
    ),
    ("miniz_oxide", "png, beside its own flate2"),
    ("quick-error", "proptest, in tests, through rusty-fork"),
    (
        "rand",
        "ours is 0.9, oauth2 of rmcp has 0.8, proptest 0.10 in tests",
    ),
    ("rand_chacha", "oauth2 of rmcp"),
    ("rand_core", "rand 0.9, and oauth2 of rmcp"),
    ("syn", "macros of landlock, ts-rs and zerocopy"),
    ("thiserror", "oauth2 of rmcp"),
    ("thiserror-impl", "oauth2 of rmcp"),
];

/// The crates that are built on the platform that we test, as (name, version).
fn built() -> BTreeSet<(String, String)> {
    super::licences::packages()
        .into_iter()
        .map(|package| (package.name, package.version))
        .collect()
}

#[test]
fn no_crate_is_banned() {
    let banned: BTreeMap<&str, &str> = BANNED.iter().copied().collect();
    let complaints: Vec<String> = built()
        .iter()
        .filter_map(|(name, _)| banned.get_key_value(name.as_str()))
        .map(|(name, reason)| format!("{name}: {reason}"))
        .collect();
    assert_none(
        &complaints,
        "find who brings these crates with `cargo tree -i NAME` and turn that feature off",
    );
}

#[test]
fn duplicate_versions_stay_within_the_budget() {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in built() {
        versions.entry(name).or_default().push(version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let allowed: BTreeMap<&str, &str> = DUPLICATES.iter().copied().collect();
    let added = versions
        .iter()
        .filter(|(name, _)| !allowed.contains_key(name.as_str()))
        .map(|(name, versions)| format!("{name} is built as {}", versions.join(" and ")));
    let settled = allowed
        .keys()
        .filter(|name| !versions.contains_key(**name))
        .map(|name| format!("{name} is built only once now: take it off the list"));
    assert_none(
        &added.chain(settled).collect::<Vec<_>>(),
        "agree on one version (`cargo tree -d`), or change DUPLICATES in \
         xtask/src/tidy/dependencies.rs and say who holds the older one",
    );
}

#[test]
fn all_crates_come_from_the_public_registry() {
    let lock = read("Cargo.lock").expect("Cargo.lock is checked in");
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let complaints: Vec<String> = lock
        .text
        .lines()
        .filter(|line| line.starts_with("source = ") && *line != public)
        .map(str::to_owned)
        .collect();
    assert_none(&complaints, "depend on published versions only");
}

#[test]
fn versions_and_features_are_declared_once() {
    let complaints: Vec<String> = super::repository_files()
        .into_iter()
        .filter(|file| file.path.ends_with("/Cargo.toml"))
        // No member of the workspace: it needs a nightly toolchain.
        .filter(|file| file.path != "fuzz/Cargo.toml")
        .flat_map(|file| {
            let own: Vec<String> = own_versions(&file.text)
                .map(|line| format!("{}: {line}", file.path))
                .collect();
            own
        })
        .collect();
    assert_none(
        &complaints,
        "declare the dependency in the workspace's Cargo.toml and use `NAME.workspace = true`",
    );
}

/// Returns the dependencies of a manifest that do not come from the workspace.
fn own_versions(manifest: &str) -> impl Iterator<Item = &str> {
    let mut in_dependencies = false;
    manifest.lines().filter(move |line| {
        if line.starts_with('[') {
            in_dependencies = line.contains("dependencies]");
            return false;
        }
        let declares = in_dependencies && line.contains('=') && !line.starts_with('#');
        declares && !line.contains("workspace = true")
    })
}

#[test]
fn the_lock_file_is_up_to_date() {
    cargo(&["metadata", "--locked", "--no-deps", "--format-version", "1"]);
}
