use super::*;

fn command(sandbox: SandboxChoice) -> [ApprovedAction; 1] {
    [ApprovedAction::Command {
        argv: vec!["make".to_owned()],
        cwd: "/srv".into(),
        sandbox,
        reach: ApprovalReach::Words,
    }]
}

const MODES: [SandboxMode; 3] = [
    SandboxMode::ReadOnly,
    SandboxMode::WorkspaceWrite,
    SandboxMode::DangerFullAccess,
];

/// Who is not asked after a yes in a writable workspace.
fn unasked(sandbox: SandboxChoice) -> [bool; 3] {
    let consent = ApprovalMemory::default();
    consent.remember(&command(sandbox), SandboxMode::WorkspaceWrite);
    MODES.map(|mode| consent.open(&command(sandbox), mode).is_none())
}

#[test]
fn a_yes_counts_for_all_but_lets_nobody_out_of_a_narrower_sandbox() {
    assert_eq!(unasked(SandboxChoice::Confined), [true, true, true]);
    assert_eq!(unasked(SandboxChoice::Unconfined), [false, true, true]);
}

#[test]
fn a_yes_inside_the_sandbox_is_none_to_leave_it() {
    let consent = ApprovalMemory::default();
    consent.remember(
        &command(SandboxChoice::Confined),
        SandboxMode::WorkspaceWrite,
    );
    let leaving = command(SandboxChoice::Unconfined);
    assert!(
        consent
            .open(&leaving, SandboxMode::WorkspaceWrite)
            .is_some()
    );
    let edit = |sandbox| {
        [ApprovedAction::Edit {
            path: "/srv/file".into(),
            sandbox,
            shown: None,
        }]
    };
    consent.remember(&edit(SandboxChoice::Confined), SandboxMode::WorkspaceWrite);
    let outside = edit(SandboxChoice::Unconfined);
    assert!(
        consent
            .open(&outside, SandboxMode::WorkspaceWrite)
            .is_some()
    );
}

#[test]
fn the_same_question_is_settled_where_it_is_open() {
    let consent = ApprovalMemory::default();
    let inside = command(SandboxChoice::Confined);
    let leaving = command(SandboxChoice::Unconfined);
    let mode = SandboxMode::WorkspaceWrite;
    let (_same, mut same) = consent.open(&inside, mode).unwrap();
    let (_other, mut other) = consent.open(&leaving, mode).unwrap();
    let (_narrow, mut narrow) = consent.open(&leaving, SandboxMode::ReadOnly).unwrap();
    let (gone, mut withdrawn) = consent.open(&inside, mode).unwrap();
    drop(gone);
    consent.remember(&inside, mode);
    assert_eq!(same.try_recv(), Ok(ReviewDecision::ApprovedForSession));
    assert!(withdrawn.try_recv().is_err());
    assert!(other.try_recv().is_err());
    consent.remember(&leaving, mode);
    assert_eq!(other.try_recv(), Ok(ReviewDecision::ApprovedForSession));
    assert!(narrow.try_recv().is_err());
}

#[test]
fn what_is_written_down_settles_what_is_open_and_is_not_remembered() {
    let consent = ApprovalMemory::default();
    let matter = command(SandboxChoice::Confined);
    let mode = SandboxMode::WorkspaceWrite;
    let (_open, mut settled) = consent.open(&matter, mode).unwrap();
    consent.settle(&matter, mode);
    assert_eq!(settled.try_recv(), Ok(ReviewDecision::Approved));
    assert!(consent.open(&matter, mode).is_some());
}

#[test]
fn nothing_is_agreed_to_by_nothing() {
    let consent = ApprovalMemory::default();
    assert!(consent.open(&[], SandboxMode::DangerFullAccess).is_some());
}
