//! Layers, as the binary sees them.

use expect_test::expect;
use serde_json::json;

use crate::client::Client;
use crate::machine::Machine;

#[test]
fn effective_values_have_origins() {
    let machine = Machine::bare();
    machine.write(
        "home/config.toml",
        "model = 'mine'\n[profiles.fast]\nmodel = 'quick'\n",
    );
    let run = machine.run(&["config", "model"]).succeeded();
    expect![[r#"
        model = "mine"  # DIR/home/config.toml:1
    "#]]
    .assert_eq(&machine.shown(&run.stdout));

    let run = machine.run(&["-p", "fast", "config", "model"]).succeeded();
    expect![[r#"
        model = "quick"  # DIR/home/config.toml:3
    "#]]
    .assert_eq(&machine.shown(&run.stdout));

    let run = machine
        .run(&[
            "-p",
            "fast",
            "config",
            "-c",
            "model=typed",
            "model",
            "--json",
        ])
        .succeeded();
    expect![[r#"
        {"key":"model","value":"typed","layer":"argument","file":null,"line":null}
    "#]]
    .assert_eq(&run.stdout);

    let run = machine
        .run(&["config", "--ignore-user-config", "model"])
        .succeeded();
    assert!(run.stdout.contains("built-in default"), "{}", run.stdout);
}

#[test]
fn an_unknown_key_of_hooks_warns_as_any_other() {
    let machine = Machine::bare();
    let hooks = "[[hooks.before_lunch]]\ncommand = 'x'\n[[hooks.before_tool]]\ncommand = 'x'\nmatch = 'y'\n";
    machine.write("home/config.toml", hooks);
    let run = machine.run(&["config", "model"]).succeeded();
    let told = machine.shown(&run.stderr);
    assert!(told.contains("unknown key hooks.before_lunch"), "{told}");
    assert!(
        told.contains("unknown key hooks.before_tool.0.match"),
        "{told}"
    );
    machine.run(&["--strict-config", "config"]).failed_with(2);
}

#[test]
fn an_unknown_key_warns_and_is_an_error_when_strict() {
    let machine = Machine::bare();
    machine.write("home/config.toml", "\nmodle = 'mine'\n");
    let run = machine.run(&["config", "model"]).succeeded();
    expect![[r#"
        warning: DIR/home/config.toml:2: unknown key modle (did you mean model?)
    "#]]
    .assert_eq(&machine.shown(&run.stderr));

    let run = machine.run(&["--strict-config", "config"]).failed_with(2);
    expect![[r#"
        troupe: DIR/home/config.toml:2: unknown key modle (did you mean model?)
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn a_type_that_fits_no_role_is_told_in_a_file_and_refused_where_it_is_said() {
    let machine = Machine::playing("[[scene]]\n[[scene.turn]]\nsteps = [{ say = 'ok' }]\n");
    let known = ["config", "-c", "agents.types.linter_fixer.model=m", "model"];
    let run = machine.run(&known).succeeded();
    assert!(!run.stderr.contains("no such role"), "{run:#?}");
    let said = ["-c", "agents.types.testr.model=m", "exec", "hello"];
    let run = machine.run(&said).failed_with(2);
    expect![[r#"
        troupe: command line (-c agents.types.testr.model=m): agents.types.testr: there is no such role (did you mean tester?)
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
    let mut client = Client::start(machine.troupe(&["proto"]));
    let config = json!({"agents.types.testr.model": "m"});
    client.send("1", &json!({"type": "configure_session", "config": config}));
    let refused = client.until("error");
    let message = refused["msg"]["message"].as_str().unwrap();
    assert!(message.contains("agents.types.testr"), "{message}");
    client.kill();

    let own = "[agents.types.data-miner]\nmodel = 'm'\n";
    machine.write("home/config.toml", own);
    let run = machine.run(&["config", "model"]).succeeded();
    let told = "agents.types.data-miner: there is no such role";
    assert!(run.stderr.contains(told), "{run:#?}");
    let strict = machine.run(&["--strict-config", "config"]).failed_with(2);
    assert!(strict.stderr.contains(told), "{strict:#?}");
    let role = "---\ndescription: digs\n---\nDig.\n";
    machine.write("home/agents/data-miner.md", role);
    let run = machine.run(&["config", "model"]).succeeded();
    assert!(!run.stderr.contains("no such role"), "{run:#?}");
}

#[test]
fn an_old_name_of_a_value_is_understood_and_told() {
    let machine = Machine::bare();
    machine.write("home/config.toml", "collaboration_mode = 'code'\n");
    let run = machine.run(&["config", "collaboration_mode"]).succeeded();
    expect![[r#"
        deprecated: DIR/home/config.toml:1: collaboration_mode = "code" is an old name; write collaboration_mode = "default", which means the same
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn strict_holds_for_commands_that_need_no_configuration() {
    let machine = Machine::bare();
    machine.write("home/config.toml", "modle = 'mine'\n");
    for command in [&["sessions", "list"][..], &["roles", "list"]] {
        machine.run(command).succeeded();
        let strict = [command, &["--strict-config"]].concat();
        let run = machine.run(&strict).failed_with(2);
        assert!(run.stderr.contains("unknown key modle"), "{}", run.stderr);
    }
}

#[test]
fn a_key_that_does_not_exist_is_an_error_and_one_that_is_not_set_is_not() {
    let machine = Machine::bare();
    let run = machine.run(&["config", "sandbx_mode"]).failed_with(2);
    expect![[r#"
        troupe: there is no key sandbx_mode (did you mean sandbox_mode?)
    "#]]
    .assert_eq(&run.stderr);
    let run = machine.run(&["config", "personality"]).succeeded();
    assert_eq!(run.stdout, "");
    assert_eq!(run.stderr, "personality is not set\n");
}

#[test]
fn json_has_values_of_json() {
    let key = "project_root_markers";
    let value = format!("{key}=['a', 'b']");
    let arguments = ["config", "--json", "-c", &value, key];
    let run = Machine::bare().run(&arguments).succeeded();
    assert_eq!(run.lines()[0]["value"], serde_json::json!(["a", "b"]));
}

#[test]
fn a_bad_value_and_bad_toml_are_errors() {
    let machine = Machine::bare();
    machine.write("home/config.toml", "sandbox_mode = 'readonly'\n");
    let run = machine.run(&["exec", "hello"]).failed_with(2);
    expect![[r#"
        troupe: DIR/home/config.toml:1: sandbox_mode: expected one of "read-only", "workspace-write", "danger-full-access", found "readonly" (did you mean "read-only"?)
    "#]]
    .assert_eq(&machine.shown(&run.stderr));

    machine.write("home/config.toml", "model = = 'x'\n");
    let run = machine.run(&["exec", "hello"]).failed_with(2);
    expect![[r#"
        troupe: DIR/home/config.toml:1:9: extra `=`, expected nothing
          |
        1 | model = = 'x'
          |         ^
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn a_file_that_cannot_be_read_is_told_once() {
    let machine = Machine::bare();
    std::fs::create_dir_all(machine.path("home/config.toml")).unwrap();
    let run = machine.run(&["config"]).failed_with(2);
    expect![[r#"
        troupe: cannot read DIR/home/config.toml: Is a directory (os error 21)
    "#]]
    .assert_eq(&machine.shown(&run.stderr));
}

#[test]
fn directories_that_are_gone_are_named() {
    let machine = Machine::bare();
    let run = machine.troupe(&["demo"]).env("TMPDIR", "/no/such").output();
    let run = crate::machine::Run::of(&run.unwrap());
    assert!(run.stderr.contains("/no/such"), "{}", run.stderr);

    let mut sh = std::process::Command::new("sh");
    let config = machine.troupe(&["config"]);
    let script = "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" config";
    let output = sh
        .args(["-c", script])
        .arg(config.get_program())
        .env("TROUPE_HOME", machine.path("home"))
        .current_dir(machine.path("project"))
        .output()
        .unwrap();
    let run = crate::machine::Run::of(&output).failed_with(3);
    assert!(run.stderr.contains("working directory"), "{}", run.stderr);
}

#[test]
fn a_project_counts_once_it_is_trusted() {
    let machine = Machine::bare();
    machine.write("project/.troupe/config.toml", "model = 'theirs'\n");
    let run = machine.run(&["config", "model"]).succeeded();
    assert!(run.stdout.contains("built-in default"), "{}", run.stdout);
    assert!(
        run.stderr
            .contains("is not read, because you do not trust the project")
    );

    let project = machine.path("project");
    let trust = format!("[projects.{project:?}]\ntrust_level = 'trusted'\n");
    machine.write("home/config.toml", &trust);
    let run = machine.run(&["config", "model"]).succeeded();
    expect![[r#"
        model = "theirs"  # DIR/project/.troupe/config.toml:1
    "#]]
    .assert_eq(&machine.shown(&run.stdout));
}

#[test]
fn secrets_are_not_printed() {
    let machine = Machine::bare();
    machine.write(
        "home/config.toml",
        "[model_providers.x]\nbase_url = 'http://h'\nhttp_headers = { Authorization = 'Bearer abc' }\n",
    );
    for arguments in [["config", "--json"], ["config", "model_providers"]] {
        let run = machine.run(&arguments).succeeded();
        assert!(run.stdout.contains("Authorization"), "{}", run.stdout);
        assert!(!run.stdout.contains("abc"), "{}", run.stdout);
    }
}

#[test]
fn query_parameters_and_passwords_in_addresses_are_not_printed() {
    let machine = Machine::bare();
    machine.write(
        "home/config.toml",
        "[model_providers.x]\nbase_url = 'http://me:abc@h/v1'\nquery_params = { code = 'abc' }\n\
         [mcp_servers.y]\nurl = 'http://127.0.0.1/mcp?api_key=abc'\n\
         [mcp_servers.z]\ncommand = 'z'\nargs = ['--api-key', 'abc']\n",
    );
    for arguments in [vec!["config", "--json"], vec!["config"]] {
        let run = machine.run(&arguments).succeeded();
        assert!(run.stdout.contains("query_params.code"), "{}", run.stdout);
        assert!(!run.stdout.contains("abc"), "{}", run.stdout);
    }
}

#[test]
fn the_doctor_prints_no_password_of_an_address() {
    let machine = Machine::bare();
    let run = machine.run(&[
        "doctor",
        "--offline",
        "-c",
        "openai_base_url='https://me:hunter2@gateway.test/v1?api-key=hunter3'",
    ]);
    assert!(
        run.stdout.contains("https://gateway.test"),
        "{}",
        run.stdout
    );
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains("hunter"), "{all}");
}

#[test]
fn the_provider_that_the_model_chose_is_told() {
    let machine = Machine::bare();
    let run = machine.run(&["config", "model", "-c", "model=claude-opus-5-5"]);
    let run = run.succeeded();
    assert!(
        run.stderr
            .contains("model_provider is \"anthropic\" in effect"),
        "{}",
        run.stderr
    );
}
