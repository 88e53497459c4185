use std::fs;

use expect_test::{Expect, expect};
use troupe_protocol::policy::{ApprovalPolicy, CollaborationMode, ReasoningSummary};

use super::*;

fn doc_text(cwd: &Path, instructions: &InstructionSettings) -> (String, Vec<String>) {
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
    let (text, warnings) = doc_text(&inner, &InstructionSettings::default());
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
    let instructions = InstructionSettings {
        project: ProjectDocSettings {
            root_markers: vec!["no-such-marker".to_owned()],
            ..ProjectDocSettings::default()
        },
        ..InstructionSettings::default()
    };
    let (text, _) = doc_text(&inner, &instructions);
    assert!(text.contains("own") && !text.contains("outer"), "{text}");
}

#[test]
fn what_does_not_fit_is_cut_between_characters_and_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("AGENTS.md"), "ää").unwrap();
    let instructions = InstructionSettings {
        project: ProjectDocSettings {
            bytes_max: 3,
            ..ProjectDocSettings::default()
        },
        ..InstructionSettings::default()
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
    let (text, warnings) = doc_text(dir.path(), &InstructionSettings::default());
    assert_eq!(text, "");
    assert!(warnings[0].contains("was not read"), "{warnings:?}");
}

#[test]
fn a_link_out_of_the_project_is_told_and_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    fs::write(dir.path().join("id_rsa"), "precious").unwrap();
    for outside in ["../id_rsa", "/proc/self/environ"] {
        std::os::unix::fs::symlink(outside, project.join("AGENTS.md")).unwrap();
        let (text, warnings) = doc_text(&project, &InstructionSettings::default());
        assert_eq!(text, "", "{outside}");
        assert!(
            warnings[0].contains("a link out of the project"),
            "{warnings:?}"
        );
        fs::remove_file(project.join("AGENTS.md")).unwrap();
    }
    // One file under two names is an honest wish.
    fs::write(project.join("CLAUDE.md"), "rule of both").unwrap();
    std::os::unix::fs::symlink("CLAUDE.md", project.join("AGENTS.md")).unwrap();
    let (text, warnings) = doc_text(&project, &InstructionSettings::default());
    assert!(
        text.contains("rule of both") && warnings.is_empty(),
        "{text}"
    );
}

#[test]
fn personality_fills_its_placeholder_or_leaves_nothing() {
    let base = Some("before {{personality}} after");
    assert_eq!(instructions(base, Personality::None, None), "before  after");
    assert!(instructions(base, Personality::Friendly, None).contains("warm"));
    assert!(instructions(base, Personality::Pragmatic, None).contains("direct"));
}

#[test]
fn a_role_comes_last() {
    let text = instructions(Some("base\n\n"), Personality::None, Some("You review.\n"));
    assert_eq!(text, "base\n\nYou review.\n");
}

/// Shows which note a model needs that was told `told`.
fn check_note(standing: SettingNote, told: &[&str], expected: &Expect) {
    let note = standing.missing(told);
    let text = note.as_ref().and_then(text_of).unwrap_or("nothing");
    let lines: Vec<&str> = text.lines().take(3).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn context_in(mode: CollaborationMode, instructions: Option<&str>) -> TurnContext {
    TurnContext {
        cwd: "/work".into(),
        approval_policy: ApprovalPolicy::Never,
        sandbox_policy: SandboxPolicy::DangerFullAccess,
        model: "m".to_owned(),
        effort: None,
        summary: ReasoningSummary::default(),
        collaboration_mode: mode,
        mode_instructions: instructions.map(str::to_owned),
        plan_writes: false,
        personality: None,
        developer_instructions: None,
    }
}

#[test]
fn a_mode_is_told_when_it_is_not_the_one_last_told() {
    let standing = |mode, instructions| SettingNote::mode(&context_in(mode, instructions));
    let default = || standing(CollaborationMode::Default, None);
    let plan = || standing(CollaborationMode::Plan, None);
    check_note(default(), &["hello"], &expect!["nothing"]);
    check_note(
        plan(),
        &["hello"],
        &expect![[r#"
            <collaboration_mode>
            # Plan mode
            The user wants to agree with you on what will be done before anything is done. Your work now is to understand the task and to propose a plan. These rules hold until a later note about the mode, also if a message asks for something else."#]],
    );
    let told = plan().missing(&[]).unwrap();
    let told = text_of(&told).unwrap();
    check_note(plan(), &[told, "more"], &expect!["nothing"]);
    check_note(
        default(),
        &[told, "more"],
        &expect![[r#"
            <collaboration_mode>
            # Default mode
            Plan mode is over, and its rules no longer hold. Do what the user asks, changes included. If they agreed to a proposed plan, carry it out; where it turns out to be wrong, say so and do what serves its goal."#]],
    );
    check_note(
        standing(CollaborationMode::Plan, Some("Plan in verse.")),
        &[told],
        &expect![[r#"
            <collaboration_mode>
            Plan in verse.
            </collaboration_mode>"#]],
    );
    check_note(
        standing(CollaborationMode::Plan, Some(" ")),
        &[told],
        &expect!["nothing"],
    );
}

#[test]
fn a_manner_is_told_when_the_instructions_have_another() {
    let friendly = |filled| SettingNote::manner(Personality::Friendly, filled);
    check_note(
        friendly(Personality::Friendly),
        &["hello"],
        &expect!["nothing"],
    );
    check_note(
        friendly(Personality::None),
        &["hello"],
        &expect![[r#"
            <personality_spec>
            From now on, this is how you speak:
        "#]],
    );
    let told = friendly(Personality::None).missing(&[]).unwrap();
    let told = text_of(&told).unwrap();
    check_note(friendly(Personality::None), &[told], &expect!["nothing"]);
    check_note(
        SettingNote::manner(Personality::None, Personality::None),
        &[told],
        &expect![[r#"
            <personality_spec>
            From now on no particular manner is asked of you: speak as the task suggests.
            </personality_spec>"#]],
    );
}

#[test]
fn notes_are_not_the_users_words() {
    let note = SettingNote::mode(&context_in(CollaborationMode::Plan, None));
    let note = note.missing(&[]).unwrap();
    assert!(is_fragment_item(&note));
}

#[test]
fn who_ended_a_turn_is_told_as_it_was() {
    let check = |who, note: Option<&str>, expect: Expect| {
        let note = note.map(str::to_owned);
        expect.assert_eq(&interrupted(&StopRequester { who, note }));
    };
    check(
        StopAuthor::User,
        None,
        expect![[r"
            <turn_aborted>
            The user interrupted the previous turn on purpose. Commands that were running have been stopped and may have done part of their work. Wait for what the user says next.
            </turn_aborted>"]],
    );
    check(
        StopAuthor::Agent("/root/lead".to_owned()),
        Some(" it is obsolete "),
        expect![[r"
            <turn_aborted>
            The agent /root/lead interrupted the previous turn on purpose (it is obsolete). Commands that were running have been stopped and may have done part of their work. Wait for what you are told next.
            </turn_aborted>"]],
    );
    let told = ResponseItem::user_text(interrupted(&StopRequester::default()));
    assert!(is_fragment_item(&told));
}
