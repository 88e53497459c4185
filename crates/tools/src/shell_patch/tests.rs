use super::*;

fn script(script: &str) -> Option<ShellPatch> {
    let argv = ["bash", "-lc", script].map(str::to_owned);
    detect(&argv)
}

/// The body and directory that are recognised in a script.
fn check(text: &str, expected: Option<(&str, Option<&str>)>) {
    let found = script(text);
    let found = found.as_ref().map(|patch| {
        (
            patch.body.as_str(),
            patch.workdir.as_ref().map(|dir| dir.to_str().unwrap()),
        )
    });
    assert_eq!(found, expected, "{text}");
}

const BODY: &str = "*** Begin Patch\n+it's $HOME `x`\n*** End Patch\n";

#[test]
fn program_and_argument() {
    for name in NAMES {
        let argv = [name.to_owned(), "body".to_owned()];
        assert_eq!(detect(&argv), Some(ShellPatch::here("body")));
    }
    assert_eq!(detect(&["apply_patch", "a", "b"].map(str::to_owned)), None);
    assert_eq!(detect(&["apply_patch".to_owned()]), None);
    assert_eq!(detect(&[]), None);
}

#[test]
fn here_documents() {
    for name in NAMES {
        for delimiter in ["'EOF'", "\"EOF\"", "EOF"] {
            let text = format!("{name} <<{delimiter}\n{BODY}EOF\n");
            check(&text, Some((BODY, None)));
        }
    }
    check(
        &format!("cd sub/dir && apply_patch <<'E'\n{BODY}E"),
        Some((BODY, Some("sub/dir"))),
    );
    check(
        &format!("cd 'a b' && apply_patch <<'E'\n{BODY}E"),
        Some((BODY, Some("a b"))),
    );
    check(
        &format!("cd \"a b\" && apply_patch <<'E'\n{BODY}E\n"),
        Some((BODY, Some("a b"))),
    );
}

#[test]
fn quoted_arguments() {
    check("apply_patch 'a\n+b'", Some(("a\n+b", None)));
    check("cd x && apply_patch \"a\"", Some(("a", Some("x"))));
    check("apply_patch \"$(cat p)\"", None);
}

#[test]
fn a_patch_in_place_of_a_command() {
    check(BODY, Some((BODY, None)));
    assert_eq!(detect(&[BODY.to_owned()]), Some(ShellPatch::here(BODY)));
}

#[test]
fn every_shell_that_takes_a_script() {
    for argv in [
        vec!["/bin/bash", "-c"],
        vec!["zsh", "-lc"],
        vec!["sh", "-c"],
        vec!["bash", "-l", "-c"],
    ] {
        let mut argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        argv.push(format!("apply_patch <<'EOF'\n{BODY}EOF"));
        assert!(detect(&argv).is_some(), "{argv:?}");
    }
    let other = ["python", "-c", "apply_patch 'x'"].map(str::to_owned);
    assert_eq!(detect(&other), None);
}

#[test]
fn whatever_does_more_stays_a_command() {
    let document = format!("<<'EOF'\n{BODY}EOF");
    for text in [
        format!("apply_patch {document}\necho done"),
        format!("echo start; apply_patch {document}"),
        format!("apply_patch <<'EOF' && echo done\n{BODY}EOF"),
        format!("apply_patch <<'EOF' | tee log\n{BODY}EOF"),
        format!("apply_patch <<'EOF' > log\n{BODY}EOF"),
        format!("apply_patch --flag {document}"),
        format!("cd a b && apply_patch {document}"),
        format!("cd a; apply_patch {document}"),
        format!("cd a || apply_patch {document}"),
        format!("cd a && cd b && apply_patch {document}"),
        format!("cd $HOME && apply_patch {document}"),
        format!("ls a && apply_patch {document}"),
        format!("X=1 apply_patch {document}"),
        format!("apply_patch {document} &"),
        format!("(apply_patch {document})"),
        format!("cat {document}"),
        format!("apply_patch <<-'EOF'\n{BODY}EOF"),
        "apply_patch <<< 'x'".to_owned(),
        "apply_patch < patch.txt".to_owned(),
        "echo apply_patch".to_owned(),
        "apply_patch".to_owned(),
        "apply_patch <<'EOF'\n*** Begin".to_owned(),
    ] {
        check(&text, None);
    }
}
