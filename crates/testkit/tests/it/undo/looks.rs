//! What a look at a work tree sees and keeps, and what the model is told of an undo.

use super::*;

/// Git may keep other bytes than are on disk; what comes back is what was there.
#[tokio::test]
async fn a_file_that_git_converts_comes_back_byte_for_byte() {
    let names = "crlf filtered wide ident plain";
    let script = format!("for f in {names}; do echo changed > $f; done");
    let stage = Stage::new(&screenplay(&[&command(&script)])).await;
    git(&stage, &["init", "-q"]);
    git(&stage, &["config", "core.autocrlf", "input"]);
    git(&stage, &["config", "filter.turn.clean", "tr a-z b-za"]);
    git(&stage, &["config", "filter.turn.smudge", "tr b-za a-z"]);
    let attributes = "filtered filter=turn\nwide working-tree-encoding=UTF-16LE\nident ident\n";
    stage.write(".gitattributes", attributes);
    stage.write("crlf", "one\r\ntwo\r\n");
    stage.write("filtered", "as long as before\n");
    stage.write("wide", "w\0i\0d\0e\0\n\0");
    stage.write("ident", "$Id: somebody else's $\n");
    stage.write("plain", "plain\n");
    let old = std::time::SystemTime::now() - std::time::Duration::from_mins(1);
    for name in names.split(' ') {
        let path = stage.cwd().join(name);
        let file = std::fs::File::options().append(true).open(path).unwrap();
        file.set_modified(old).unwrap();
    }
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "-q", "-m", "first"]);
    settle_index(&stage);
    let read = |stage: &Stage| -> Vec<Vec<u8>> {
        let names = names.split(' ').map(|name| stage.cwd().join(name));
        names.map(|path| std::fs::read(path).unwrap()).collect()
    };
    let before = read(&stage);
    let mut actor = stage.start().await;
    actor.turn("go").await;
    assert_ne!(read(&stage), before);
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(read(&stage), before);
    // Of what git has as it is, nothing was copied before it was changed.
    assert_eq!(completed.restored.len(), 5);
}

/// Gives the index a time after that of all files, as a work tree has it that is not brand-new.
fn settle_index(stage: &Stage) {
    let index = stage.cwd().join(".git/index");
    let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
    let index = std::fs::File::options().append(true).open(index).unwrap();
    index.set_modified(later).unwrap();
}

/// Waits until the times of the index are old enough to be believed.
async fn outlast_index(stage: &Stage) {
    use std::os::unix::fs::MetadataExt as _;
    let index = std::fs::metadata(stage.cwd().join(".git/index")).unwrap();
    let settled = std::time::Duration::from_secs(u64::try_from(index.ctime()).unwrap() + 4);
    let now = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    while now().unwrap() < settled {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Returns how many contents are kept.
fn kept(stage: &Stage) -> usize {
    let shelves = std::fs::read_dir(stage.home().join("snapshots/files"));
    let shelves = shelves.into_iter().flatten();
    let files = shelves.map(|shelf| std::fs::read_dir(shelf.unwrap().path()).unwrap().count());
    files.sum()
}

#[tokio::test]
async fn what_git_has_is_not_copied_and_what_is_too_large_is_not_either() {
    let script = "echo more >> large; echo two > edited; truncate -s 33M made";
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    commit(&stage);
    settle_index(&stage);
    let large = std::fs::File::create(stage.cwd().join("large")).unwrap();
    large.set_len(33 * 1024 * 1024).unwrap();
    let mut actor = stage.start().await;
    actor.turn("go").await;
    // What `edited` held, and what it holds.
    assert_eq!(kept(&stage), 2);
    let completed = undo(&mut actor, last()).await;
    assert!(!completed.success, "{completed:?}");
    let reason = "it cannot be taken back: it is larger than 33554432 bytes";
    let conflicts = completed.conflicts.iter();
    let reasons: Vec<&str> = conflicts.map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, [reason, reason]);
    assert_eq!(stage.read("edited"), "two\n");
    let partly = UndoRequest {
        partly: true,
        ..last()
    };
    let completed = undo(&mut actor, partly).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(stage.read("edited"), "one\n");
}

#[tokio::test]
async fn every_kind_of_index_is_understood() {
    let variants: [&[&[&str]]; 6] = [
        &[&["update-index", "--index-version", "4"]],
        &[&["update-index", "--split-index"]],
        &[&["update-index", "--untracked-cache"]],
        &[&["update-index", "--assume-unchanged", "edited"]],
        &[&["sparse-checkout", "set", "--sparse-index", "sub"]],
        &[&["rm", "-q", "--cached", "-r", "."]],
    ];
    let script = "echo two > edited; rm kept; echo new > new; echo more >> sub/a";
    for variant in variants {
        let stage = Stage::new(&screenplay(&[&command(script)])).await;
        commit(&stage);
        for name in ["sub", "away"] {
            std::fs::create_dir(stage.cwd().join(name)).unwrap();
            stage.write(&format!("{name}/a"), "a\n");
        }
        git(&stage, &["add", "."]);
        git(&stage, &["commit", "-q", "-m", "second"]);
        for arguments in variant {
            git(&stage, arguments);
        }
        settle_index(&stage);
        let before = files(&stage.cwd());
        let mut actor = stage.start().await;
        actor.turn("go").await;
        assert_ne!(files(&stage.cwd()), before, "{variant:?}");
        let completed = undo(&mut actor, last()).await;
        assert!(completed.success, "{variant:?}: {completed:?}");
        assert_eq!(files(&stage.cwd()), before, "{variant:?}");
    }
}

/// A repository inside is not looked into, so it is neither forgotten nor said to be taken back.
#[tokio::test]
async fn a_repository_that_a_turn_made_is_named_and_the_rest_can_be_taken_back() {
    let script = "echo two > edited; git init -q inner; echo x > inner/x";
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    commit(&stage);
    let mut actor = stage.start().await;
    actor.turn("go").await;
    let completed = undo(&mut actor, last()).await;
    check(
        &stage,
        &completed,
        expect![[r#"
            success false
            nothing was changed, because not all of it can be taken back: see what is in the way (partly: take back the rest)
            conflict inner: it cannot be taken back: it is a repository of its own, and what is in it is not known
        "#]],
    );
    assert_eq!(stage.read("edited"), "two\n");
    // Once it is gone, nothing is in the way.
    std::fs::remove_dir_all(stage.cwd().join("inner")).unwrap();
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(stage.read("edited"), "one\n");
}

#[tokio::test]
async fn the_model_is_told_at_its_next_task_what_was_taken_back() {
    let stage = Stage::new(&screenplay(&[
        &command("echo two > edited; echo x > new"),
        "{ say = 'hm' }",
    ]))
    .await;
    commit(&stage);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    undo(&mut actor, last()).await;
    actor.shut_down().await;
    let mut actor = stage.resume(session).await;
    actor.turn("on").await;
    let requests = stage.requests();
    let last = requests.last().expect("the model was asked");
    let last = String::from_utf8_lossy(&last.body).into_owned();
    let note = "The user has taken back changes to these files";
    assert_eq!(last.matches(note).count(), 1, "{last}");
    assert!(last.contains("removed") && last.contains("/new"), "{last}");
}

/// What was taken back and brought back before it heard of it is as it knows it: two notes that
/// cancel each other would only make it read the files again.
#[tokio::test]
async fn of_an_undo_that_was_taken_back_the_model_hears_nothing() {
    let stage = Stage::new(&screenplay(&[
        &command("mkdir empty; echo two > edited"),
        "{ say = 'hm' }",
    ]))
    .await;
    commit(&stage);
    let mut actor = stage.start().await;
    actor.turn("go").await;
    undo(&mut actor, last()).await;
    undo(&mut actor, redo()).await;
    // The same for whoever opens the session in between.
    undo(&mut actor, last()).await;
    let mut actor = reopened(&stage, actor).await;
    undo(&mut actor, redo()).await;
    let mut actor = reopened(&stage, actor).await;
    assert!(stage.cwd().join("empty").is_dir());
    actor.turn("on").await;
    assert!(!last_request(&stage).contains("files_taken_back"));
    // One that it has heard of is told as reversed.
    undo(&mut actor, last()).await;
    actor.turn("on").await;
    undo(&mut actor, redo()).await;
    actor.turn("on").await;
    let last = last_request(&stage);
    let taken_back = last.find("The user has taken back changes to these files");
    let brought_back = last.find("these files are again as your turns left them");
    assert!(taken_back.is_some() && taken_back < brought_back, "{last}");
    assert_eq!(last.matches("has taken back changes").count(), 1, "{last}");
}

async fn reopened(stage: &Stage, actor: Actor) -> Actor {
    let session = actor.session_id();
    actor.shut_down().await;
    stage.resume(session).await
}

fn last_request(stage: &Stage) -> String {
    let requests = stage.requests();
    let last = requests.last().expect("the model was asked");
    String::from_utf8_lossy(&last.body).into_owned()
}

#[tokio::test]
async fn directories_that_a_turn_made_go_with_what_was_in_them() {
    let made = "mkdir -p made/deep/empty sub/empty; echo x > made/deep/x; rmdir old";
    let deeds = [command(made), patch("*** Add File: by/patch/new\n+new\n")];
    let stage = Stage::new(&screenplay(&deeds.each_ref().map(String::as_str))).await;
    for name in ["sub", "old", "mine"] {
        std::fs::create_dir(stage.cwd().join(name)).unwrap();
    }
    stage.write("sub/a", "a\n");
    commit(&stage);
    let mut actor = stage.start().await;
    let before = files(&stage.cwd());
    for _ in deeds {
        actor.turn("go").await;
    }
    // Somebody else has put a file into one of them.
    stage.write("sub/empty/mine", "mine\n");
    let both = UndoRequest {
        num_turns: Some(2),
        ..last()
    };
    let completed = undo(&mut actor, both).await;
    check(
        &stage,
        &completed,
        expect![[r#"
            success true
            removed by/patch/new
            removed made/deep/x
            removed by
            removed by/patch
            removed made
            removed made/deep
            removed made/deep/empty
        "#]],
    );
    let mine = before
        .replace(" old/()", "")
        .replace("sub/(a=a)", "sub/(a=a empty/(mine=mine))");
    assert_eq!(files(&stage.cwd()), mine);
    let completed = undo(&mut actor, redo()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(stage.read("made/deep/x"), "x\n");
    assert!(stage.cwd().join("made/deep/empty").is_dir());
    assert!(
        completed
            .restored
            .contains(&stage.cwd().join("made/deep/empty"))
    );
    assert!(!completed.restored.contains(&stage.cwd().join("made")));
}

/// Nothing is known of what it changed, and that is what is said.
#[tokio::test]
async fn a_turn_that_made_its_repository_is_neither_lost_nor_said_to_be_nothing() {
    let deeds = [
        patch("*** Add File: patched\n+new\n"),
        command("git init -q . && echo x > made"),
        command("echo y > after"),
    ];
    let stage = Stage::new(&screenplay(&deeds.each_ref().map(String::as_str))).await;
    let mut actor = stage.start().await;
    actor.turn("go").await;
    actor.turn("go").await;
    assert!(stage.cwd().join(".git").exists());
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert!(!stage.cwd().join("patched").exists());
    let note = completed.notes.concat();
    assert!(note.contains("ran commands later"), "{completed:?}");
    assert!(
        note.contains("outside of a git repository"),
        "{completed:?}"
    );
    let completed = undo(&mut actor, last()).await;
    let message = completed.message.unwrap_or_default();
    assert!(
        !completed.success && message.contains("is not known"),
        "{message}"
    );
    // In the next turn there is a repository to look at.
    actor.turn("go").await;
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert!(!stage.cwd().join("after").exists() && stage.cwd().join("made").exists());
}

/// A copy of a repository has an index that knows other files by the same names.
#[tokio::test]
async fn a_copy_of_a_large_repository_is_compared_with_what_git_has() {
    const FILES: usize = 10_200;
    let script = "rm f00000 f10199";
    let stage = Stage::new(&screenplay(&[&command(script)])).await;
    git(&stage, &["init", "-q"]);
    let name = |number: usize| format!("f{number:05}");
    for number in 0..FILES {
        stage.write(&name(number), &format!("{number}\n"));
    }
    git(&stage, &["add", "."]);
    git(&stage, &["commit", "-q", "-m", "first"]);
    // Of one that is not what git has, the bytes are kept.
    stage.write(&name(0), "edited\n");
    for number in 0..FILES {
        let path = stage.cwd().join(name(number));
        let file = std::fs::File::options().append(true).open(path).unwrap();
        let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
        file.set_modified(old).unwrap();
    }
    let mut actor = stage.start().await;
    actor.turn("go").await;
    assert!(!stage.cwd().join(name(FILES - 1)).exists());
    assert!(kept(&stage) <= 2, "{} contents were copied", kept(&stage));
    let completed = undo(&mut actor, last()).await;
    assert!(completed.success, "{completed:?}");
    assert_eq!(stage.read(&name(FILES - 1)), format!("{}\n", FILES - 1));
    assert_eq!(stage.read(&name(0)), "edited\n");
}

/// What is listed once is not listed again, and nothing that comes later is missed for it.
#[tokio::test]
async fn files_that_come_in_later_turns_are_seen_wherever_they_are() {
    let scripts = [
        "echo 1 > first; mkdir -p deep/down/here target; echo o > target/out",
        "echo 2 > deep/down/here/second; echo o > target/more",
        "echo 3 > sub/third; echo n >> .gitignore",
        "mkdir sub/new; echo 4 > sub/new/fourth; echo o > sub/new/ignored",
        "rm sub/a; mkdir sub/a; echo 5 > sub/a/fifth",
    ];
    let deeds: Vec<String> = scripts.iter().map(|script| command(script)).collect();
    let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
    let stage = Stage::new(&screenplay(&deeds)).await;
    std::fs::create_dir(stage.cwd().join("sub")).unwrap();
    stage.write("sub/a", "a\n");
    commit(&stage);
    stage.write(".git/info/exclude", "target/\n");
    outlast_index(&stage).await;
    let mut actor = stage.start().await;
    let mut states = Vec::new();
    for _ in scripts {
        states.push(files(&stage.cwd()));
        actor.turn("go").await;
    }
    for (before, script) in states.iter().zip(scripts).rev().take(4) {
        let completed = undo(&mut actor, last()).await;
        assert!(completed.success, "{script}: {completed:?}");
        let without_ignored = |text: &str| {
            let text = text.replace("ignored=o", "").replace("more=o ", "");
            text.replace("new/()", "")
                .replace("a/()", "")
                .replace(' ', "")
        };
        let after = without_ignored(&files(&stage.cwd()));
        assert_eq!(after, without_ignored(before), "{script}");
    }
}

/// Git knows them, so it does not name them as new; a later look asks the index for them.
#[tokio::test]
async fn tracked_files_that_come_back_in_a_later_turn_are_taken_back() {
    let scripts = [
        "rm edited; rm -r sub",
        "echo other > edited; mkdir -p sub/deep; echo other > sub/a; echo other > sub/deep/b",
    ];
    let deeds: Vec<String> = scripts.iter().map(|script| command(script)).collect();
    let deeds: Vec<&str> = deeds.iter().map(String::as_str).collect();
    let stage = Stage::new(&screenplay(&deeds)).await;
    std::fs::create_dir_all(stage.cwd().join("sub/deep")).unwrap();
    stage.write("sub/a", "a\n");
    stage.write("sub/deep/b", "b\n");
    commit(&stage);
    outlast_index(&stage).await;
    let mut actor = stage.start().await;
    let mut states = Vec::new();
    for _ in scripts {
        states.push(files(&stage.cwd()));
        actor.turn("go").await;
    }
    for before in states.iter().rev() {
        assert_ne!(files(&stage.cwd()), *before);
        let completed = undo(&mut actor, last()).await;
        assert!(completed.success, "{completed:?}");
        assert_eq!(files(&stage.cwd()), *before);
    }
}

/// What a crash cut off has to be looked at again, and that is kept nowhere.
#[tokio::test]
async fn a_dry_run_in_an_open_session_writes_nothing() {
    let deeds = format!(
        "{}, {}",
        command("echo two > edited; echo new > new"),
        patch("*** Add File: ignored\n+x\n")
    );
    let stage = Stage::new(&screenplay(&[&deeds])).await;
    commit(&stage);
    let mut actor = stage.start().await;
    let session = actor.session_id();
    actor.turn("go").await;
    actor.shut_down().await;
    cut_before_end(&stage, session).await;
    let mut actor = stage.resume(session).await;
    let (path, _) = log(&stage, session).await;
    let snapshots = stage.home().join("snapshots");
    let kept = (std::fs::read(&path).unwrap(), bytes_below(&snapshots));
    let request = UndoRequest {
        dry_run: true,
        ..last()
    };
    let completed = undo(&mut actor, request).await;
    assert!(completed.success && completed.dry_run, "{completed:?}");
    assert_eq!(completed.restored.len(), 1);
    assert_eq!(completed.removed.len(), 2);
    let left = (std::fs::read(&path).unwrap(), bytes_below(&snapshots));
    assert!(left == kept, "something was written");
}

/// Every file below a directory, with what it holds.
fn bytes_below(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let below = paths.into_iter().flat_map(|path| {
        if path.is_dir() {
            bytes_below(&path)
        } else {
            vec![(path.clone(), std::fs::read(&path).unwrap())]
        }
    });
    below.collect()
}
