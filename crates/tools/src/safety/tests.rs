use std::time::Duration;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

const CORPUS: &str = include_str!("../../tests/fixtures/safety/commands.txt");

fn kind(judgement: &SafetyJudgement) -> &'static str {
    match judgement {
        SafetyJudgement::KnownSafe => "safe",
        SafetyJudgement::Unknown { .. } => "unknown",
        SafetyJudgement::Dangerous { .. } => "dangerous",
    }
}

fn through_shell(script: &str) -> Vec<String> {
    ["bash", "-lc", script].map(str::to_owned).to_vec()
}

/// The expected kind and the command of a line of the corpus.
fn case(line: &str) -> (&str, String) {
    let (kind, command) = line.split_once(": ").expect("a kind and a command");
    match kind.strip_suffix(" json") {
        Some(kind) => (kind, serde_json::from_str(command).expect("a JSON string")),
        None => (kind, command.to_owned()),
    }
}

#[test]
fn the_corpus_is_judged_as_it_says() {
    let lines = CORPUS
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut wrong = Vec::new();
    let mut count = 0;
    for line in lines {
        let (expected, command) = case(line);
        for judgement in [judge(&through_shell(&command)), judge_script(&command)] {
            if kind(&judgement) != expected {
                wrong.push(format!("{line}\n    {judgement:?}"));
            }
        }
        count += 1;
    }
    assert!(count > 400, "the corpus is gone");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_command_without_shell_has_no_syntax() {
    let check = |argv: &[&str], expected: &str| {
        let argv: Vec<String> = argv.iter().map(|&word| word.to_owned()).collect();
        assert_eq!(kind(&judge(&argv)), expected, "{argv:?}");
    };
    check(&["ls", "$(id)", "*", "; rm -rf /"], "safe");
    check(&["rm", "-rf", "x"], "dangerous");
    check(&["sudo", "sh", "-c", "rm -rf x"], "dangerous");
    check(&["sort", "-o", "x"], "unknown");
    check(&[""], "unknown");
    check(&[], "unknown");
}

#[test]
fn reasons_name_what_was_seen() {
    let check = |script: &str, expected: Expect| match judge_script(script) {
        SafetyJudgement::KnownSafe => panic!("{script}"),
        SafetyJudgement::Unknown { why } | SafetyJudgement::Dangerous { why } => {
            expected.assert_eq(&why);
        }
    };
    check("cargo build", expect!["`cargo` is not known to only read"]);
    check(
        "sort -o x",
        expect!["`sort` is not known to only read with these arguments"],
    );
    check("./ls", expect!["`./ls` is not a program of the system"]);
    check("ls $HOME", expect!["it uses a variable"]);
    check("ls > x", expect!["it redirects to or from a file"]);
    check(
        "ls *",
        expect!["`*` outside of quotes may mean something to the shell"],
    );
    check(
        "ls\u{200b}",
        expect!["the script contains the invisible character U+200B"],
    );
    check(
        "ls\u{e0041}",
        expect!["the script contains the invisible character U+E0041"],
    );
    check(
        "sudo rm -rf x",
        expect!["`rm` removes recursively or without asking"],
    );
    check(
        "echo x > /dev/sda",
        expect!["it writes to the device `/dev/sda`"],
    );
}

/// Whatever is sent, the answer comes soon.
#[test]
fn bombs_are_judged_quickly() {
    let deep =
        |open: &str, close: &str, count: usize| open.repeat(count) + "ls" + &close.repeat(count);
    let bombs = [
        deep("$(", ")", 10_000),
        deep("(", ")", 20_000),
        deep("{ ", "; }", 10_000),
        deep("\"$(", ")\"", 10_000),
        deep("if true; then ", "; fi", 3000),
        "((((((((".repeat(5000),
        "ls && ".repeat(10_000) + "ls",
        "ls | ".repeat(10_000) + "ls",
        "ls; ".repeat(15_000) + "id &",
        "sudo rm ".repeat(8000),
        "sudo 'rm a' ".repeat(5000),
        "<<A ".repeat(10_000),
        "cat <<A\n".repeat(5000),
        "'".repeat(60_001),
        "\\".repeat(60_001),
        "${".repeat(20_000),
        "`".repeat(60_001),
        "a=".repeat(30_000),
        "ls ".repeat(1_000_000),
    ];
    for bomb in bombs {
        let before = thread_time();
        let judgement = judge(&through_shell(&bomb));
        let used = thread_time().saturating_sub(before);
        let shown = &bomb[..12];
        assert_ne!(kind(&judgement), "safe", "{shown}");
        // Far above what a slow machine needs, far below what a quadratic step would take.
        assert!(used < Duration::from_secs(10), "{shown} took {used:?}");
    }
}

/// Returns what this thread has used so far: the same on a busy machine.
fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer leads to a live variable of the right type.
    let told = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(told, 0, "every thread has this clock");
    let seconds = u64::try_from(time.tv_sec).unwrap();
    let nanoseconds = u64::try_from(time.tv_nsec).unwrap();
    Duration::from_secs(seconds) + Duration::from_nanos(nanoseconds)
}

#[test]
fn segments_are_the_words_of_plain_commands() {
    let check = |script: &str, expected: Expect| {
        expected.assert_eq(&format!("{:?}", segments(script)));
    };
    check("ls", expect![[r#"Some([["ls"]])"#]]);
    check(
        "cargo test -p 'a b' && git push; ls | cat 2>&1",
        expect![[r#"Some([["cargo", "test", "-p", "a b"], ["git", "push"], ["ls"], ["cat"]])"#]],
    );
    check("bash -c 'ls'", expect![[r#"Some([["bash", "-c", "ls"]])"#]]);
    check("cargo \\\n test", expect![[r#"Some([["cargo", "test"]])"#]]);
    check("cargo \\\n 2>&1", expect!["None"]);
    check("cargo test > log", expect!["None"]);
    check("A=b cargo test", expect!["None"]);
    check("cargo test $X", expect!["None"]);
    check("cargo test &", expect!["None"]);
    check("", expect!["None"]);
}

/// Words as models and attackers write them.
fn words_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-c./=:,~-]{1,3}",
        3 => Just(" ".to_owned()),
        1 => prop::sample::select(vec![
            "'", "\"", "\\", "\\\n", "\n", "\t", "$", "`", "!", "#", "*", "?", "[", "]", "{", "}", "(", ")",
            "<", ">", "&", "|", ";", "^", "%", "@", "+", "é", "\u{a0}", "\r", "\u{c}", "1", "2>&1", "' '",
            "\"a b\"", "'a$b'", "\"\\$x\"", "\\ ", ">/dev/null", "{a,b}", "$'a'", "10#1", "+=",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// The arguments that a shell makes of the text after a command.
fn arguments_by(shell: &str, script: &str) -> Vec<String> {
    let nowhere = tempfile::tempdir().unwrap();
    let output = std::process::Command::new(shell)
        .args([
            "-c",
            &format!("exec 3>&1\nshow() {{ printf '%s\\0' show \"$@\" >&3; }}\n{script}"),
        ])
        .current_dir(nowhere.path())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.split_terminator('\0').map(str::to_owned).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn plain_words_are_what_real_shells_read(text in words_text()) {
        let script = format!("show {text}");
        if let Some([words]) = segments(&script).as_deref() {
            for shell in ["bash", "sh"] {
                prop_assert_eq!(words, &arguments_by(shell, &script), "{} {:?}", shell, script);
            }
        }
    }
}

#[test]
fn commands_are_described_for_display() {
    let check = |script: &str, expected: Expect| {
        let parts = describe(&through_shell(script));
        let lines = parts
            .iter()
            .map(|part| serde_json::to_string(part).unwrap() + "\n");
        expected.assert_eq(&lines.collect::<String>());
    };
    check(
        "cat src/main.rs",
        expect![[r#"
        {"type":"read","cmd":"cat src/main.rs","name":"main.rs","path":"src/main.rs"}
    "#]],
    );
    check(
        "cd sub && sed -n '1,20p' a/b.txt | head -5",
        expect![[r#"
        {"type":"read","cmd":"sed -n '1,20p' a/b.txt","name":"b.txt","path":"sub/a/b.txt"}
    "#]],
    );
    check(
        "ls -la src",
        expect![[r#"
        {"type":"list_files","cmd":"ls -la src","path":"src"}
    "#]],
    );
    check(
        "rg --files -g '*.rs'",
        expect![[r#"
        {"type":"list_files","cmd":"rg --files -g '*.rs'"}
    "#]],
    );
    check(
        "rg -n 'fn main' src | head",
        expect![[r#"
        {"type":"search","cmd":"rg -n 'fn main' src","query":"fn main","path":"src"}
    "#]],
    );
    check(
        "git grep -n foo",
        expect![[r#"
        {"type":"search","cmd":"git grep -n foo","query":"foo"}
    "#]],
    );
    check(
        "find . -name '*.rs'",
        expect![[r#"
        {"type":"search","cmd":"find . -name '*.rs'","query":"*.rs","path":"."}
    "#]],
    );
    check(
        "find src",
        expect![[r#"
        {"type":"list_files","cmd":"find src","path":"src"}
    "#]],
    );
    check(
        "find . -delete",
        expect![[r#"
        {"type":"unknown","cmd":"find . -delete"}
    "#]],
    );
    check(
        "ls; cat a.txt",
        expect![[r#"
        {"type":"list_files","cmd":"ls"}
        {"type":"read","cmd":"cat a.txt","name":"a.txt","path":"a.txt"}
    "#]],
    );
    check(
        "cargo test && cat a.txt",
        expect![[r#"
        {"type":"unknown","cmd":"cargo test && cat a.txt"}
    "#]],
    );
    check(
        "cat $FILE",
        expect![[r#"
        {"type":"unknown","cmd":"cat $FILE"}
    "#]],
    );
    check(
        "echo hi",
        expect![[r#"
        {"type":"unknown","cmd":"echo hi"}
    "#]],
    );
    check(
        "cd x",
        expect![[r#"
        {"type":"unknown","cmd":"cd x"}
    "#]],
    );
}

#[test]
fn a_command_without_shell_is_described_too() {
    let argv = ["cat", "a b.txt"].map(str::to_owned);
    let expected = ParsedCommand::Read {
        cmd: "cat 'a b.txt'".to_owned(),
        name: "a b.txt".to_owned(),
        path: "a b.txt".into(),
    };
    assert_eq!(describe(&argv), [expected]);
}
