use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::ServerConfig;

fn check_error(keys: Value, expected: Expect) {
    let error = serde_json::from_value::<ServerConfig>(keys).unwrap_err();
    expected.assert_eq(&error.to_string());
}

fn read(keys: Value) -> ServerConfig {
    serde_json::from_value(keys).unwrap()
}

#[test]
fn a_program_and_an_address_are_doors() {
    let stdio = read(json!({
        "command": "server", "args": ["-v"], "env": {"A": "1"},
        "env_vars": ["B", {"name": "C", "source": "local"}, {"name": "D"}],
    }));
    expect![[r#"
        Stdio {
            command: "server",
            args: [
                "-v",
            ],
            env: {
                "A": "1",
            },
            env_vars: [
                "B",
                "C",
                "D",
            ],
            cwd: None,
        }
    "#]]
    .assert_debug_eq(&stdio.door);
    let http = read(json!({"url": "https://x/mcp", "bearer_token_env_var": "T"}));
    assert_eq!(http.secret_variables(), ["T"]);
}

#[test]
fn a_server_has_one_door() {
    check_error(
        json!({"command": "a", "url": "http://b"}),
        expect!["it has both command and url; keep one of them"],
    );
    check_error(
        json!({"enabled": true}),
        expect!["it has neither command nor url; set one of them"],
    );
    check_error(
        json!({"command": " "}),
        expect!["command is empty; name the program to start"],
    );
    check_error(
        json!({"url": "ftp://b"}),
        expect![[r#"url "ftp://b" begins neither with http:// nor https://"#]],
    );
}

#[test]
fn keys_of_the_other_door_are_refused() {
    check_error(
        json!({"command": "a", "http_headers": {}}),
        expect!["http_headers belongs to a server with a url; remove it"],
    );
    check_error(
        json!({"url": "http://b", "args": []}),
        expect!["args belongs to a server with a command; remove it"],
    );
}

#[test]
fn times_make_sense() {
    for seconds in [json!(0), json!(-1), json!(1e300)] {
        let keys = json!({"command": "a", "tool_timeout_sec": seconds});
        assert!(serde_json::from_value::<ServerConfig>(keys).is_err());
    }
    let config = read(json!({"command": "a", "startup_timeout_sec": 0.5}));
    assert_eq!(config.startup_time_max.as_millis(), 500);
    assert_eq!(config.tool_time_max.as_secs(), 300);
}

#[test]
fn tools_are_chosen_by_name() {
    let config = read(json!({
        "command": "a", "enabled_tools": ["x", "y"], "disabled_tools": ["y"],
    }));
    let offered: Vec<&str> = ["x", "y", "z"]
        .into_iter()
        .filter(|tool| config.choice.allows(tool))
        .collect();
    assert_eq!(offered, ["x"]);
}
