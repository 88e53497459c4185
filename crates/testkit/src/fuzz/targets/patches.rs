//! Patches that a model writes, parsed and applied to real files.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;
use troupe_patch::{ParseError, Patch, PatchParser, PatchRoots, plan};

use crate::fuzz::pieces::cut_text;
use crate::fuzz::{Shape, Target};

pub(super) const TARGET: Target = Target {
    name: "patches",
    run,
    words: &[
        "*** Begin Patch\n",
        "*** End Patch",
        "*** Add File: ",
        "*** Delete File: ",
        "*** Update File: ",
        "*** Move to: ",
        "*** End of File\n",
        "@@ ",
        "@@\n",
        "\n+",
        "\n-",
        "\n ",
        "a.txt",
        "sub/b.txt",
        "../outside/c.txt",
        "/etc/passwd",
        "\r\n",
        "fn main() {\n",
    ],
};

const FILES: [(&str, &str); 3] = [
    ("work/a.txt", "one\ntwo\nthree\nfour\nfive\n"),
    ("work/sub/b.txt", "fn main() {\r\n    call();\r\n}\r\n"),
    ("outside/c.txt", "not yours\n"),
];

thread_local! {
    static STAGE: OnceCell<TempDir> = const { OnceCell::new() };
}

fn run(input: &[u8]) -> Shape {
    let text = String::from_utf8_lossy(input);
    let whole = Patch::parse(&text);
    let pieces = in_pieces(&text);
    let is_same = match (&whole, &pieces) {
        (Ok(whole), Ok(pieces)) => whole == pieces,
        (Err(whole), Err(pieces)) => whole.to_string() == pieces.to_string(),
        _ => false,
    };
    assert!(
        is_same,
        "pieces mean what the whole does: {whole:?} {pieces:?}"
    );
    match whole {
        Err(error) => Shape::of(&error.to_string()),
        Ok(patch) => STAGE.with(|stage| {
            let stage = stage.get_or_init(|| TempDir::new().expect("a directory can be made"));
            Shape::of(&apply(&patch, stage.path()))
        }),
    }
}

fn in_pieces(text: &str) -> Result<Patch, ParseError> {
    let mut parser = PatchParser::default();
    for piece in cut_text(text) {
        parser.push(piece)?;
    }
    parser.finish()
}

fn apply(patch: &Patch, stage: &Path) -> String {
    set(stage);
    let before = files(stage);
    let work = stage.join("work");
    let roots = PatchRoots::Within {
        writable: vec![work.clone()],
        protected: vec![work.join(".git")],
        protected_names: vec![".git".to_owned()],
    };
    let done = match plan(patch, &work, &roots) {
        Err(error) => Err(error.to_string()),
        Ok(plan) => plan.apply().map_err(|error| error.to_string()),
    };
    let after = files(stage);
    match done {
        Err(problem) => {
            assert_eq!(after, before, "a patch that fails changes nothing");
            problem
        }
        Ok(applied) => {
            let outside = "outside/c.txt";
            assert_eq!(after.get(outside), before.get(outside));
            let count = |all: &BTreeMap<String, Vec<u8>>| {
                all.keys().filter(|path| !path.starts_with("work/")).count()
            };
            assert_eq!(count(&after), count(&before), "nothing is written outside");
            applied.summary()
        }
    }
}

/// Puts everything where it was.
fn set(stage: &Path) {
    if stage.join("work").exists() {
        fs::remove_dir_all(stage.join("work")).expect("it is ours");
    }
    for (path, content) in FILES {
        let path = stage.join(path);
        let directory = path.parent().expect("it is below the stage");
        fs::create_dir_all(directory).expect("it is ours");
        fs::write(path, content).expect("it is ours");
    }
}

fn files(stage: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut directories = vec![stage.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory).expect("it is ours") {
            let path = entry.expect("it is ours").path();
            if path.is_dir() {
                directories.push(path);
            } else {
                let name = path.strip_prefix(stage).expect("it is below the stage");
                let content = fs::read(&path).expect("it is ours");
                found.insert(name.to_string_lossy().into_owned(), content);
            }
        }
    }
    found
}
