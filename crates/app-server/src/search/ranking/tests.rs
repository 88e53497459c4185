use std::path::PathBuf;

use expect_test::{Expect, expect};

use super::PathRanking;
use crate::limits::SEARCH_RESULTS_MAX;
use crate::search::paths::FoundPath;
use crate::wire::search::FuzzyFileSearchMatchType as Kind;

fn check(query: &str, paths: &[&str], expected: Expect) {
    let mut ranking = PathRanking::new(query);
    for path in paths {
        let found = FoundPath {
            root: 0,
            path: (*path).into(),
            kind: Kind::File,
        };
        ranking.consider(&found);
    }
    let found = ranking.results(&[PathBuf::from("/root")]);
    let shown = found.iter().map(|found| {
        let indices = found.indices.as_deref().unwrap_or_default();
        format!("{} {indices:?}", found.path)
    });
    expected.assert_eq(&shown.collect::<Vec<_>>().join("\n"));
}

const PATHS: &[&str] = &[
    "src/app/search.rs",
    "src/app/search/ranking.rs",
    "docs/searching.md",
    "README.md",
];

#[test]
fn letters_are_found_in_their_order() {
    check(
        "srank",
        PATHS,
        expect!["src/app/search/ranking.rs [8, 15, 16, 17, 18]"],
    );
    check("zzz", PATHS, expect![""]);
}

#[test]
fn of_equals_the_shorter_path_is_better() {
    check(
        "search",
        PATHS,
        expect![[r#"
        docs/searching.md [5, 6, 7, 8, 9, 10]
        src/app/search.rs [8, 9, 10, 11, 12, 13]
        src/app/search/ranking.rs [8, 9, 10, 11, 12, 13]"#]],
    );
}

#[test]
fn a_capital_letter_means_itself() {
    check("read", PATHS, expect!["README.md [0, 1, 2, 3]"]);
    check("Read", PATHS, expect![""]);
}

#[test]
fn of_many_the_best_are_kept() {
    let mut ranking = PathRanking::new("a");
    for number in (0..10 * SEARCH_RESULTS_MAX).rev() {
        let found = FoundPath {
            root: 0,
            path: format!("a{number:05}").into(),
            kind: Kind::File,
        };
        ranking.consider(&found);
    }
    let found = ranking.results(&[PathBuf::from("/root")]);
    assert_eq!(found.len(), SEARCH_RESULTS_MAX);
    assert_eq!(found[0].path, "a00000");
    assert_eq!(
        found.last().unwrap().path,
        format!("a{:05}", SEARCH_RESULTS_MAX - 1)
    );
}
