//! Which layer wins, and how its origin is told.

use expect_test::{Expect, expect};

use crate::home::Home;

fn check(home: &Home, expected: Expect) {
    expected.assert_eq(&home.settings());
}

const TRUSTED: &str = "[projects.\"PROJECT\"]\ntrust_level = \"trusted\"\n";

#[test]
fn nothing_but_defaults() {
    check(
        &Home::new(),
        expect![[r#"
            model = "built-in"  # default, built-in default
            retries = 4  # default, built-in default
        "#]],
    );
}

#[test]
fn the_user_file_wins_over_defaults_key_by_key() {
    check(
        &Home::new().user("\n# mine\nmodel = 'mine'\n[a]\nb = 1\n"),
        expect![[r#"
            a.b = 1  # user, HOME/config.toml:5
            model = "mine"  # user, HOME/config.toml:3
            retries = 4  # default, built-in default
        "#]],
    );
}

#[test]
fn a_trusted_project_is_read_from_the_root_down() {
    let home = Home::new()
        .user(TRUSTED)
        .file(
            "project/.troupe/config.toml",
            "model = 'root'\n[a]\nx = 1\ny = 1\n",
        )
        .file("project/deep/.troupe/config.toml", "a.y = 2\n");
    check(
        &home,
        expect![[r#"
            a.x = 1  # project, HOME/project/.troupe/config.toml:3
            a.y = 2  # project, HOME/project/deep/.troupe/config.toml:1
            model = "root"  # project, HOME/project/.troupe/config.toml:1
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
        "#]],
    );
}

#[test]
fn an_untrusted_project_is_named_and_not_read() {
    let home = Home::new().file("project/.troupe/config.toml", "this is not TOML");
    check(
        &home,
        expect![[r#"
            model = "built-in"  # default, built-in default
            retries = 4  # default, built-in default
            HOME/project/.troupe/config.toml is not read, because you do not trust the project; read it, and if you agree, run `troupe trust HOME/project`
        "#]],
    );
}

#[test]
fn a_project_cannot_trust_itself_or_others() {
    check(
        &Home::new().file("project/.troupe/config.toml", TRUSTED),
        expect![[r#"
            model = "built-in"  # default, built-in default
            retries = 4  # default, built-in default
            HOME/project/.troupe/config.toml is not read, because you do not trust the project; read it, and if you agree, run `troupe trust HOME/project`
        "#]],
    );
    let others = "model = 'p'\n[projects.\"/other\"]\ntrust_level = 'trusted'\n";
    check(
        &Home::new()
            .user(TRUSTED)
            .file("project/.troupe/config.toml", others),
        expect![[r#"
            model = "p"  # project, HOME/project/.troupe/config.toml:1
            projects."HOME/project".trust_level = "trusted"  # user, HOME/config.toml:2
            retries = 4  # default, built-in default
            HOME/project/.troupe/config.toml:2: projects is left out: only your own configuration says which projects are trusted
        "#]],
    );
}

#[test]
fn arguments_and_flags_win_over_files_and_profiles() {
    let home = Home::new()
        .user("model = 'u'\nretries = 1\n[profiles.fast]\nmodel = 'f'\nretries = 2\nx = 3\n")
        .profile("fast")
        .argument("retries=7")
        .argument("retries=8")
        .argument("model=a")
        .flag("--model", "model", "flagged");
    check(
        &home,
        expect![[r#"
            model = "flagged"  # flag, command line (--model)
            profiles.fast.model = "f"  # user, HOME/config.toml:4
            profiles.fast.retries = 2  # user, HOME/config.toml:5
            profiles.fast.x = 3  # user, HOME/config.toml:6
            retries = 8  # argument, command line (-c retries=8)
            x = 3  # profile, HOME/config.toml:6
        "#]],
    );
}

#[test]
fn a_profile_may_be_chosen_in_a_file_or_by_argument() {
    let user = "profile = 'one'\n[profiles.one]\nmodel = '1'\n[profiles.two]\nmodel = '2'\n";
    let one = Home::new().user(user).load().unwrap();
    let two = Home::new()
        .user(user)
        .argument("profile=two")
        .load()
        .unwrap();
    let model = |config: &troupe_config::Config| config.get::<String>(&["model"].into()).unwrap();
    assert_eq!((model(&one), model(&two)), ("1".to_owned(), "2".to_owned()));
}

#[test]
fn an_unknown_profile_is_an_error_that_lists_the_known_ones() {
    check(
        &Home::new().profile("nope"),
        expect![[
            r#"command line (--profile nope): the profile "nope" is chosen but there is no [profiles] table"#
        ]],
    );
    check(
        &Home::new().user("profile = 'nope'\n[profiles.a]\n[profiles.b]\n"),
        expect![[
            r#"HOME/config.toml:1: the profile "nope" is chosen but only these are defined: a, b"#
        ]],
    );
    check(
        &Home::new().user("profile = 'p'\nprofiles.p = 3\n"),
        expect!["HOME/config.toml:2: profiles.p: expected a table, found 3"],
    );
}
