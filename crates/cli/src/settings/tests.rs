use std::path::{Path, PathBuf};

use expect_test::{Expect, expect, expect_file};
use troupe_agents::{Family, RecoveryPolicy};
use troupe_config::{Config, ConfigInputs, load};
use troupe_protocol::policy::SandboxPolicy;
use troupe_protocol::spawn::CallbackConfig;
use troupe_tree::TreeLimits;

use super::{Settings, defaults, reference, schema, schema_of_types};

fn config(arguments: &[&str]) -> Config {
    let arguments: Vec<String> = arguments.iter().map(|&text| text.to_owned()).collect();
    load(&ConfigInputs {
        defaults: defaults(),
        arguments: &arguments,
        ..ConfigInputs::default()
    })
    .unwrap()
}

fn check_error(argument: &str, expected: Expect) {
    let error = Settings::read(&config(&[argument])).unwrap_err();
    expected.assert_eq(&error.to_string());
}

#[test]
fn the_defaults_are_complete_and_known() {
    let config = config(&[]);
    Settings::read(&config).unwrap();
    assert_eq!(config.unknown_keys(&schema()), []);
}

#[test]
fn keys_of_the_codex_family_are_known() {
    let config = config(&[
        "model=m",
        "model_reasoning_effort=high",
        "sandbox_workspace_write.network_access=true",
        "web_search=disabled",
        "mcp_servers.x={command='c', args=['a'], env={K='v'}, startup_timeout_sec=5}",
        "profiles.p={model='other', sandbox_mode='read-only'}",
        "projects.\"/x\".trust_level=trusted",
    ]);
    assert_eq!(config.unknown_keys(&schema()), []);
    let settings = Settings::read(&config).unwrap();
    assert_eq!(settings.integrations.warnings(), [""; 0]);
}

#[test]
fn answers_are_waited_for_as_long_as_is_said_or_for_ever() {
    let time_max = |words: &[&str]| {
        let settings = Settings::read(&config(words));
        settings.map(|settings| settings.conversation.answer_time_max())
    };
    assert_eq!(time_max(&[]).unwrap(), None);
    let half_a_minute = time_max(&["user_input_timeout_s=30"]).unwrap();
    assert_eq!(half_a_minute, Some(std::time::Duration::from_secs(30)));
    assert!(time_max(&["user_input_timeout_s=0"]).is_err());
}

#[test]
fn unknown_keys_are_found_in_profiles_too() {
    let config = config(&["profiles.p={modle='other'}"]);
    let unknown: Vec<String> = config
        .unknown_keys(&schema())
        .iter()
        .map(|unknown| unknown.key.to_string())
        .collect();
    assert_eq!(unknown, ["profiles.p.modle"]);
}

#[test]
fn a_bad_value_is_an_error() {
    check_error(
        "sandbox_mode=readonly",
        expect![[
            r#"command line (-c sandbox_mode=readonly): sandbox_mode: expected one of "read-only", "workspace-write", "danger-full-access", found "readonly" (did you mean "read-only"?)"#
        ]],
    );
    check_error(
        "model_context_window=big",
        expect![[
            r#"command line (-c model_context_window=big): model_context_window: expected a nonzero u64, found string "big""#
        ]],
    );
    check_error(
        "projects.\"/x\".trust_level=yes",
        expect![[
            r#"command line (-c projects."/x".trust_level=yes): projects."/x".trust_level: expected one of "trusted", "untrusted", found "yes""#
        ]],
    );
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error() {
    check_error(
        "mcp_servers.x.url='x'",
        expect![[
            r#"command line (-c mcp_servers.x.url='x'): mcp_servers.x: url "x" begins neither with http:// nor https://"#
        ]],
    );
    check_error(
        "mcp_servers.x={command='c', default_tools_approval_mode='always'}",
        expect![[
            r#"command line (-c mcp_servers.x={command='c', default_tools_approval_mode='always'}): mcp_servers.x.default_tools_approval_mode: expected one of "auto", "prompt", "writes", "approve", found "always""#
        ]],
    );
}

#[test]
fn a_tree_is_bounded_by_what_makes_sense() {
    check_error(
        "agents.max_threads=0",
        expect![
            "command line (-c agents.max_threads=0): agents.max_threads: expected a nonzero usize, found integer `0`"
        ],
    );
    check_error(
        "agents.on_limit=refuse",
        expect![[
            r#"command line (-c agents.on_limit=refuse): agents.on_limit: expected one of "queue", "error", found "refuse""#
        ]],
    );
    check_error(
        "agents.tools=['agnts']",
        expect![[
            r#"command line (-c agents.tools=['agnts']): agents.tools.0: expected one of "agents", "sessions", "subagents", found "agnts" (did you mean "agents"?)"#
        ]],
    );
    check_error(
        "agents.on_resume=go",
        expect![[
            r#"command line (-c agents.on_resume=go): agents.on_resume: expected one of "leave", "continue", found "go""#
        ]],
    );
    check_error(
        "agents.callback.template=1",
        expect![
            "command line (-c agents.callback.template=1): agents.callback.template: expected a string, found integer `1`"
        ],
    );
}

#[test]
fn the_tools_of_the_tree_can_be_switched_off() {
    let families = |arguments: &[&str]| {
        let settings = Settings::read(&config(arguments)).unwrap();
        settings.agents.families().to_vec()
    };
    assert_eq!(families(&[]), [Family::Agents]);
    assert_eq!(
        families(&["agents.tools=['subagents', 'sessions']"]),
        [Family::Subagents, Family::Sessions]
    );
    assert_eq!(families(&["agents.tools=[]"]), []);
    assert_eq!(families(&["agents.enabled=false"]), []);
}

#[test]
fn the_defaults_are_those_of_the_tree() {
    let agents = Settings::read(&config(&[])).unwrap().agents;
    assert_eq!(agents.limits(), TreeLimits::default());
    assert_eq!(agents.callback, CallbackConfig::default());
    assert_eq!(agents.recovery(), RecoveryPolicy::default());
}

#[test]
fn writable_roots() {
    let policy = |roots: &str| {
        let config = config(&[&format!("sandbox_workspace_write.writable_roots={roots}")]);
        Settings::read(&config)
            .unwrap()
            .rights
            .sandbox_policy(
                &config,
                Some(Path::new("/home/me")),
                &[PathBuf::from("/added")],
            )
            .map_err(|error| error.to_string())
    };
    let SandboxPolicy::WorkspaceWrite { writable_roots, .. } = policy("['/a', '~/b']").unwrap()
    else {
        panic!("the default mode is workspace-write");
    };
    assert_eq!(
        writable_roots,
        [
            Path::new("/a"),
            Path::new("/home/me/b"),
            Path::new("/added")
        ]
    );
}

/// Editors use it to complete and check `config.toml`.
#[test]
fn the_generated_schema_is_checked_in() {
    let schema = serde_json::to_string_pretty(&schema_of_types()).unwrap() + "\n";
    expect_file!["../../schema/config.schema.json"].assert_eq(&schema);
}

/// The page for people.
#[test]
fn every_key_is_on_the_generated_page() {
    let defaults = toml::from_str(defaults()).unwrap();
    let page = reference::page(&schema_of_types(), &defaults);
    expect_file!["../../../../docs/config.md"].assert_eq(&page);
}

/// A value that has the right type can still be one that cannot be meant.
#[test]
fn values_that_cannot_be_meant_are_refused() {
    let texts = [
        "model=''",
        "model_provider=nosuch",
        "openai_base_url=zz",
        "model_providers.x.base_url='ftp://x'",
        "model_providers.x.base_url=''",
        "model_providers.openai.http_headers={'a b'='c'}",
        "model_providers.openai.env_http_headers={'a b'='C'}",
        "model_providers.openai.stream_idle_timeout_ms=0",
        "sandbox_workspace_write.writable_roots=['below']",
        "model_context_window=0",
        "model_auto_compact_token_limit=0",
        "profiles.p={sandbox_mode='readonly'}",
        "profiles.p={model_provider='nosuch'}",
        "profiles.p=1",
    ];
    let refused: Vec<String> = texts
        .iter()
        .map(|text| match Settings::read(&config(&[text])) {
            Ok(_) => format!("{text} is taken"),
            Err(error) => error.to_string(),
        })
        .collect();
    expect![[r#"
        command line (-c model=''): model: expected a model's name, found ""; `troupe models` tells which there are
        command line (-c model_provider=nosuch): model_provider: there is no model provider "nosuch"; known are anthropic, llamacpp, ollama, openai, vllm
        command line (-c openai_base_url=zz): openai_base_url: expected an http or https URL, found "zz"
        command line (-c model_providers.x.base_url='ftp://x'): model_providers.x.base_url: expected an http or https URL, found "ftp://x"
        command line (-c model_providers.x.base_url=''): model_providers.x.base_url: expected an http or https URL, found ""
        command line (-c model_providers.openai.http_headers={'a b'='c'}): model_providers.openai.http_headers."a b": expected a header's name and value, and HTTP forbids one of them
        command line (-c model_providers.openai.env_http_headers={'a b'='C'}): model_providers.openai.env_http_headers."a b": expected a header's name and value, and HTTP forbids one of them
        command line (-c model_providers.openai.stream_idle_timeout_ms=0): model_providers.openai.stream_idle_timeout_ms: expected a nonzero u64, found integer `0`
        command line (-c sandbox_workspace_write.writable_roots=['below']): sandbox_workspace_write.writable_roots: expected absolute paths, found "below"
        command line (-c model_context_window=0): model_context_window: expected a nonzero u64, found integer `0`
        command line (-c model_auto_compact_token_limit=0): model_auto_compact_token_limit: expected a nonzero u64, found integer `0`
        command line (-c profiles.p={sandbox_mode='readonly'}): sandbox_mode: expected one of "read-only", "workspace-write", "danger-full-access", found "readonly" (did you mean "read-only"?)
        command line (-c profiles.p={model_provider='nosuch'}): model_provider: there is no model provider "nosuch"; known are anthropic, llamacpp, ollama, openai, vllm
        command line (-c profiles.p=1): profiles.p: expected a map, found integer `1`
    "#]]
    .assert_eq(&(refused.join("\n") + "\n"));
    // A provider without an address is one that is not used.
    Settings::read(&config(&["model_providers.x.name='X'"])).unwrap();
}
