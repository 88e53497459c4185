use std::fs;

use expect_test::expect;
use tempfile::TempDir;

use super::*;
use crate::families::example::check;

const MINER: &str = "---
description: Digs.
model: deep
reasoning_effort: high
read_only: true
allow_list: [read_file, \"grep_*\"]
deny_list: [spawn_agent]
agent_names:
  - name: brief
    description: Says little.
    model: fast
---
Dig.

<!-- agent_name: brief -->
Dig, and say little.
";

/// A project with these role files and nothing in the home.
fn project(files: &[(&str, &str)]) -> (TempDir, RoleLibrary) {
    let directory = TempDir::new().unwrap();
    let roles = directory.path().join(".troupe/agents");
    fs::create_dir_all(&roles).unwrap();
    for (name, text) in files {
        fs::write(roles.join(name), text).unwrap();
    }
    let roles = RoleLibrary::new(directory.path().join("home"));
    (directory, roles)
}

fn only(agent_type: &str, expanded: bool) -> ListAgentsArguments {
    ListAgentsArguments {
        agent_type: Some(agent_type.to_owned()),
        expanded,
    }
}

#[test]
fn a_role_is_told_in_brief_or_whole() {
    let (directory, roles) = project(&[("miner.md", MINER)]);
    check(
        listed(&roles, directory.path(), &only("miner", false)).unwrap(),
        expect![[r#"
            {
              "agents": [
                {
                  "agent_type": "miner",
                  "description": "Digs.",
                  "allow_list": [
                    "read_file",
                    "grep_*"
                  ],
                  "deny_list": [
                    "spawn_agent"
                  ],
                  "read_only": true,
                  "agent_names": [
                    {
                      "name": "brief",
                      "description": "Says little."
                    }
                  ]
                }
              ]
            }"#]],
    );
    check(
        listed(&roles, directory.path(), &only("miner", true)).unwrap(),
        expect![[r#"
            {
              "agents": [
                {
                  "agent_type": "miner",
                  "description": "Digs.",
                  "allow_list": [
                    "read_file",
                    "grep_*"
                  ],
                  "deny_list": [
                    "spawn_agent"
                  ],
                  "read_only": true,
                  "agent_names": [
                    {
                      "name": "brief",
                      "description": "Says little.",
                      "model": "fast",
                      "prompt": "Dig, and say little."
                    }
                  ],
                  "model": "deep",
                  "reasoning_effort": "high",
                  "default_prompt": "Dig."
                }
              ]
            }"#]],
    );
}

#[test]
fn a_broken_file_spoils_only_itself() {
    let (directory, roles) = project(&[
        ("miner.md", MINER),
        ("thief.md", "---\nread_only: yep\n---\n"),
    ]);
    let catalogue = listed(&roles, directory.path(), &ListAgentsArguments::default()).unwrap();
    let names: Vec<&Value> = catalogue["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|role| &role["agent_type"])
        .collect();
    expect![[r#"["architect","default","explorer","linter_fixer","mathematician","miner","orchestrator","reviewer","tester","worker"]"#]].assert_eq(&json!(names).to_string());
    let errors = catalogue["errors"].to_string();
    let errors = errors.replace(&directory.path().display().to_string(), "<project>");
    expect![[r#"[{"path":"<project>/.troupe/agents/thief.md","error":"<project>/.troupe/agents/thief.md:2:12: expected `true` or `false`"}]"#]].assert_eq(&errors);
}

#[test]
fn an_unknown_role_is_answered_with_the_known_ones() {
    let (directory, roles) = project(&[]);
    let trouble = listed(&roles, directory.path(), &only("wizard", false)).unwrap_err();
    expect!["unknown role wizard; there are architect, default, explorer, linter_fixer, mathematician, orchestrator, reviewer, tester, worker"].assert_eq(&trouble.to_string());
}
