//! Rights only shrink, but for what a person granted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use expect_test::expect;
use proptest::prelude::*;
use troupe_process::{WritableRoots, writable_roots};
use troupe_protocol::policy::{SandboxMode, SandboxPolicy};
use troupe_protocol::spawn::ToolLists;

use super::example::{Offered, Other, check, parent, request, role, settled};
use crate::rights::{ParentRights, settle};
use crate::roles::{ToolPattern, ToolPolicy};

fn workspace(roots: &[&str], network_access: bool) -> SandboxPolicy {
    SandboxPolicy::WorkspaceWrite {
        writable_roots: roots.iter().map(PathBuf::from).collect(),
        network_access,
        exclude_tmpdir_env_var: false,
        exclude_slash_tmp: false,
    }
}

#[test]
fn a_read_only_role_reads_only() {
    let mut role = role();
    role.read_only = true;
    let mut request = request();
    request.turn.sandbox_policy = workspace(&["cache"], true);
    request.sandbox = Some(SandboxMode::WorkspaceWrite);
    check(
        &role,
        &request,
        expect![[r#"
            {
              "requested": {
                "sandbox_mode": "workspace-write"
              },
              "effective": {
                "agent_type": "worker",
                "model": "deep",
                "working_directory": "/srv/work",
                "sandbox_mode": "read-only",
                "network_access": false,
                "approval_policy": "on-request",
                "approvals": "route"
              },
              "why": [
                "sandbox read-only: the role worker may not write",
                "no network: sandbox read-only is without it"
              ]
            }"#]],
    );
}

#[test]
fn the_mode_that_the_parent_has_is_all_that_the_parent_has() {
    let mut request = request();
    request.turn.sandbox_policy = workspace(&["cache"], true);
    request.sandbox = Some(SandboxMode::WorkspaceWrite);
    let spec = settled(&role(), &request).spec;
    assert_eq!(spec.sandbox_policy, request.turn.sandbox_policy);
}

#[test]
fn less_than_the_parent_has_can_be_asked_for() {
    let mut request = request();
    request.turn.sandbox_policy = SandboxPolicy::DangerFullAccess;
    request.sandbox = Some(SandboxMode::WorkspaceWrite);
    check(
        &role(),
        &request,
        expect![[r#"
            {
              "requested": {
                "sandbox_mode": "workspace-write"
              },
              "effective": {
                "agent_type": "worker",
                "model": "deep",
                "working_directory": "/srv/work",
                "sandbox_mode": "workspace-write",
                "network_access": false,
                "approval_policy": "on-request",
                "approvals": "route"
              },
              "why": [
                "no network: sandbox workspace-write is without it"
              ]
            }"#]],
    );
}

#[test]
fn more_than_the_parent_has_is_refused() {
    let mut request = request();
    request.sandbox = Some(SandboxMode::DangerFullAccess);
    check(
        &role(),
        &request,
        expect![
            "sandbox_mode danger-full-access is more than this agent has (workspace-write); ask for workspace-write or less"
        ],
    );
    request.turn.sandbox_policy = SandboxPolicy::read_only();
    request.sandbox = Some(SandboxMode::WorkspaceWrite);
    check(
        &role(),
        &request,
        expect![
            "sandbox_mode workspace-write is more than this agent has (read-only); ask for read-only or less"
        ],
    );
}

#[test]
fn a_granted_directory_is_added_and_relative_roots_stay_where_they_are() {
    let mut request = request();
    request.turn.sandbox_policy = workspace(&["cache", "/var/lib"], false);
    request.working_directory = Some("/srv/other".into());
    check(
        &role(),
        &request,
        expect![[r#"
            {
              "requested": {
                "working_directory": "/srv/other"
              },
              "effective": {
                "agent_type": "worker",
                "model": "deep",
                "working_directory": "/srv/other",
                "sandbox_mode": "workspace-write",
                "writable_roots": [
                  "/srv/other",
                  "/srv/work",
                  "/srv/work/cache",
                  "/var/lib"
                ],
                "network_access": false,
                "approval_policy": "on-request",
                "approvals": "route"
              },
              "why": [
                "may write in /srv/other: granted"
              ]
            }"#]],
    );
}

#[test]
fn a_granted_directory_does_not_let_a_reader_write() {
    let mut role = role();
    role.read_only = true;
    let mut request = request();
    request.working_directory = Some("/srv/other".into());
    check(
        &role,
        &request,
        expect![[r#"
            {
              "requested": {
                "working_directory": "/srv/other"
              },
              "effective": {
                "agent_type": "worker",
                "model": "deep",
                "working_directory": "/srv/other",
                "sandbox_mode": "read-only",
                "network_access": false,
                "approval_policy": "on-request",
                "approvals": "route"
              },
              "why": [
                "sandbox read-only: the role worker may not write",
                "/srv/other is only read: sandbox read-only"
              ]
            }"#]],
    );
}

#[test]
fn a_tool_must_pass_the_lists_of_every_role_above() {
    let parent = ParentRights {
        tools: vec![ToolLists {
            allow: None,
            deny: vec!["spawn_agent".to_owned()],
            mcp_servers: None,
        }],
        ..parent()
    };
    let mut role = role();
    let unlimited = settle(&parent, &role, None, &request(), &Offered::default()).unwrap();
    assert_eq!(unlimited.spec.tools, parent.tools);
    role.tools = ToolPolicy {
        allow: Some(vec![ToolPattern::parse("read_*").unwrap()]),
        deny: Vec::new(),
    };
    let limited = settle(&parent, &role, None, &request(), &Offered::default()).unwrap();
    let tools = serde_json::to_string(&limited.spec.tools).unwrap();
    expect![[r#"[{"deny":["spawn_agent"]},{"allow":["read_*"]}]"#]].assert_eq(&tools);
    expect!["tools are limited by the role worker"].assert_eq(&limited.why.join("\n"));
}

/// Paths that are often below one another, some of them protected, some relative.
fn path() -> impl Strategy<Value = PathBuf> {
    let part = prop_oneof![
        Just("a"),
        Just("b"),
        Just(".git"),
        Just(".troupe"),
        Just("work")
    ];
    let base = prop_oneof![
        Just("/srv"),
        Just("/srv/work"),
        Just("/tmp"),
        Just("/"),
        Just("relative")
    ];
    (base, prop::collection::vec(part, 0..3)).prop_map(|(base, parts)| {
        let base = PathBuf::from(base);
        parts.iter().fold(base, |path, part| path.join(part))
    })
}

fn policy() -> impl Strategy<Value = SandboxPolicy> {
    let roots = prop::collection::vec(path(), 0..4);
    let workspace =
        (roots, any::<[bool; 3]>()).prop_map(|(writable_roots, [network, env, tmp])| {
            SandboxPolicy::WorkspaceWrite {
                writable_roots,
                network_access: network,
                exclude_tmpdir_env_var: env,
                exclude_slash_tmp: tmp,
            }
        });
    let read_only =
        any::<bool>().prop_map(|network_access| SandboxPolicy::ReadOnly { network_access });
    prop_oneof![1 => Just(SandboxPolicy::DangerFullAccess), 2 => read_only, 8 => workspace]
}

fn mode() -> impl Strategy<Value = Option<SandboxMode>> {
    prop_oneof![
        Just(None),
        Just(Some(SandboxMode::ReadOnly)),
        Just(Some(SandboxMode::WorkspaceWrite)),
        Just(Some(SandboxMode::DangerFullAccess)),
    ]
}

fn table(policy: &SandboxPolicy, cwd: &Path) -> WritableRoots {
    let env = BTreeMap::from([("TMPDIR".to_owned(), "/srv/tmp".to_owned())]);
    writable_roots(policy, cwd, &env)
}

proptest! {
    #[test]
    fn a_child_never_has_more_than_its_parent_and_what_was_granted(
        policy in policy(),
        asked in mode(),
        read_only in any::<bool>(),
        granted in prop::option::of(path()),
        paths in prop::collection::vec(path(), 20),
    ) {
        let mut role = role();
        role.read_only = read_only;
        let mut request = request();
        let cwd = request.turn.cwd.clone();
        request.turn.sandbox_policy = policy.clone();
        request.sandbox = asked;
        // The face hands over absolute paths only.
        request.working_directory = granted.map(|directory| cwd.join(directory));
        let Ok(settled) = settle(&parent(), &role, None, &request, &Offered::default()) else {
            prop_assert!(asked > Some(policy.mode()));
            return Ok(());
        };
        let spec = settled.spec;
        prop_assert!(spec.sandbox_policy.mode() <= policy.mode());
        prop_assert!(!spec.sandbox_policy.network_access() || policy.network_access());
        let (has, gets) = (table(&policy, &cwd), table(&spec.sandbox_policy, &spec.cwd));
        let roots = gets.writable.iter();
        for path in paths.iter().map(|path| cwd.join(path)).chain(roots.cloned()) {
            let is_granted = spec.sandbox_policy.mode() == SandboxMode::WorkspaceWrite
                && request.working_directory.as_ref().is_some_and(|to| path.starts_with(to));
            if gets.permits(&path) {
                prop_assert!(has.permits(&path) || is_granted, "{}", path.display());
                prop_assert!(!read_only, "{}", path.display());
            }
        }
    }
}

fn held_by(parent: &ParentRights, read_only: bool, asked: Option<SandboxMode>) -> Option<String> {
    let mut role = role();
    role.read_only = read_only;
    let mut request = request();
    request.sandbox = asked;
    let settled = settle(parent, &role, None, &request, &Offered::default()).unwrap();
    settled.spec.sandbox_held
}

#[test]
fn a_sandbox_that_was_narrowed_holds_for_all_below() {
    let root = parent();
    assert_eq!(held_by(&root, false, None), None);
    assert_eq!(
        held_by(&root, false, Some(SandboxMode::WorkspaceWrite)),
        None
    );
    let by_role = held_by(&root, true, None);
    expect!["the role worker is read-only"].assert_eq(by_role.as_deref().unwrap());
    let by_request = held_by(&root, false, Some(SandboxMode::ReadOnly));
    expect!["the agent was made with sandbox_mode read-only"]
        .assert_eq(by_request.as_deref().unwrap());

    let mut spec = settled(&role(), &request()).spec;
    spec.sandbox_held = by_request.clone();
    let narrowed = ParentRights {
        spec: Some(std::sync::Arc::new(spec)),
        ..root
    };
    assert_eq!(held_by(&narrowed, false, None), by_request);
}

/// What a child that is the program `other` is told to get, or why there is none.
fn program(tools: &[ToolLists], read_only: bool, network: Option<bool>) -> String {
    let parent = ParentRights {
        tools: tools.to_vec(),
        ..parent()
    };
    let mut role = role();
    role.read_only = read_only;
    let mut request = request();
    request.backend = Some("other".to_owned());
    let offered = Offered {
        other: Some(Other { network }),
        ..Offered::default()
    };
    match settle(&parent, &role, None, &request, &offered) {
        Ok(settled) => format!(
            "network {}; {}",
            settled.effective["network_access"],
            settled.why.join("; ")
        ),
        Err(trouble) => trouble.to_string(),
    }
}

fn denying(tools: &[&str]) -> ToolLists {
    ToolLists {
        deny: tools.iter().map(|&tool| tool.to_owned()).collect(),
        ..ToolLists::default()
    }
}

#[test]
fn a_program_that_could_not_be_kept_to_the_lists_is_refused() {
    let shell = denying(&["shell*", "spawn_agent"]);
    expect!["backend other is a program with tools of its own, which cannot be kept to the lists that hold for this child (deny_list: shell*); leave backend out, or use a role without these lists below an agent that has none"]
        .assert_eq(&program(&[shell], false, None));
    let allow = ToolLists {
        allow: Some(vec!["read_file".to_owned()]),
        mcp_servers: Some(vec!["docs".to_owned()]),
        ..ToolLists::default()
    };
    let text = program(&[allow], true, None);
    assert!(
        text.contains("(allow_list: read_file; mcp_servers: docs)"),
        "{text}"
    );
    // It has none of the tree's tools, and the kernel lets no reader write.
    let kept = denying(&["spawn_agent", "subagent_*", "apply_patch"]);
    assert!(program(std::slice::from_ref(&kept), true, None).starts_with("network false"));
    assert!(program(&[kept], false, None).contains("(deny_list: apply_patch)"));
}

#[test]
fn a_programs_network_is_the_childs_unless_the_user_says_otherwise() {
    expect!["network false; "].assert_eq(&program(&[], false, None));
    expect!["network true; network: [backends.other] in the configuration grants it, though sandbox workspace-write is without it here"]
        .assert_eq(&program(&[], false, Some(true)));
}
