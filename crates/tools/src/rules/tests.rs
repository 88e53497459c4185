use std::fmt::Write as _;
use std::path::Path;

use expect_test::{Expect, expect};

use super::parse::parse;
use super::*;

fn rules(text: &str) -> RuleSet {
    let placed = parse(text, Path::new("rules.toml")).expect("the rules are well-formed");
    RuleSet {
        placed,
        ..RuleSet::default()
    }
}

/// One rule per line: decision, words, and perhaps `(off)`.
fn brief(text: &str) -> RuleSet {
    let mut toml = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let (line, sandbox) = match line.trim().strip_suffix(" (off)") {
            Some(line) => (line, "sandbox = 'off'\n"),
            None => (line.trim(), ""),
        };
        let (decision, words) = line.split_once(' ').unwrap();
        let prefix: Vec<&str> = words.split(' ').collect();
        write!(
            toml,
            "[[rule]]\nprefix = {prefix:?}\ndecision = '{decision}'\n{sandbox}"
        )
        .unwrap();
    }
    rules(&toml)
}

fn show(ruling: &CommandRuling) -> String {
    match ruling {
        CommandRuling::Silent => "silent".to_owned(),
        CommandRuling::Allow {
            rule,
            sandbox,
            wording,
        } => format!("allow {} {sandbox:?} {wording:?}", rule.rule.words()),
        CommandRuling::Ask(placed) => format!("ask {}", placed.rule.words()),
        CommandRuling::Forbid(placed) => format!("forbid {}", placed.rule.words()),
        CommandRuling::Unreadable(error) => error.to_string(),
    }
}

fn bash(script: &str) -> Vec<String> {
    ["/bin/bash", "-c", script].map(str::to_owned).to_vec()
}

/// Draws what the rules say about each script.
fn check(rules: &RuleSet, scripts: &[&str], expect: Expect) {
    let lines = scripts.iter().map(|script| {
        let ruling = show(&rules.ruling(&bash(script)));
        format!("{script:<36} {ruling}\n")
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_script_is_allowed_if_all_of_it_is() {
    let rules = brief("allow cargo test\nallow touch made");
    check(
        &rules,
        &[
            "cargo test",
            "cargo test --workspace",
            "/usr/bin/cargo test",
            "./cargo test",
            "cargo",
            "cargo testing",
            "cargo 'test'",
            "cargo test && touch made",
            "cargo test | tail -3",
            "cd sub && cargo test",
            "cd sub && git status && cargo test",
            "cargo test && curl example.com",
            "bash -c 'cargo test'",
            "ls",
        ],
        expect![[r#"
            cargo test                           allow cargo test On Whole
            cargo test --workspace               allow cargo test On Beginning
            /usr/bin/cargo test                  allow cargo test On Whole
            ./cargo test                         silent
            cargo                                silent
            cargo testing                        silent
            cargo 'test'                         allow cargo test On Whole
            cargo test && touch made             allow cargo test On Whole
            cargo test | tail -3                 allow cargo test On Whole
            cd sub && cargo test                 allow cargo test On Whole
            cd sub && git status && cargo test   silent
            cargo test && curl example.com       silent
            bash -c 'cargo test'                 allow cargo test On Whole
            ls                                   silent
        "#]],
    );
}

#[test]
fn what_is_not_understood_is_never_allowed() {
    let rules = brief("allow cargo test\nallow echo hello");
    check(
        &rules,
        &[
            "cargo test $(curl example.com)",
            "cargo test > log",
            "RUSTFLAGS=x cargo test",
            "cargo test $NAME",
            "cargo test &",
            "cargo test; (cargo test)",
            "echo hello *",
        ],
        expect![[r#"
            cargo test $(curl example.com)       silent
            cargo test > log                     silent
            RUSTFLAGS=x cargo test               silent
            cargo test $NAME                     silent
            cargo test &                         silent
            cargo test; (cargo test)             silent
            echo hello *                         silent
        "#]],
    );
}

#[test]
fn what_tightens_looks_everywhere() {
    let rules = brief("forbid git push\nask git\nallow git status\nask /opt/deploy");
    check(
        &rules,
        &[
            "git status",
            "git push",
            "/usr/local/bin/git push",
            "git log; git push --force",
            "x=$(git push 2>&1)",
            "BRANCH=x git push $BRANCH",
            "sudo -u me git push",
            "timeout 10 git push",
            "if true; then git push; fi",
            "bash -c \"git push\"",
            "echo git push",
            "git -C /x push",
            "git $what",
            "/opt/deploy now",
            "deploy now",
            "ls",
        ],
        expect![[r#"
            git status                           ask git
            git push                             forbid git push
            /usr/local/bin/git push              forbid git push
            git log; git push --force            forbid git push
            x=$(git push 2>&1)                   forbid git push
            BRANCH=x git push $BRANCH            forbid git push
            sudo -u me git push                  forbid git push
            timeout 10 git push                  forbid git push
            if true; then git push; fi           forbid git push
            bash -c "git push"                   forbid git push
            echo git push                        silent
            git -C /x push                       forbid git push
            git $what                            ask git
            /opt/deploy now                      ask /opt/deploy
            deploy now                           silent
            ls                                   silent
        "#]],
    );
}

#[test]
fn the_longest_rule_decides_about_the_sandbox() {
    let rules = brief(
        "allow deploy (off)
         allow deploy test
         allow notify (off)
         allow notify
         allow upload (off)",
    );
    check(
        &rules,
        &[
            "deploy",
            "deploy now",
            "deploy test",
            "notify",
            "deploy && upload",
            "deploy && notify",
            "deploy && ls",
        ],
        expect![[r#"
            deploy                               allow deploy Off Whole
            deploy now                           allow deploy Off Beginning
            deploy test                          allow deploy test On Whole
            notify                               allow notify On Whole
            deploy && upload                     allow deploy Off Whole
            deploy && notify                     allow deploy On Whole
            deploy && ls                         allow deploy On Whole
        "#]],
    );
}

#[test]
fn a_command_without_a_shell_is_one_command() {
    let rules = brief("allow touch made\nforbid rm");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(
        show(&rules.ruling(&words("touch made"))),
        "allow touch made On Whole"
    );
    assert_eq!(show(&rules.ruling(&words("rm x"))), "forbid rm");
    assert_eq!(rules.ruling(&[]), CommandRuling::Silent);
}

fn check_allow(prefixes: &[&str], expect: Expect) {
    let lines = prefixes.iter().map(|words| {
        let rule = CommandRule {
            matter: RuleMatter::Command(words.split(' ').map(str::to_owned).collect()),
            decision: RuleDecision::Allow,
            sandbox: SandboxUse::On,
            reason: None,
        };
        match rule.check() {
            Ok(()) => format!("{words}: ok\n"),
            Err(why) => format!("{why}\n"),
        }
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn a_prefix_that_says_nothing_cannot_be_allowed() {
    check_allow(
        &[
            "bash",
            "bash -c ls",
            "bash -lc ls",
            "sh build.sh",
            "/usr/bin/python3",
            "python3.12",
            "python3 -m",
            "python3 -m pytest",
            "node -e",
            "git",
            "git -C /x",
            "git push",
            "npm run",
            "npm run build",
            "rm",
            "rm -rf build",
            "env",
            "env RUST_LOG=debug",
            "env RUST_LOG=debug cargo test",
            "sudo",
            "sudo apt update",
            "sudo -u me",
            "sudo bash",
            "xargs rm",
            "timeout 10",
            "timeout 10 touch made",
            "touch",
        ],
        expect![[r#"
            allow bash: `bash` does whatever it is told next: add the words that say what
            allow bash -c ls: a script given to `bash` is judged by the commands in it: allow those
            allow bash -lc ls: a script given to `bash` is judged by the commands in it: allow those
            sh build.sh: ok
            allow /usr/bin/python3: `python3` does whatever it is told next: add the words that say what
            allow python3.12: `python3.12` does whatever it is told next: add the words that say what
            allow python3 -m: `python3` does whatever it is told next: add the words that say what
            python3 -m pytest: ok
            allow node -e: `node` does whatever it is told next: add the words that say what
            allow git: `git` does whatever it is told next: add the words that say what
            allow git -C /x: `git` does whatever it is told next: add the words that say what
            git push: ok
            allow npm run: it runs whatever is named next: name it
            npm run build: ok
            allow rm: every word after `rm` widens what it does, so no rule can allow it
            allow rm -rf build: every word after `rm` widens what it does, so no rule can allow it
            allow env: `env` runs whatever is named next: add the command
            allow env 'RUST_LOG=debug': `env` runs whatever is named next: add the command
            env RUST_LOG=debug cargo test: ok
            allow sudo: `sudo` runs whatever is named next: add the command
            sudo apt update: ok
            allow sudo -u me: what `sudo -u` runs cannot be told: allow the command that it runs
            allow sudo bash: `bash` does whatever it is told next: add the words that say what
            allow xargs rm: every word after `rm` widens what it does, so no rule can allow it
            allow timeout 10: `timeout` runs whatever is named next: add the command
            timeout 10 touch made: ok
            touch: ok
        "#]],
    );
}

fn check_proposal(rules: &RuleSet, sandbox: SandboxUse, scripts: &[&str], expect: Expect) {
    let lines = scripts.iter().map(|script| {
        let proposed = rules.proposal(&bash(script), sandbox).map(|rules| {
            let words: Vec<String> = rules.iter().map(CommandRule::words).collect();
            words.join(" + ")
        });
        format!("{script:<28} {}\n", proposed.as_deref().unwrap_or("-"))
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn rules_are_proposed_where_they_are_sound() {
    let rules = brief("allow touch made");
    let scripts = [
        "cargo test",
        "touch made && cargo test",
        "cd sub && cargo test | tail",
        "touch made",
        "cargo test > log",
        "./run.sh",
        "/opt/run.sh",
        "python3 x.py",
        "git push",
        "rm -rf build",
        "sudo apt update",
        "a; b; c; d; e",
    ];
    check_proposal(
        &rules,
        SandboxUse::On,
        &scripts,
        expect![[r#"
        cargo test                   cargo test
        touch made && cargo test     cargo test
        cd sub && cargo test | tail  cargo test
        touch made                   -
        cargo test > log             -
        ./run.sh                     -
        /opt/run.sh                  /opt/run.sh
        python3 x.py                 python3 x.py
        git push                     git push
        rm -rf build                 -
        sudo apt update              sudo apt update
        a; b; c; d; e                -
    "#]],
    );
    check_proposal(
        &rules,
        SandboxUse::Off,
        &scripts,
        expect![[r#"
        cargo test                   -
        touch made && cargo test     -
        cd sub && cargo test | tail  -
        touch made                   touch made
        cargo test > log             -
        ./run.sh                     -
        /opt/run.sh                  /opt/run.sh
        python3 x.py                 -
        git push                     git push
        rm -rf build                 -
        sudo apt update              -
        a; b; c; d; e                -
    "#]],
    );
}

fn check_file(text: &str, expect: Expect) {
    let shown = match parse(text, Path::new("rules.toml")) {
        Ok(placed) => {
            let lines: Vec<String> = placed.iter().map(ToString::to_string).collect();
            lines.join("\n")
        }
        Err(error) => error.to_string(),
    };
    expect.assert_eq(&shown);
}

#[test]
fn files_name_the_line_of_each_rule_and_error() {
    check_file("", expect![""]);
    check_file(
        "# mine\n[[rule]]\nprefix = ['git', 'push']\ndecision = 'ask'\nreason = 'others see it'\n\n[[rule]]\nprefix = ['a b']\ndecision = 'forbid'\n",
        expect![[r#"
            the rule `git push` (rules.toml:2: others see it)
            the rule `'a b'` (rules.toml:7)"#]],
    );
    check_file(
        "[[rule]\n",
        expect!["rules.toml:1: unclosed array table, expected `]`"],
    );
    check_file(
        "\n[[rule]]\nprefix = ['x']\n",
        expect!["rules.toml:2: missing field `decision`"],
    );
    check_file(
        "[[rule]]\nprefix = ['x']\ndecision = 'deny'\n",
        expect!["rules.toml:3: unknown variant `deny`, expected one of `allow`, `ask`, `forbid`"],
    );
    check_file(
        "[[rule]]\nprefix = ['x']\ndecision = 'ask'\nsandbx = 'off'\n",
        expect![
            "rules.toml:4: unknown field `sandbx`, expected one of `prefix`, `edit`, `mcp`, `decision`, `sandbox`, `reason`"
        ],
    );
    check_file(
        "[[rule]]\nprefix = ['x']\ndecision = 'ask'\nsandbox = 'off'\n",
        expect![[r#"rules.toml:1: sandbox = "off" goes with the decision allow, found ask"#]],
    );
    check_file(
        "\n\n[[rule]]\nprefix = []\ndecision = 'ask'\n",
        expect!["rules.toml:3: prefix is empty: expected the first words of a command"],
    );
    check_file(
        "[[rules]]\n",
        expect!["rules.toml:1: unknown field `rules`, expected `rule`"],
    );
}

#[test]
fn a_rule_that_tightens_sees_its_words_behind_options() {
    check(
        &brief("forbid git push\nask kubectl delete\nask cargo publish\nallow make test"),
        &[
            "git -C . push",
            "git -c user.name=x -C sub --no-pager push origin",
            "git --git-dir=x push",
            "git $OPTIONS push",
            "/usr/bin/git -P push",
            "env git -C . push",
            "git commit -m push",
            "git log push",
            "kubectl -n prod delete pod x",
            "cargo +nightly publish",
            "make -C sub test",
        ],
        expect![[r#"
            git -C . push                        forbid git push
            git -c user.name=x -C sub --no-pager push origin forbid git push
            git --git-dir=x push                 forbid git push
            git $OPTIONS push                    forbid git push
            /usr/bin/git -P push                 forbid git push
            env git -C . push                    forbid git push
            git commit -m push                   silent
            git log push                         silent
            kubectl -n prod delete pod x         ask kubectl delete
            cargo +nightly publish               ask cargo publish
            make -C sub test                     silent
        "#]],
    );
}
