use std::fs;

use super::*;

fn doc_text(cwd: &Path, instructions: &Instructions) -> (String, Vec<String>) {
    let doc = project_doc(cwd, instructions);
    let text = doc.message.as_ref().and_then(text_of).unwrap_or_default();
    (text.to_owned(), doc.warnings)
}

#[test]
fn instructions_are_gathered_from_the_root_down() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let inner = root.join("a/b");
    fs::create_dir_all(root.join(".git")).unwrap();
    fs::create_dir_all(&inner).unwrap();
    fs::write(root.join("AGENTS.md"), "rule of the root").unwrap();
    fs::write(root.join("a/AGENTS.md"), "shadowed").unwrap();
    fs::write(root.join("a/AGENTS.override.md"), "rule of a").unwrap();
    let (text, warnings) = doc_text(&inner, &Instructions::default());
    assert_eq!(warnings, Vec::<String>::new());
    assert!(
        text.find("rule of the root") < text.find("rule of a"),
        "{text}"
    );
    assert!(!text.contains("shadowed"), "{text}");
}

#[test]
fn without_a_project_root_only_the_working_directory_counts() {
    let dir = tempfile::tempdir().unwrap();
    let inner = dir.path().join("inner");
    fs::create_dir_all(&inner).unwrap();
    fs::write(dir.path().join("AGENTS.md"), "outer").unwrap();
    fs::write(inner.join("AGENTS.md"), "own").unwrap();
    let instructions = Instructions {
        project: ProjectDocSettings {
            root_markers: vec!["no-such-marker".to_owned()],
            ..ProjectDocSettings::default()
        },
        ..Instructions::default()
    };
    let (text, _) = doc_text(&inner, &instructions);
    assert!(text.contains("own") && !text.contains("outer"), "{text}");
}

#[test]
fn what_does_not_fit_is_cut_between_characters_and_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("AGENTS.md"), "ää").unwrap();
    let instructions = Instructions {
        project: ProjectDocSettings {
            bytes_max: 3,
            ..ProjectDocSettings::default()
        },
        ..Instructions::default()
    };
    let (text, warnings) = doc_text(dir.path(), &instructions);
    assert!(text.contains("\nä\n"), "{text}");
    assert_eq!(warnings.len(), 1);
    assert!(
        warnings[0].contains("only 2 of its 4 bytes fit"),
        "{warnings:?}"
    );
}

#[test]
fn a_file_that_is_not_text_is_told_and_skipped() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("AGENTS.md"), [0xff, 0xfe, 0x00]).unwrap();
    let (text, warnings) = doc_text(dir.path(), &Instructions::default());
    assert_eq!(text, "");
    assert!(warnings[0].contains("was not read"), "{warnings:?}");
}

#[test]
fn personality_fills_its_placeholder_or_leaves_nothing() {
    let base = Some("before {{personality}} after");
    assert_eq!(
        instructions(base, Some(Personality::None), None),
        "before  after"
    );
    assert_eq!(instructions(base, None, None), "before  after");
    assert!(instructions(base, Some(Personality::Friendly), None).contains("warm"));
    assert!(instructions(base, Some(Personality::Pragmatic), None).contains("direct"));
}

#[test]
fn a_role_comes_last() {
    let text = instructions(Some("base\n\n"), None, Some("You review.\n"));
    assert_eq!(text, "base\n\nYou review.\n");
}
