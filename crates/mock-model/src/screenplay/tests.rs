use expect_test::{Expect, expect};

use super::*;

#[track_caller]
fn check_step(step: &str, expected: Expect) {
    let text = format!("[[scene]]\n[[scene.turn]]\nsteps = [{step}]\n");
    let shown = match text.parse::<Screenplay>() {
        Ok(screenplay) => match &screenplay.scenes[0].turns[0].answer {
            ScriptedAnswer::Status(answer) => format!("{answer:?}"),
            ScriptedAnswer::Stream(answer) => format!("{:?} {:?}", answer.steps, answer.end),
        },
        Err(error) => error.to_string(),
    };
    expected.assert_eq(&shown);
}

#[test]
fn what_a_turn_may_do() {
    check_step(
        "{ say = 'hi' }",
        expect![[r#"[Say { text: "hi", split: Words, pace: 0ns, unfinished: false }] Completed"#]],
    );
    check_step(
        "{ say = 'hi', chunks = 2, pace_ms = 5 }",
        expect![[
            r#"[Say { text: "hi", split: Chunks(2), pace: 5ms, unfinished: false }] Completed"#
        ]],
    );
    check_step(
        "{ say = 'x', deltas = 20000 }",
        expect![[
            r#"[Say { text: "x", split: Times(20000), pace: 0ns, unfinished: false }] Completed"#
        ]],
    );
    check_step(
        "{ think = 'hm' }",
        expect![[r#"[Think { text: "hm" }] Completed"#]],
    );
    check_step(
        "{ call = 'shell', arguments = { command = ['ls', '-l'], n = 1 } }",
        expect![[
            r#"[Call { name: "shell", arguments: "{\"command\":[\"ls\",\"-l\"],\"n\":1}", call_id: None }] Completed"#
        ]],
    );
    check_step(
        "{ call = 'shell', arguments = '{broken', call_id = 'c1' }",
        expect![[
            r#"[Call { name: "shell", arguments: "{broken", call_id: Some("c1") }] Completed"#
        ]],
    );
    check_step(
        "{ custom = 'apply_patch', input = '*** Begin' }",
        expect![[
            r#"[Custom { name: "apply_patch", input: "*** Begin", call_id: None }] Completed"#
        ]],
    );
    check_step(
        "{ pause_ms = 20 }, { end = 'stall' }",
        expect!["[Pause(20ms)] Stall"],
    );
    check_step(
        "{ malformed = '{' }, { repeat = true }, { end = 'drop' }",
        expect![[r#"[Malformed("{"), Repeat] Drop"#]],
    );
    check_step(
        "{ incomplete = 'max_output_tokens' }",
        expect![[r#"[] Incomplete("max_output_tokens")"#]],
    );
    check_step(
        "{ end = 'failed', code = 'slow_down' }",
        expect![[r#"[] Failed { code: "slow_down", message: "scripted failure" }"#]],
    );
    check_step(
        "{ pause_ms = 3 }, { status = 429, retry_after = 1.5, code = 'rate_limit_exceeded' }",
        expect![[
            r#"StatusAnswer { status: 429, code: Some("rate_limit_exceeded"), message: "scripted status 429", retry_after: Some("1.5"), pause: 3ms }"#
        ]],
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    check_step(
        "{ say = 'a', think = 'b' }",
        expect![
            "screenplay, scene 1, turn 1: step 1: a step is exactly one of say, think, call, custom, pause_ms, malformed, repeat, end, incomplete or status"
        ],
    );
    check_step(
        "{ }",
        expect![
            "screenplay, scene 1, turn 1: step 1: a step is exactly one of say, think, call, custom, pause_ms, malformed, repeat, end, incomplete or status"
        ],
    );
    check_step(
        "{ say = 'a', arguments = {} }",
        expect!["screenplay, scene 1, turn 1: step 1: arguments does not belong to say"],
    );
    check_step(
        "{ say = 'a', chunks = 0 }",
        expect!["screenplay, scene 1, turn 1: step 1: give chunks or deltas, at least 1"],
    );
    check_step(
        "{ end = 'drop' }, { say = 'a' }",
        expect![
            "screenplay, scene 1, turn 1: steps after the end of the response are never played"
        ],
    );
    check_step(
        "{ say = 'a' }, { status = 500 }",
        expect!["screenplay, scene 1, turn 1: a status stands alone, after pauses at most"],
    );
    check_step(
        "{ status = 200 }",
        expect!["screenplay, scene 1, turn 1: status 200 is not 400 to 599"],
    );
    check_step(
        "{ call = 'a', arguments = 3 }",
        expect![
            "screenplay, scene 1, turn 1: step 1: arguments must be a table, or text that is sent as it is"
        ],
    );
}

#[test]
fn unknown_keys_and_bad_patterns_are_refused() {
    let error = |text: &str| text.parse::<Screenplay>().unwrap_err().to_string();
    assert_eq!(error(""), "screenplay has no [[scene]]");
    assert!(error("[[scene]]\nwhenn = 'x'").contains("unknown field `whenn`"));
    assert!(error("[[scene]]\nwhen = '('").starts_with("screenplay, scene 1: when: regex"));
    assert!(
        error("[[scene]]\n[[scene.turn]]\nexpect = '('")
            .starts_with("screenplay, scene 1, turn 1: expect: regex")
    );
}

#[test]
fn the_example_of_the_manual_is_a_screenplay() {
    let manual = include_str!("../../../../docs/screenplay.md");
    let example = manual.split("```").nth(1).unwrap();
    let screenplay: Screenplay = example.trim_start_matches("toml").parse().unwrap();
    assert_eq!(screenplay.scenes[0].turns.len(), 3);
}
