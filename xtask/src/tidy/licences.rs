//! What the licences of other people's crates allow.

use super::{assert_none, cargo, spdx};

/// Licences under which a crate may be part of the product, and what they ask of us.
const ALLOWED: &[(&str, &str)] = &[
    ("0BSD", "nothing"),
    ("Apache-2.0", "our own licence"),
    ("BSD-2-Clause", "its notice"),
    ("BSD-3-Clause", "its notice"),
    ("CC0-1.0", "nothing"),
    (
        "CDLA-Permissive-2.0",
        "its notice; for data, such as root certificates",
    ),
    ("ISC", "its notice"),
    ("MIT", "its notice"),
    ("MIT-0", "nothing"),
    (
        "MPL-2.0",
        "the source of its own files; fine as long as we use them unchanged",
    ),
    ("OpenSSL", "its acknowledgement; parts of aws-lc"),
    ("Unicode-3.0", "its notice; tables of characters"),
    ("Unlicense", "nothing"),
    ("Zlib", "its notice"),
];

/// Someone else's crate, as it is built on the platform that we test.
pub(super) struct Package {
    pub name: String,
    pub version: String,
    pub licence: String,
}

/// Returns all crates that are built for the product or its tests. Unlike the lock file
/// this leaves out what no feature of ours turns on.
pub(super) fn packages() -> Vec<Package> {
    let tree = cargo(&[
        "tree",
        "--workspace",
        "--edges=normal,build,dev",
        "--target=x86_64-unknown-linux-gnu",
        "--prefix=none",
        "--format={p}\t{l}",
    ]);
    tree.lines().filter_map(parse).collect()
}

/// Reads `name v1.2.3 (proc-macro)<tab>licence (*)`; our own crates have a path behind the
/// version and are left out.
fn parse(line: &str) -> Option<Package> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let name = words.next()?.to_owned();
    let version = words.next()?.strip_prefix('v')?.to_owned();
    if words.any(|word| word.starts_with("(/")) {
        return None;
    }
    Some(Package {
        name,
        version,
        licence: licence.trim_end_matches(" (*)").to_owned(),
    })
}

#[test]
fn licences_are_on_the_list() {
    let mut complaints: Vec<String> = packages()
        .into_iter()
        .filter(|package| {
            let allowed = |licence: &str| ALLOWED.iter().any(|(name, _)| *name == licence);
            !spdx::allows(&package.licence, allowed)
        })
        .map(|package| {
            format!(
                "{} {}: {:?}",
                package.name, package.version, package.licence
            )
        })
        .collect();
    complaints.sort();
    complaints.dedup();
    assert_none(
        &complaints,
        "do without the crate, or add the licence and what it asks of us to \
         xtask/src/tidy/licences.rs",
    );
}
