use std::path::Path;

use super::PathGlob;

fn check(pattern: &str, path: &str, expected: bool) {
    let glob = PathGlob::new(Path::new("/p"), pattern).unwrap();
    assert_eq!(
        glob.matches(&Path::new("/p").join(path)),
        expected,
        "{pattern} on {path}"
    );
}

#[test]
fn a_name_matches_at_any_depth_and_a_path_from_the_root() {
    check("*.rs", "a.rs", true);
    check("*.rs", "src/deep/a.rs", true);
    check("*.rs", "a.rst", false);
    check("src/*.rs", "src/a.rs", true);
    check("src/*.rs", "src/deep/a.rs", false);
    check("src/**/*.rs", "src/deep/a.rs", true);
    check("src/**/*.rs", "lib/src/a.rs", false);
    check("*.{ts,tsx}", "ui/a.tsx", true);
}

#[test]
fn a_bad_glob_is_quoted() {
    for pattern in ["a[", "", "!*.rs"] {
        let problem = PathGlob::new(Path::new("/p"), pattern).unwrap_err();
        assert!(problem.contains(&format!("{pattern:?}")), "{problem}");
    }
}
