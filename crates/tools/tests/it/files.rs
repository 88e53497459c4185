use expect_test::{Expect, expect};
use serde_json::{Value, json};
use troupe_process::BackendChoice;
use troupe_protocol::command::WorkStatus;
use troupe_protocol::item::TurnItem;
use troupe_protocol::policy::SandboxPolicy;

use crate::support::Bench;

fn project() -> Bench {
    let bench = Bench::new();
    bench.write(
        "src/main.rs",
        "fn main() {\n    greet();\n}\n\nfn greet() {}\n",
    );
    bench.write("src/deep/util.rs", "pub fn greet_all() {}\n");
    bench.write("README.md", "Greet\n");
    bench.write(".gitignore", "target/\n");
    bench.write("target/out.rs", "greet\n");
    bench.write(".git/config", "greet\n");
    bench.write("data.bin", b"greet\0\x01");
    bench
}

async fn check(bench: &Bench, tool: &str, arguments: Value, expect: Expect) {
    expect.assert_eq(&bench.text(tool, arguments).await);
}

#[tokio::test]
async fn reading_comes_in_numbered_slices() {
    let bench = project();
    let read = |arguments| bench.text("read_file", arguments);
    let text = read(json!({"path": "src/main.rs", "offset": 2, "limit": 2})).await;
    assert_eq!(
        text,
        "     2\t    greet();\n     3\t}\n[more lines follow; go on with offset 4]\n"
    );
    let text = read(json!({"path": "src/main.rs", "offset": 5})).await;
    assert_eq!(text, "     5\tfn greet() {}\n");
    let text = read(json!({"path": "src/main.rs", "offset": 9})).await;
    assert_eq!(text, "[{cwd}/src/main.rs ends at line 5]");
    bench.write("empty", "");
    assert_eq!(
        read(json!({"path": "empty"})).await,
        "[{cwd}/empty is empty]"
    );
    bench.write("long", "0123456789\n".repeat(10_000));
    let text = read(json!({"path": "long", "limit": 100_000})).await;
    assert!(text.len() < 41_000 && text.contains("[more lines follow; go on with offset "));
}

#[tokio::test]
async fn what_cannot_be_read_says_why() {
    let bench = project();
    let made = std::process::Command::new("mkfifo")
        .arg(bench.cwd.join("pipe"))
        .status();
    assert!(made.unwrap().success());
    bench.write("picture", b"\x89PNG\r\n\x1a\n\0\0");
    check(
        &bench,
        "read_file",
        json!({"path": "no"}),
        expect!["cannot open {cwd}/no: it does not exist"],
    )
    .await;
    check(
        &bench,
        "read_file",
        json!({"path": "src"}),
        expect!["{cwd}/src is a directory, not a file; list it with list_dir"],
    )
    .await;
    check(
        &bench,
        "read_file",
        json!({"path": "pipe"}),
        expect!["{cwd}/pipe is a named pipe, not a file"],
    )
    .await;
    check(
        &bench,
        "read_file",
        json!({"path": "/dev/zero"}),
        expect!["/dev/zero is a device, not a file"],
    )
    .await;
    check(
        &bench,
        "read_file",
        json!({"path": "README.md/x"}),
        expect!["cannot open {cwd}/README.md/x: a part of the path is a file, not a directory"],
    )
    .await;
    check(&bench, "read_file", json!({"path": "data.bin"}), expect!["{cwd}/data.bin is not text: binary data, 7 bytes; look at it with a command that knows the format"]).await;
    check(&bench, "read_file", json!({"path": "picture"}), expect!["{cwd}/picture is not text: image/png, 10 bytes; look at it with a command that knows the format, or with view_image"]).await;
    let TurnItem::ToolCall(item) = bench.channel.completed() else {
        panic!("file tools are shown as tool calls");
    };
    assert_eq!(
        (&*item.tool, item.status),
        ("read_file", WorkStatus::Failed)
    );
    assert_eq!(item.arguments, json!({"path": "picture"}));
}

#[tokio::test]
async fn the_engines_own_files_are_hidden_from_confined_sessions() {
    let bench = project();
    let secret = bench.home().join("auth.json");
    std::fs::write(&secret, "the token\n").unwrap();
    std::os::unix::fs::symlink(&secret, bench.cwd.join("link")).unwrap();
    let hidden = bench.text("read_file", json!({"path": "link"})).await;
    assert_eq!(
        hidden,
        "{cwd}/link belongs to the engine and is not readable for tools"
    );
    let searched = bench
        .text(
            "grep_files",
            json!({"pattern": "token", "path": bench.home()}),
        )
        .await;
    // There the kernel shows an empty directory.
    assert!(
        searched.starts_with("no line below") && searched.lines().count() == 1,
        "{searched}"
    );
    let bench = bench.sandbox(SandboxPolicy::DangerFullAccess);
    assert_eq!(
        bench.text("read_file", json!({"path": "link"})).await,
        "     1\tthe token\n"
    );
}

#[tokio::test]
async fn where_nothing_can_confine_them_file_tools_are_refused() {
    let bench = Bench::with_backend(BackendChoice::Disabled);
    bench.write("a.txt", "a\n");
    for (tool, arguments) in [
        ("read_file", json!({"path": "a.txt"})),
        (
            "apply_patch",
            json!({"input": "*** Begin Patch\n*** Add File: b\n+b\n*** End Patch"}),
        ),
    ] {
        let text = bench.text(tool, arguments).await;
        assert!(text.contains("the sandbox cannot be enforced"), "{text}");
    }
    assert!(!bench.cwd.join("b").exists());
    let bench = bench.sandbox(SandboxPolicy::DangerFullAccess);
    let text = bench.text("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(text, "     1\ta\n");
}

#[tokio::test]
async fn listing() {
    let bench = project();
    std::os::unix::fs::symlink("src/main.rs", bench.cwd.join("link")).unwrap();
    check(
        &bench,
        "list_dir",
        json!({}),
        expect![[r"
        .git/
        .gitignore
        README.md
        data.bin
        link -> src/main.rs
        src/
        target/
    "]],
    )
    .await;
    check(
        &bench,
        "list_dir",
        json!({"path": "src", "depth": 9}),
        expect![[r"
        deep/
        deep/util.rs
        main.rs
    "]],
    )
    .await;
    check(
        &bench,
        "list_dir",
        json!({"depth": 2, "limit": 3}),
        expect![[r"
        .gitignore
        README.md
        data.bin
        [more than 3 entries; list a subdirectory or raise limit]
    "]],
    )
    .await;
    check(
        &bench,
        "list_dir",
        json!({"path": "README.md"}),
        expect!["{cwd}/README.md is not a directory"],
    )
    .await;
    check(
        &bench,
        "list_dir",
        json!({"path": "no"}),
        expect!["cannot list {cwd}/no: it does not exist"],
    )
    .await;
}

#[tokio::test]
async fn finding_by_name() {
    let bench = project();
    check(
        &bench,
        "find_files",
        json!({"pattern": "*.rs"}),
        expect![[r"
        src/deep/util.rs
        src/main.rs
    "]],
    )
    .await;
    check(
        &bench,
        "find_files",
        json!({"pattern": "*.rs", "limit": 1}),
        expect![[r"
        src/deep/util.rs
        [more than 1 files match; narrow the pattern or raise limit]
    "]],
    )
    .await;
    check(
        &bench,
        "find_files",
        json!({"pattern": "*.py"}),
        expect![[r#"no file below {cwd} matches "*.py""#]],
    )
    .await;
    check(
        &bench,
        "find_files",
        json!({"pattern": "a["}),
        expect![[
            r#"bad glob "a[": error parsing glob 'a[': unclosed character class; missing ']'"#
        ]],
    )
    .await;
}

#[tokio::test]
async fn searching_by_text() {
    let bench = project();
    check(
        &bench,
        "grep_files",
        json!({"pattern": "(?i)greet"}),
        expect![[r"
        README.md:1:Greet
        src/deep/util.rs:1:pub fn greet_all() {}
        src/main.rs:2:    greet();
        src/main.rs:5:fn greet() {}
    "]],
    )
    .await;
    check(
        &bench,
        "grep_files",
        json!({"pattern": "^fn greet", "include": "*.rs", "context": 1}),
        expect![[r"
        src/main.rs-4-
        src/main.rs:5:fn greet() {}
    "]],
    )
    .await;
    check(
        &bench,
        "grep_files",
        json!({"pattern": "greet", "limit": 1}),
        expect![[r"
        src/deep/util.rs:1:pub fn greet_all() {}
        [there are more matches; narrow pattern, path or include, or raise limit]
    "]],
    )
    .await;
    check(
        &bench,
        "grep_files",
        json!({"pattern": "absent", "path": "src"}),
        expect![[r#"
        no line below {cwd}/src matches "absent"
    "#]],
    )
    .await;
    let bad = bench.text("grep_files", json!({"pattern": "a("})).await;
    assert!(bad.starts_with("bad pattern \"a(\": "), "{bad}");
    check(
        &bench,
        "grep_files",
        json!({"pattern": "greet", "path": "data.bin"}),
        expect!["{cwd}/data.bin is not text"],
    )
    .await;
}

#[tokio::test]
async fn a_cancelled_search_answers_at_once() {
    let bench = project();
    let search = bench.start("grep_files", json!({"pattern": "x", "path": "/"}));
    bench.channel.until(|events, _| !events.is_empty()).await;
    let output = search.cancelled().await;
    assert!(output.text().unwrap().starts_with("aborted after "));
}
