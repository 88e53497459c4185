//! Every folder of `fixtures`.

use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;

use crate::chronicle::{Home, chronicle};

fn cases() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let entries = fs::read_dir(fixtures).unwrap();
    let mut cases: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    cases
}

#[tokio::test]
async fn each_conversation_becomes_a_session() {
    let cases = cases();
    assert!(cases.len() >= 9, "{cases:?}");
    for case in cases {
        let home = Home::new();
        let imported = home.import(&case.join("input.jsonl")).await.unwrap();
        let told = chronicle(&home, &imported).await;
        expect_file![case.join("expected.txt")].assert_eq(&told);
    }
}

/// What providers ask of a request.
#[tokio::test]
async fn every_call_has_its_answer_behind_it() {
    for case in cases() {
        let home = Home::new();
        let imported = home.import(&case.join("input.jsonl")).await.unwrap();
        let items = home.history(imported.session).await;
        let mut open = Vec::new();
        for item in &items {
            if let Some(call) = item.open_call() {
                open.push(call.clone());
            } else if let Some(call) = item.answered_call() {
                let asked = open.iter().position(|open| open == call);
                open.remove(asked.unwrap_or_else(|| panic!("{case:?}: {call} was not asked")));
            } else if item.assistant_message().is_none() {
                assert_eq!(open, [], "{case:?}: {item:?}");
            }
        }
        assert_eq!(open, [], "{case:?}");
    }
}
