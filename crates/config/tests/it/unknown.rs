//! Keys that nobody reads.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use schemars::JsonSchema;
use troupe_config::{KeyPath, check_key};

use crate::home::Home;

/// Only its schema is used.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema is what the tests need")]
struct Settings {
    model: Option<String>,
    retries: Option<u32>,
    sandbox_workspace_write: Option<Sandbox>,
    servers: BTreeMap<String, Server>,
    tools: Vec<Server>,
    anything: BTreeMap<String, serde_json::Value>,
    profile: Option<String>,
    profiles: BTreeMap<String, Settings>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema is what the tests need")]
struct Sandbox {
    network_access: bool,
}

#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "the schema is what the tests need")]
enum Server {
    Local { command: String },
    Remote { url: String },
}

fn check(home: &Home, expected: Expect) {
    let schema = schemars::schema_for!(Settings).to_value();
    let unknown = home.load().unwrap().unknown_keys(&schema);
    let lines: Vec<String> = unknown.iter().map(ToString::to_string).collect();
    expected.assert_eq(&home.shown(&lines.join("\n")));
}

#[test]
fn known_keys_are_quiet() {
    let home = Home::new().user(
        "model = 'a'\n[sandbox_workspace_write]\nnetwork_access = true\n\
         [servers.any-name]\ncommand = 'c'\n[servers.other]\nurl = 'u'\n\
         [anything.at]\nall = 1\n[profiles.p]\nmodel = 'b'\n",
    );
    check(&home, expect![""]);
}

#[test]
fn an_unknown_key_is_named_with_place_and_neighbour() {
    let home = Home::new()
        .user(
            "modle = 'a'\nnotify = ['x']\n\n[sandbox_workspace_write]\nnetwork_acess = true\n\
             [servers.x]\ncomand = 'c'\n[[tools]]\nulr = 'u'\n",
        )
        .argument("retry=3");
    check(
        &home,
        expect![[r#"
            HOME/config.toml:1: unknown key modle (did you mean model?)
            HOME/config.toml:2: unknown key notify
            command line (-c retry=3): unknown key retry
            HOME/config.toml:5: unknown key sandbox_workspace_write.network_acess (did you mean sandbox_workspace_write.network_access?)
            HOME/config.toml:7: unknown key servers.x.comand (did you mean servers.x.command?)
            HOME/config.toml:9: unknown key tools.0.ulr (did you mean tools.0.url?)"#]],
    );
}

#[test]
fn a_profile_is_checked_once_and_where_it_stands() {
    let home = Home::new()
        .user("[profiles.p]\nmodel = 'b'\nmodle = 'c'\n")
        .profile("p");
    check(
        &home,
        expect![
            "HOME/config.toml:3: unknown key profiles.p.modle (did you mean profiles.p.model?)"
        ],
    );
}

#[test]
fn a_key_is_looked_up_before_anybody_has_set_it() {
    let look_up = |key: &str| {
        let schema = schemars::schema_for!(Settings).to_value();
        let key = KeyPath::parse(key).unwrap();
        check_key(&schema, &key).map_err(|unknown| unknown.to_string())
    };
    for key in [
        "retries",
        "servers",
        "servers.mine.url",
        "anything.at.all",
        "profiles.fast.model",
    ] {
        assert_eq!(look_up(key), Ok(()), "{key}");
    }
    let refused = |text: &str| Err(text.to_owned());
    assert_eq!(
        look_up("servers.mine.ulr"),
        refused("there is no key servers.mine.ulr (did you mean servers.mine.url?)")
    );
    assert_eq!(look_up("weather"), refused("there is no key weather"));
}
