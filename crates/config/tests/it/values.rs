//! Typed sections, and what is said about values that do not fit.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use serde::Deserialize;
use troupe_config::KeyPath;

use crate::home::Home;

#[derive(Debug, Deserialize, PartialEq)]
struct Settings {
    model: String,
    retries: u32,
    mode: Option<Mode>,
    #[serde(default)]
    roots: Vec<String>,
    #[serde(default)]
    servers: BTreeMap<String, Server>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    ReadOnly,
    Write { network: bool },
}

#[derive(Debug, Deserialize, PartialEq)]
struct Server {
    url: String,
    #[serde(default)]
    ratio: Option<f64>,
}

fn check(user: &str, expected: Expect) {
    let home = Home::new().user(user);
    let found = home
        .load()
        .and_then(|config| config.get::<Settings>(&KeyPath::root()));
    let shown = match found {
        Ok(settings) => format!("{settings:?}"),
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&home.shown(&shown));
}

#[test]
fn good_values() {
    check(
        "mode = 'read-only'\nroots = ['/a', '/b']\n[servers.x]\nurl = 'u'\nratio = 0.5\n",
        expect![[
            r#"Settings { model: "built-in", retries: 4, mode: Some(ReadOnly), roots: ["/a", "/b"], servers: {"x": Server { url: "u", ratio: Some(0.5) }} }"#
        ]],
    );
    check(
        "mode.write = { network = true }",
        expect![[
            r#"Settings { model: "built-in", retries: 4, mode: Some(Write { network: true }), roots: [], servers: {} }"#
        ]],
    );
}

#[test]
fn bad_values_name_file_line_key_expected_and_found() {
    check(
        "\nmodel = 5",
        expect!["HOME/config.toml:2: model: expected a string, found integer `5`"],
    );
    check(
        "retries = -1",
        expect!["HOME/config.toml:1: retries: expected u32, found integer `-1`"],
    );
    check(
        "retries = '4'",
        expect![[r#"HOME/config.toml:1: retries: expected u32, found string "4""#]],
    );
    check(
        "mode = 'readonly'",
        expect![[
            r#"HOME/config.toml:1: mode: expected one of "read-only", "write", found "readonly" (did you mean "read-only"?)"#
        ]],
    );
    check(
        "mode = 3",
        expect![[r#"HOME/config.toml:1: mode: expected one of "read-only", "write", found 3"#]],
    );
    check(
        "[mode.write]\nnetwork = 'yes'",
        expect![[
            r#"HOME/config.toml:2: mode.write.network: expected a boolean, found string "yes""#
        ]],
    );
    check(
        "roots = [\n  '/a',\n  2,\n]",
        expect!["HOME/config.toml:3: roots.1: expected a string, found integer `2`"],
    );
    check(
        "[servers.x]\nratio = 1.5",
        expect![[r#"HOME/config.toml:1: servers.x: the key "url" is missing"#]],
    );
    check(
        "servers = []",
        expect!["HOME/config.toml:1: servers: expected a map, found sequence"],
    );
}

#[test]
fn text_that_is_not_toml_is_shown_with_its_place() {
    check(
        "model = 'a'\nretries = = 3\n",
        expect![[r#"
            HOME/config.toml:2:11: extra `=`, expected nothing
              |
            2 | retries = = 3
              |           ^"#]],
    );
    check(
        "a = 1\na = 2\n",
        expect![[r#"
            HOME/config.toml:2:1: duplicate key
              |
            2 | a = 2
              | ^"#]],
    );
    check(
        "é = 'x",
        expect![[r#"
        HOME/config.toml:1:1: invalid unquoted key, expected letters, numbers, `-`, `_`
          |
        1 | é = 'x
          | ^"#]],
    );
    check(
        "a = 99999999999999999999",
        expect![[r#"
        HOME/config.toml:1:5: the number does not fit 64 bits
          |
        1 | a = 99999999999999999999
          |     ^"#]],
    );
}

#[test]
fn hostile_files_are_refused() {
    let deep = format!("a = {}", "[".repeat(100_000));
    let home = Home::new().user(&deep);
    assert!(home.load().is_err());

    let large = format!("a = '{}'", "x".repeat(2_000_000));
    let home = Home::new().user(&large);
    assert_eq!(
        home.shown(&home.load().unwrap_err().to_string()),
        "HOME/config.toml is larger than 1048576 bytes"
    );

    let home = Home::new();
    std::fs::write(home.path("config.toml"), b"a = '\xff'").unwrap();
    assert_eq!(
        home.shown(&home.load().unwrap_err().to_string()),
        "cannot read HOME/config.toml: stream did not contain valid UTF-8"
    );
}

#[test]
fn a_section_is_read_alone_and_an_absent_one_is_empty() {
    let config = Home::new().user("[servers.x]\nurl = 'u'\n").load().unwrap();
    let server: Server = config.get(&["servers", "x"].into()).unwrap();
    assert_eq!(server.url, "u");
    let none: BTreeMap<String, Server> = config.get(&["elsewhere"].into()).unwrap();
    assert!(none.is_empty());
}
