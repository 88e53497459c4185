use std::fs;
use std::os::unix::fs::symlink;

use super::*;

struct Scene {
    directory: tempfile::TempDir,
    blobs: BlobStore,
}

impl Scene {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("top")).unwrap();
        let blobs = BlobStore::new(directory.path().join("blobs"));
        Self { directory, blobs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("top").join(name)
    }

    fn file(&self, text: &str) -> FileState {
        FileState::File {
            sha256: self.blobs.keep(text.as_bytes()).unwrap(),
            mode: 0o644,
        }
    }

    fn way(&self, name: &str, from: FileState, to: FileState) -> FileRestore {
        FileRestore {
            path: self.path(name),
            from,
            to,
            is_broken: false,
        }
    }

    fn undo(&self, ways: Vec<FileRestore>, extent: UndoExtent) -> UndoPlan {
        let plan = UndoPlan::make(
            ways,
            DirectoryChange::default(),
            &self.path(""),
            extent,
            &self.blobs,
        );
        plan.perform(&self.blobs)
    }
}

fn link(target: &str) -> FileState {
    FileState::Link {
        target: target.into(),
    }
}

#[test]
fn a_link_gives_its_place_back_to_the_directory_that_was_there() {
    let scene = Scene::new();
    fs::create_dir(scene.path("dold")).unwrap();
    fs::write(scene.path("dold/a"), "mine").unwrap();
    symlink("dold", scene.path("d")).unwrap();
    let mine = scene.file("mine");
    let ways = vec![
        scene.way("d", link("dold"), FileState::Absent),
        scene.way("d/a", FileState::Absent, mine.clone()),
        scene.way("dold/a", mine, FileState::Absent),
    ];
    let done = scene.undo(ways, UndoExtent::AllOrNothing);
    assert!(done.is_success(), "{done:?}");
    assert!(!scene.path("d").is_symlink());
    assert_eq!(fs::read_to_string(scene.path("d/a")).unwrap(), "mine");
    assert!(!scene.path("dold/a").exists());
}

#[test]
fn nothing_is_written_below_a_link_that_stays() {
    let scene = Scene::new();
    fs::create_dir_all(scene.path(".git/hooks")).unwrap();
    symlink(".git/hooks", scene.path("d")).unwrap();
    fs::write(scene.path("b"), "new").unwrap();
    let ways = || {
        vec![
            scene.way("b", scene.file("new"), FileState::Absent),
            scene.way("d/hook", FileState::Absent, scene.file("mine")),
        ]
    };
    let done = scene.undo(ways(), UndoExtent::AllOrNothing);
    assert!(!done.is_success() && done.files.is_empty(), "{done:?}");
    assert!(scene.path("b").exists(), "it is all or nothing");
    let done = scene.undo(ways(), UndoExtent::Partly);
    assert_eq!(done.removed(), [scene.path("b")]);
    assert!(!scene.path(".git/hooks/hook").exists());
}

#[test]
fn what_was_done_is_put_back_if_a_later_group_fails() {
    let scene = Scene::new();
    fs::write(scene.path("a"), "new").unwrap();
    let ways = vec![
        scene.way("a", scene.file("new"), FileState::Absent),
        scene.way("b", FileState::Absent, scene.file("old")),
    ];
    let plan = UndoPlan::make(
        ways,
        DirectoryChange::default(),
        &scene.path(""),
        UndoExtent::AllOrNothing,
        &scene.blobs,
    );
    assert!(plan.conflicts.is_empty(), "{plan:?}");
    // Between the plan and the deed: removing works, writing does not.
    fs::write(scene.path("b"), "somebody's").unwrap();
    let done = plan.perform(&scene.blobs);
    assert!(!done.is_success() && done.files.is_empty(), "{done:?}");
    assert_eq!(fs::read_to_string(scene.path("a")).unwrap(), "new");
    assert_eq!(fs::read_to_string(scene.path("b")).unwrap(), "somebody's");
}
