use std::path::Path;

use expect_test::{Expect, expect};

use super::*;

fn is(text: &str) -> DiffSide {
    with_mode(text, 0o644)
}

fn with_mode(text: &str, mode: u32) -> DiffSide {
    DiffSide {
        state: FileState::File {
            sha256: text.to_owned(),
            mode,
        },
        text: Some(text.into()),
    }
}

fn absent() -> DiffSide {
    DiffSide {
        state: FileState::Absent,
        text: None,
    }
}

fn opaque() -> DiffSide {
    DiffSide {
        text: None,
        ..is("")
    }
}

fn check(path: &str, before: &DiffSide, after: &DiffSide, expected: Expect) {
    expected.assert_eq(&file(Path::new(path), before, after));
}

#[test]
fn a_change_has_three_lines_around_it() {
    check(
        "src/a.rs",
        &is("1\n2\n3\n4\n5\n"),
        &is("1\n2\n3\n4\nfive\n"),
        expect![[r#"
            diff --git a/src/a.rs b/src/a.rs
            --- a/src/a.rs
            +++ b/src/a.rs
            @@ -2,4 +2,4 @@
             2
             3
             4
            -5
            +five
        "#]],
    );
}

#[test]
fn files_come_and_go() {
    check(
        "a",
        &absent(),
        &is("new\n"),
        expect![[r#"
            diff --git a/a b/a
            new file mode 100644
            --- /dev/null
            +++ b/a
            @@ -0,0 +1 @@
            +new
        "#]],
    );
    check(
        "a",
        &with_mode("old\n", 0o755),
        &absent(),
        expect![[r#"
            diff --git a/a b/a
            deleted file mode 100755
            --- a/a
            +++ /dev/null
            @@ -1 +0,0 @@
            -old
        "#]],
    );
    check(
        "empty",
        &absent(),
        &is(""),
        expect![[r#"
            diff --git a/empty b/empty
            new file mode 100644
        "#]],
    );
}

#[test]
fn what_is_no_text_is_only_named() {
    check(
        "logo.png",
        &opaque(),
        &is("text\n"),
        expect![[r#"
            diff --git a/logo.png b/logo.png
            Binary files a/logo.png and b/logo.png differ
        "#]],
    );
}

#[test]
fn a_mode_alone_is_a_change() {
    check(
        "run",
        &is("same\n"),
        &with_mode("same\n", 0o755),
        expect![[r#"
            diff --git a/run b/run
            old mode 100644
            new mode 100755
        "#]],
    );
}

#[test]
fn a_name_cannot_break_its_line() {
    check(
        "/tmp/a\nb",
        &is("same\n"),
        &with_mode("same\n", 0o755),
        expect![[r#"
            diff --git "a/tmp/a\nb" "b/tmp/a\nb"
            old mode 100644
            new mode 100755
        "#]],
    );
}
