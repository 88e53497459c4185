use expect_test::expect;
use serde_json::json;
use troupe_process::BackendChoice;
use troupe_protocol::approval::ReviewDecision;
use troupe_protocol::command::{FileChange, WorkStatus};
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_tools::{ApprovalQuestion, ToolInput};

use crate::support::Bench;

async fn patch(bench: &Bench, body: &str) -> String {
    let text = format!("*** Begin Patch\n{body}*** End Patch\n");
    let output = bench.call_raw("apply_patch", ToolInput::Text(text)).await;
    bench.normal(output.text().unwrap())
}

fn add(path: impl std::fmt::Display) -> String {
    format!("*** Add File: {path}\n+new\n")
}

#[tokio::test]
async fn an_edit_in_the_workspace_is_made() {
    let bench = Bench::new();
    bench.write("a.txt", "one\ntwo\n");
    let text = patch(
        &bench,
        "*** Update File: a.txt\n@@\n-one\n+ONE\n*** Add File: b/c.txt\n+new\n",
    )
    .await;
    assert!(
        text.starts_with("Exit code: 0\nWall time: {time}\nOutput:\n"),
        "{text}"
    );
    assert!(
        text.contains("A b/c.txt\n") && text.contains("M a.txt\n"),
        "{text}"
    );
    assert_eq!(bench.read("a.txt"), "ONE\ntwo\n");
    assert_eq!(bench.read("b/c.txt"), "new\n");
    let item = bench.channel.file_change();
    assert_eq!(
        (item.status, item.auto_approved),
        (WorkStatus::Completed, true)
    );
    let added = &item.changes[&bench.cwd.join("b/c.txt")];
    assert_eq!(
        added,
        &FileChange::Add {
            content: "new\n".to_owned()
        }
    );
}

#[tokio::test]
async fn providers_without_freeform_tools_send_json() {
    let bench = Bench::new();
    let body = format!("*** Begin Patch\n{}*** End Patch", add("a.txt"));
    let output = bench.call("apply_patch", json!({"input": body})).await;
    assert!(output.success);
    assert_eq!(bench.read("a.txt"), "new\n");
}

#[tokio::test]
async fn a_patch_that_does_not_fit_changes_nothing() {
    let bench = Bench::new();
    bench.write("a.txt", "one\n");
    let text = patch(
        &bench,
        &format!("{}*** Update File: a.txt\n@@\n-absent\n+x\n", add("b.txt")),
    )
    .await;
    assert!(
        text.starts_with("the patch does not apply, nothing was changed: "),
        "{text}"
    );
    assert!(!bench.cwd.join("b.txt").exists());
    let text = patch(&bench, "*** Rename File: a.txt\n").await;
    assert!(
        text.starts_with("the patch does not apply, nothing was changed: "),
        "{text}"
    );
}

#[tokio::test]
async fn an_edit_outside_is_asked_for() {
    let bench = Bench::new();
    let file = bench.outside.join("a.txt");
    bench.channel.will_answer(ReviewDecision::Denied);
    let text = patch(&bench, &add(file.display())).await;
    expect!["not approved (the user said no, or nobody was there to ask): nothing was changed; do not try it again by other means, go on without it or say what you need it for"].assert_eq(&text);
    assert!(!file.exists());
    assert_eq!(bench.channel.file_change().status, WorkStatus::Declined);
    let [ApprovalQuestion::Patch(ask)] = &bench.channel.asks()[..] else {
        panic!("one patch is asked for");
    };
    assert_eq!(ask.grant_root.as_deref(), Some(bench.outside.as_path()));
    assert!(ask.changes.contains_key(&file));

    bench
        .channel
        .will_answer(ReviewDecision::ApprovedForSession);
    assert!(
        patch(&bench, &add(file.display()))
            .await
            .starts_with("Exit code: 0")
    );
    assert!(!bench.channel.file_change().auto_approved);
    // What was shown is not asked for again, another text or another file is.
    std::fs::remove_file(&file).unwrap();
    assert!(
        patch(&bench, &add(file.display()))
            .await
            .starts_with("Exit code: 0")
    );
    assert_eq!(bench.channel.asks().len(), 1);
    bench.channel.will_answer(ReviewDecision::Denied);
    let other = add(file.display()).replace('+', "+not shown: ");
    let text = patch(&bench, &other).await;
    assert!(text.starts_with("not approved"), "{text}");
    assert_eq!(bench.channel.asks().len(), 1);
    bench.channel.will_answer(ReviewDecision::Denied);
    patch(
        &bench,
        &format!(
            "{}{}",
            add(file.display()),
            add(bench.outside.join("b").display())
        ),
    )
    .await;
    assert_eq!(bench.channel.asks().len(), 1);
    assert!(!bench.outside.join("b").exists());
}

#[tokio::test]
async fn with_nobody_to_ask_it_is_refused() {
    let bench = Bench::new().approval(ApprovalPolicy::Never);
    let file = bench.outside.join("a.txt");
    expect!["refused: {outside}/a.txt is outside of the directories that may be written, and nobody can be asked under the approval policy `never`"]
        .assert_eq(&patch(&bench, &add(file.display())).await);
    let bench = bench.sandbox(SandboxPolicy::read_only());
    expect!["refused: the sandbox is read-only, so {cwd}/a.txt cannot be changed, and nobody can be asked under the approval policy `never`"]
        .assert_eq(&patch(&bench, &add("a.txt")).await);
    assert!(!bench.cwd.join("a.txt").exists());
    let bench = bench.sandbox(SandboxPolicy::DangerFullAccess);
    assert!(
        patch(&bench, &add(file.display()))
            .await
            .starts_with("Exit code: 0")
    );
    assert!(file.exists());
}

#[tokio::test]
async fn links_and_the_repository_do_not_lead_out() {
    let bench = Bench::new().approval(ApprovalPolicy::Never);
    std::os::unix::fs::symlink(&bench.outside, bench.cwd.join("link")).unwrap();
    bench.write(".git/config", "[core]\n");
    for path in ["link/a.txt", "../outside/a.txt", ".git/hooks/pre-commit"] {
        let text = patch(&bench, &add(path)).await;
        assert!(text.starts_with("refused: "), "{path}: {text}");
    }
    assert!(!bench.outside.join("a.txt").exists());
    assert!(!bench.cwd.join(".git/hooks").exists());
}

#[tokio::test]
async fn a_repository_inside_is_protected_like_the_one_around_it() {
    let bench = Bench::new().approval(ApprovalPolicy::Never);
    bench.write("sub/.git/config", "[core]\n");
    bench.write("module/.git", "gitdir: ../sub/.git\n");
    std::os::unix::fs::symlink("sub/.git", bench.cwd.join("link")).unwrap();
    std::os::unix::fs::symlink("../..", bench.cwd.join("sub/.git/out")).unwrap();
    let patches = [
        add("sub/.git/hooks/pre-commit"),
        add("link/hooks/pre-commit"),
        add("sub/.git/out/a.txt"),
        add("sub/.troupe/config.toml"),
        add("a/b/.git/config"),
        add("x/../module/.git"),
        "*** Delete File: module/.git\n".to_owned(),
        "*** Update File: sub/.git/config\n*** Move to: config\n".to_owned(),
        "*** Update File: sub/.git/config\n@@\n-[core]\n+[core]x\n".to_owned(),
    ];
    for body in &patches {
        let text = patch(&bench, body).await;
        assert!(text.starts_with("refused: "), "{body}: {text}");
        assert!(text.contains(" is protected from being written"), "{text}");
    }
    assert_eq!(bench.read("sub/.git/config"), "[core]\n");
    assert_eq!(bench.read("module/.git"), "gitdir: ../sub/.git\n");
    for path in ["sub/.git/hooks", "sub/.troupe", "a", "a.txt"] {
        assert!(!bench.cwd.join(path).exists(), "{path}");
    }
    let text = patch(&bench, &add("sub/.gitignore")).await;
    assert!(text.starts_with("Exit code: 0"), "{text}");
}

#[tokio::test]
async fn a_patch_of_a_repository_inside_is_asked_for_and_then_made() {
    for backend in [BackendChoice::Namespaces, BackendChoice::Landlock] {
        let bench = Bench::with_backend(backend);
        bench.write("sub/.git/config", "[core]\n");
        for path in ["sub/.git/hooks/pre-commit", "sub/.troupe/config.toml"] {
            bench.channel.will_answer(ReviewDecision::Denied);
            let text = patch(&bench, &add(path)).await;
            assert!(text.starts_with("not approved"), "{path}: {text}");
            assert!(!bench.cwd.join(path).exists());
            bench.channel.will_answer(ReviewDecision::Approved);
            let text = patch(&bench, &add(path)).await;
            assert!(text.starts_with("Exit code: 0"), "{path}: {text}");
            assert_eq!(bench.read(path), "new\n");
        }
    }
}

#[tokio::test]
async fn untrusted_asks_for_every_edit() {
    let bench = Bench::new().approval(ApprovalPolicy::Untrusted);
    bench.channel.will_answer(ReviewDecision::Approved);
    assert!(
        patch(&bench, &add("a.txt"))
            .await
            .starts_with("Exit code: 0")
    );
    assert_eq!(bench.channel.asks().len(), 1);
    assert_eq!(bench.read("a.txt"), "new\n");
}

#[tokio::test]
async fn what_a_person_allows_is_made_and_no_more() {
    let bench = Bench::new();
    bench.write(".git/config", "[core]\n");
    // Protected, and the second does not exist yet.
    for path in [".git/hooks/pre-commit", ".troupe/config.toml"] {
        bench.channel.will_answer(ReviewDecision::Approved);
        let text = patch(&bench, &add(path)).await;
        assert!(text.starts_with("Exit code: 0"), "{path}: {text}");
        assert_eq!(bench.read(path), "new\n");
        // The next one is asked for again.
        bench.channel.will_answer(ReviewDecision::Denied);
        let text = patch(&bench, &add(path)).await;
        assert!(text.starts_with("not approved"), "{path}: {text}");
    }
    let bench = bench.sandbox(SandboxPolicy::read_only());
    bench.channel.will_answer(ReviewDecision::Approved);
    let text = patch(&bench, &add("src/a.txt")).await;
    assert!(text.starts_with("Exit code: 0"), "{text}");
    assert_eq!(bench.read("src/a.txt"), "new\n");
}

#[tokio::test]
async fn the_home_of_the_engine_is_outside_wherever_it_lies() {
    for backend in [BackendChoice::Namespaces, BackendChoice::Landlock] {
        let bench = Bench::with_backend(backend).approval(ApprovalPolicy::Never);
        let around = bench.home().parent().unwrap().to_path_buf();
        let policy = SandboxPolicy::WorkspaceWrite {
            writable_roots: vec![around],
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        };
        let bench = bench.sandbox(policy);
        let file = bench.home().join("config.toml");
        let text = patch(&bench, &add(file.display())).await;
        assert!(text.starts_with("refused: "), "{backend:?}: {text}");
        assert!(!file.exists());
        let beside = bench.outside.join("a.txt");
        let text = patch(&bench, &add(beside.display())).await;
        assert!(text.starts_with("Exit code: 0"), "{backend:?}: {text}");
        assert!(beside.exists());
    }
}
