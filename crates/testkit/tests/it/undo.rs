//! Files as they were: what turns changed is taken back, and that too.

mod looks;

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use troupe_agents::Family;
use troupe_protocol::EventMsg;
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::op::Op;
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::undo::{FileFact, UndoCompleted, UndoRequest};
use troupe_testkit::{Actor, Stage};

/// One answer per turn: what it does, and a last word.
fn screenplay(deeds: &[&str]) -> String {
    let turns = deeds.iter().map(|deed| {
        format!(
            "[[scene.turn]]\nsteps = [{deed}]\n[[scene.turn]]\nsteps = [{{ say = \"done\" }}]\n"
        )
    });
    format!("[[scene]]\n{}", turns.collect::<String>())
}

fn patch(body: &str) -> String {
    format!(
        "{{ custom = \"apply_patch\", input = \"\"\"\n*** Begin Patch\n{body}*** End Patch\"\"\" }}"
    )
}

fn command(script: &str) -> String {
    format!("{{ call = \"shell_command\", arguments = {{ command = \"{script}\" }} }}")
}

async fn undo(actor: &mut Actor, request: UndoRequest) -> UndoCompleted {
    actor.submit(Op::Undo(request)).await;
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::UndoCompleted(_)))
        .await;
    let is_started = |msg: &EventMsg| matches!(msg, EventMsg::UndoStarted { .. });
    assert!(msgs.iter().any(is_started), "{msgs:?}");
    match msgs.into_iter().next_back() {
        Some(EventMsg::UndoCompleted(completed)) => completed,
        _ => unreachable!("until returns the event it waited for"),
    }
}

fn last() -> UndoRequest {
    UndoRequest::default()
}

fn redo() -> UndoRequest {
    UndoRequest {
        redo: true,
        ..UndoRequest::default()
    }
}

fn check(stage: &Stage, completed: &UndoCompleted, expected: Expect) {
    let cwd = stage.cwd();
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(&cwd).unwrap_or(path);
        path.display().to_string()
    };
    let mut lines = vec![format!("success {}", completed.success)];
    lines.extend(completed.message.iter().cloned());
    lines.extend(
        completed
            .restored
            .iter()
            .map(|path| format!("restored {}", name(path))),
    );
    lines.extend(
        completed
            .removed
            .iter()
            .map(|path| format!("removed {}", name(path))),
    );
    let conflicts = completed.conflicts.iter();
    lines.extend(conflicts.map(|it| format!("conflict {}: {}", name(&it.path), it.reason)));
    lines.extend(completed.notes.iter().map(|note| format!("note {note}")));
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

/// What is in the directory, without git's own.
fn files(directory: &Path) -> String {
    let mut lines = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_file() {
            let text = std::fs::read_to_string(&path).unwrap();
            lines.push(format!("{name}={}", text.trim_end()));
        } else if name != ".git" {
            lines.push(format!("{name}/({})", files(&path)));
        }
    }
    lines.sort();
    lines.join(" ")
}

fn git(stage: &Stage, arguments: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=T", "-c", "user.email=t@localhost"])
        .args(arguments)
        .current_dir(stage.cwd())
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    String::from_utf8(done.stdout).unwrap()
}

/// The stage's directory becomes a repository with two committed files.
fn commit(stage: &Stage) {
    stage.write("kept", "kept\n");
    stage.write("edited", "one\n");
    stage.write(".gitignore", "ignored\n");
    git(stage, &["init", "-q"]);
    git(stage, &["add", "."]);
    git(stage, &["commit", "-q", "-m", "first"]);
}

#[tokio::test]
async fn what_a_patch_changed_is_taken_back_and_that_too_after_a_resume() {
    let body = "*** Update File: a\n@@\n-one\n+two\n*** Add File: new/b\n+b\n*** Delete File: c\n";
    let stage = Stage::new(&screenplay(&[&patch(body)])).await;
    stage.write("a", "one\n");
    stage.write("c", "sea\n");
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    assert_eq!(files(&stage.cwd()), "a=two new/(b=b)");

    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
            success true
            restored a
            restored c
            removed new/b
            removed new
        "#]],
    );
    assert_eq!(files(&stage.cwd()), "a=one c=sea");
    actor.shut_down().await;

    // It is known after a resume what was taken back, and there is no more of it.
    let mut actor = stage.resume(session).await;
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success false
        nothing is left to undo: every turn that changed files is undone already; `troupe undo --redo` brings the last one back
    "#]],
    );
    let completed = undo(&mut actor, redo()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored a
        restored new/b
        removed c
    "#]],
    );
    assert_eq!(files(&stage.cwd()), "a=two new/(b=b)");
    let completed = undo(&mut actor, redo()).await;
    assert_eq!(
        completed.message.as_deref(),
        Some("there is no undo that could be taken back")
    );
    // The turn can be taken back once more.
    undo(&mut actor, last()).await;
    assert_eq!(files(&stage.cwd()), "a=one c=sea");
}

#[tokio::test]
async fn what_a_person_changed_since_is_not_overwritten() {
    let body = "*** Update File: a\n@@\n-one\n+two\n*** Update File: b\n@@\n-one\n+two\n";
    let stage = Stage::new(&screenplay(&[&patch(body)])).await;
    stage.write("a", "one\n");
    stage.write("b", "one\n");
    let mut actor = stage.start().await;
    actor.turn("go").await;
    stage.write("b", "mine\n");
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success false
        nothing was changed, because not all of it can be taken back: see what is in the way (partly: take back the rest)
        conflict b: it was changed since
    "#]],
    );
    assert_eq!(files(&stage.cwd()), "a=two b=mine");
    let partly = UndoRequest {
        partly: true,
        ..last()
    };
    let completed = undo(&mut actor, partly).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored a
        conflict b: it was changed since
    "#]],
    );
    assert_eq!(files(&stage.cwd()), "a=one b=mine");
}

/// A repository with a directory of its own, in which a turn runs a script; then that is undone.
async fn undone(script: &str) -> (Stage, Actor, UndoCompleted) {
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    commit(&stage);
    std::fs::create_dir(stage.cwd().join("d")).unwrap();
    stage.write("d/a", "mine\n");
    stage.write("d/hook", "#!/bin/sh\n");
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let completed = undo(&mut actor, last()).await;
    (stage, actor, completed)
}

const AS_IT_WAS: &str = ".gitignore=ignored d/(a=mine hook=#!/bin/sh) edited=one kept=kept";

#[tokio::test]
async fn a_link_in_the_place_of_a_directory_is_taken_back_and_no_file_is_lost() {
    let (stage, mut actor, completed) = undone("mv d dold && ln -s dold d").await;
    check(
        &stage,
        &completed,
        expect![[r#"
            success true
            restored d/a
            restored d/hook
            removed d
            removed dold/a
            removed dold/hook
            removed dold
        "#]],
    );
    assert_eq!(files(&stage.cwd()), AS_IT_WAS);
    // The link comes back with the files that it leads to.
    let completed = undo(&mut actor, redo()).await;
    assert!(completed.success, "{completed:?}");
    let link = std::fs::read_link(stage.cwd().join("d")).unwrap();
    assert_eq!(link, Path::new("dold"));
    assert_eq!(stage.read("dold/a"), "mine\n");
}

#[tokio::test]
async fn nothing_is_restored_through_a_link_that_leads_into_git() {
    let script = "chmod +x d/hook; rm -r d; ln -s .git/hooks d";
    let (stage, mut actor, completed) = undone(script).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(files(&stage.cwd()), AS_IT_WAS);
    assert!(!stage.cwd().join(".git/hooks/hook").exists());

    // Nor through one that was put there after the turn.
    undo(&mut actor, redo()).await;
    std::fs::remove_file(stage.cwd().join("d")).unwrap();
    std::os::unix::fs::symlink("../outside", stage.cwd().join("d")).unwrap();
    let outside = stage.cwd().with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    let completed = undo(&mut actor, last()).await;
    assert!(!completed.success, "{completed:?}");
    assert_eq!(files(&outside), "");
}

#[tokio::test]
async fn files_and_directories_that_changed_places_are_taken_back() {
    let script = "rm -r d; echo file > d; rm kept; mkdir -p kept/deep; echo x > kept/deep/x; ln -s kept link";
    let (stage, mut actor, completed) = undone(script).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(files(&stage.cwd()), AS_IT_WAS);
    let completed = undo(&mut actor, redo()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(stage.read("d"), "file\n");
    assert_eq!(stage.read("link/deep/x"), "x\n");
}

#[tokio::test]
async fn a_link_that_a_turn_removed_or_turned_comes_back() {
    let stage = Stage::new(&screenplay(&[&command("rm one; ln -sf edited two")])).await;
    commit(&stage);
    for name in ["one", "two"] {
        std::os::unix::fs::symlink("kept", stage.cwd().join(name)).unwrap();
    }
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    for name in ["one", "two"] {
        let link = std::fs::read_link(stage.cwd().join(name)).unwrap();
        assert_eq!(link, Path::new("kept"));
    }
}

/// Names are bytes on disk. The log has them without loss, so the turn ends well and comes back.
#[tokio::test]
async fn a_file_name_that_is_not_utf8_is_recorded_and_taken_back() {
    use std::os::unix::ffi::OsStrExt as _;
    let name = |bytes: &[u8]| PathBuf::from(std::ffi::OsStr::from_bytes(bytes));
    let script = "rm caf*; echo new > $(printf 'm\\\\374sli'); echo two > edited";
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    commit(&stage);
    let (kept, made) = (name(b"caf\xe9"), name(b"m\xfcsli"));
    std::fs::write(stage.cwd().join(&kept), "mine\n").unwrap();
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    assert!(stage.cwd().join(&made).exists());
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(completed.removed, [stage.cwd().join(&made)]);
    assert!(!stage.cwd().join(&made).exists());
    let text = std::fs::read_to_string(stage.cwd().join(&kept)).unwrap();
    assert_eq!(text, "mine\n");
    assert_eq!(stage.read("edited"), "one\n");
}

#[tokio::test]
async fn what_commands_changed_in_a_repository_is_taken_back() {
    let script = "echo two > edited; rm kept; mkdir sub; echo new > sub/new; echo x > ignored; chmod +x .gitignore";
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    commit(&stage);
    stage.write("edited", "not committed\n");
    stage.write("untracked", "mine\n");
    let status = git(&stage, &["status", "--porcelain"]);
    let index = std::fs::read(stage.cwd().join(".git/index")).unwrap();
    let before = files(&stage.cwd());
    let mut actor = stage.start().await;
    actor.turn("go").await;
    assert_ne!(files(&stage.cwd()), before);

    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored .gitignore
        restored edited
        restored kept
        removed sub/new
        removed sub
    "#]],
    );
    assert_eq!(
        files(&stage.cwd()),
        format!(".gitignore=ignored edited=not committed ignored=x kept=kept untracked=mine")
    );
    // The user's own index has not been touched.
    assert_eq!(
        std::fs::read(stage.cwd().join(".git/index")).unwrap(),
        index
    );
    assert_eq!(git(&stage, &["status", "--porcelain"]), status);
}

#[tokio::test]
async fn patches_and_commands_of_a_turn_are_one() {
    // The patch comes first and touches what git ignores; then a command changes its file too.
    let body = "*** Update File: edited\n@@\n-one\n+two\n*** Add File: ignored\n+by patch\n";
    let deeds = format!(
        "{}, {}",
        patch(body),
        command("echo three > edited; echo y > ignored")
    );
    let later = format!(
        "{}, {}",
        command("echo four > kept"),
        patch("*** Update File: kept\n@@\n-four\n+five\n")
    );
    let stage = Stage::new(&screenplay(&[&deeds, &later])).await;
    commit(&stage);
    let before = files(&stage.cwd());
    let mut actor = stage.start().await;
    actor.turn("go").await;
    actor.turn("on").await;
    assert_eq!(
        files(&stage.cwd()),
        ".gitignore=ignored edited=three ignored=y kept=five"
    );
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored kept
    "#]],
    );
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored edited
        removed ignored
    "#]],
    );
    assert_eq!(files(&stage.cwd()), before);
}

#[tokio::test]
async fn several_turns_are_taken_back_at_once_after_a_look() {
    let one = patch("*** Update File: a\n@@\n-one\n+two\n");
    let two = patch("*** Update File: a\n@@\n-two\n+three\n*** Add File: b\n+b\n");
    let stage = Stage::new(&screenplay(&[&one, &two])).await;
    stage.write("a", "one\n");
    let mut actor = stage.start().await;
    actor.turn("go").await;
    actor.turn("on").await;
    let request = UndoRequest {
        num_turns: Some(2),
        dry_run: true,
        ..last()
    };
    let session = actor.session_id();
    let lines = log(&stage, session).await.1.len();
    let completed = undo(&mut actor, request.clone()).await;
    assert!(completed.dry_run);
    assert_eq!(
        log(&stage, session).await.1.len(),
        lines,
        "a look writes nothing"
    );
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored a
        removed b
    "#]],
    );
    assert_eq!(files(&stage.cwd()), "a=three b=b");
    let request = UndoRequest {
        dry_run: false,
        ..request
    };
    let completed = undo(&mut actor, request).await;
    assert_eq!(completed.turns.len(), 2);
    assert_eq!(files(&stage.cwd()), "a=one");
    let three = UndoRequest {
        num_turns: Some(3),
        ..last()
    };
    undo(&mut actor, redo()).await;
    let completed = undo(&mut actor, three).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success false
        3 turns cannot be taken back; between 1 and 2 can
    "#]],
    );
}

#[tokio::test]
async fn a_turn_that_a_crash_cut_off_is_taken_back() {
    let deeds = format!(
        "{}, {}",
        command("echo two > edited; echo new > new"),
        patch("*** Add File: ignored\n+x\n")
    );
    let stage = Stage::new(&screenplay(&[&deeds])).await;
    commit(&stage);
    let before = files(&stage.cwd());
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    actor.shut_down().await;

    cut_before_end(&stage, session).await;

    let mut actor = stage.resume(session).await;
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
        success true
        restored edited
        removed ignored
        removed new
        note Troupe was killed during a turn: everything that changed since that turn began counts as its work
    "#]],
    );
    assert_eq!(files(&stage.cwd()), before);
}

/// Cuts the log as if the engine had died before the turn was over.
async fn cut_before_end(stage: &Stage, session: troupe_protocol::SessionId) {
    let (path, lines) = log(stage, session).await;
    let end = lines.iter().find(|(_, record)| {
        matches!(record, RolloutRecord::Files(fact) if matches!(**fact, FileFact::Changed { .. }))
    });
    let (at, _) = end.expect("the turn has an end");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..usize::try_from(*at).unwrap()]).unwrap();
}

/// Returns where the log is, and its lines, each with the place where it begins.
async fn log(
    stage: &Stage,
    session: troupe_protocol::SessionId,
) -> (PathBuf, Vec<(u64, RolloutRecord)>) {
    let store = stage.store();
    let page = store
        .list(&troupe_store::ListQuery::default())
        .await
        .unwrap();
    let summary = page.sessions.into_iter().find(|it| it.id == session);
    let path = summary.and_then(|it| it.path).expect("it is on disk");
    let batch = store
        .read_all(session, troupe_store::LogPosition(0))
        .await
        .unwrap();
    let lines = batch.lines.iter();
    let lines = lines.map(|line| (line.start.0, line.record().unwrap().record));
    (path, lines.collect())
}

/// Commands may write in a part of the repository only, so nothing else is looked at.
#[tokio::test]
async fn the_rest_of_a_repository_is_not_touched() {
    let stage = Stage::new(&screenplay(&[&command("echo two > a")]))
        .await
        .sandbox(troupe_protocol::policy::SandboxPolicy::WorkspaceWrite {
            writable_roots: Vec::new(),
            network_access: false,
            exclude_tmpdir_env_var: true,
            exclude_slash_tmp: true,
        });
    // The session works in a directory of the repository.
    let top = stage.cwd().parent().unwrap().to_owned();
    std::fs::create_dir(top.join(".git")).unwrap();
    std::fs::write(top.join("beside"), "beside\n").unwrap();
    stage.write("a", "one\n");
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    actor.shut_down().await;
    cut_before_end(&stage, session).await;
    std::fs::write(top.join("beside"), "changed since\n").unwrap();
    let mut actor = stage.resume(session).await;
    let completed = undo(&mut actor, last()).await;
    assert_eq!(completed.restored, [stage.cwd().join("a")], "{completed:?}");
    assert_eq!(
        (completed.removed, completed.conflicts),
        (Vec::new(), Vec::new())
    );
    let beside = std::fs::read_to_string(top.join("beside")).unwrap();
    assert_eq!(beside, "changed since\n");
}

#[tokio::test]
async fn a_turn_that_only_reads_leaves_no_trace() {
    let stage = Stage::new(&screenplay(&[&command("ls; cat kept")])).await;
    commit(&stage);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    let (_, lines) = log(&stage, session).await;
    let facts = lines
        .iter()
        .filter(|(_, it)| matches!(it, RolloutRecord::Files(_)));
    assert_eq!(facts.count(), 0);
    assert!(!stage.home().join("snapshots").exists());
}

#[tokio::test]
async fn nothing_is_taken_back_under_a_running_task() {
    let stage =
        Stage::new("[[scene]]\n[[scene.turn]]\nsteps = [{ say = \"one\" }, { end = \"stall\" }]\n")
            .await;
    let mut actor = stage.start().await;
    actor.say("go").await;
    actor
        .until(|msg| matches!(msg, EventMsg::AgentMessageContentDelta(_)))
        .await;
    actor.submit(Op::Undo(last())).await;
    let msgs = actor.until(|msg| matches!(msg, EventMsg::Error(_))).await;
    let Some(EventMsg::Error(error)) = msgs.last() else {
        unreachable!("until returns the event it waited for");
    };
    assert_eq!(error.error_info, Some(ErrorInfo::InvalidSubmission));
    assert_eq!(error.message, "a task is running; interrupt it first");
}

#[tokio::test]
async fn a_link_that_leads_out_is_not_followed() {
    let deeds = format!(
        "{}, {}",
        patch("*** Add File: sub/a\n+one\n"),
        command("mv sub away; ln -s ../outside sub")
    );
    let stage = Stage::new(&screenplay(&[&deeds])).await;
    let outside = stage.cwd().with_file_name("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("a"), "one\n").unwrap();
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let completed = undo(&mut actor, last()).await;
    assert!(!completed.success, "{completed:?}");
    assert_eq!(files(&outside), "a=one");
}

#[tokio::test]
async fn what_a_child_did_is_taken_back_in_its_own_session() {
    let deed = patch("*** Add File: made\n+by a child\n");
    let child = screenplay(&[&deed]).replace("[[scene]]\n", "[[scene]]\nwhen = 'errand'\n");
    let root = "[[scene]]\n\
        [[scene.turn]]\nsteps = [{ call = 'spawn_agent', arguments = { message = 'errand' } }]\n\
        [[scene.turn]]\nsteps = [{ call = 'wait', arguments = { ids = ['1'] } }]\n\
        [[scene.turn]]\nsteps = [{ say = 'done' }]\n";
    let stage = Stage::new(&(child + root)).await;
    let stage = stage.with_agents(&[Family::Agents]);
    let mut actor = stage.start().await;
    let msgs = actor.turn("go").await;
    let spawned = msgs.iter().find_map(|msg| match msg {
        EventMsg::CollabAgentSpawnEnd(spawned) => spawned.new_thread_id,
        _ => None,
    });
    assert_eq!(stage.read("made"), "by a child\n");
    let nothing = undo(&mut actor, last()).await;
    assert!(!nothing.success, "the root did nothing: {nothing:?}");
    actor.agents().wait_until_idle().await;
    actor.shut_down().await;

    // As `troupe undo` opens it: with nothing but its files to look after.
    let stage = stage.without_tree();
    let mut actor = stage.resume(spawned.expect("a child was made")).await;
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert!(!stage.cwd().join("made").exists());
    undo(&mut actor, redo()).await;
    assert_eq!(stage.read("made"), "by a child\n");
}
