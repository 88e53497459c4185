//! Questions: who hears a letter, and what an answer is.

use expect_test::expect;
use troupe_protocol::approval::ReviewDecision;

use super::*;

const TESTER: Option<(u32, &str)> = Some((1, "tester"));

fn approval(id: &str, decision: ReviewDecision) -> Op {
    Op::ExecApproval {
        id: id.to_owned(),
        decision,
    }
}

#[test]
fn a_question_never_takes_what_is_typed() {
    let mut screen = Screen::new(80, 24);
    screen.types("yes, ");
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.later(5_000);
    // The line is not empty.
    screen.types("any");
    assert_eq!(screen.state.composer.buffer.text(), "yes, any");
    // Empty, but somebody types.
    screen.key("ctrl-u");
    screen.types("y");
    assert_eq!(screen.state.composer.buffer.text(), "y");
    screen.key("backspace");
    screen.later(999);
    screen.types("y");
    screen.key("backspace");
    assert!(screen.submitted().is_empty());
    screen.later(1_000);
    screen.types("y");
    assert_eq!(
        screen.submitted(),
        [approval("c1", ReviewDecision::Approved)]
    );
    assert_eq!(screen.state.composer.buffer.text(), "");
}

#[test]
fn a_question_that_just_came_hears_nothing_and_enter_never_agrees() {
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.later(499);
    screen.types("y");
    screen.key("backspace");
    screen.later(2_000);
    screen.key("enter");
    assert!(screen.submitted().is_empty());
    screen.types("n");
    assert_eq!(screen.submitted(), [approval("c1", ReviewDecision::Denied)]);
    // Once is enough.
    screen.types("y");
    assert!(screen.submitted().is_empty());
}

#[test]
fn nobody_agrees_to_what_was_not_shown_to_its_end() {
    let long = format!("{}; touch the-last-word", "echo harmless; ".repeat(400));
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["bash", "-lc", &long]);
    screen.later(2_000);
    assert!(!screen.shown().contains("the-last-word"));
    for key in ["y", "a", "A"] {
        screen.types(key);
        assert!(screen.submitted().is_empty(), "{key}");
    }
    // The key has opened it, at its beginning.
    assert!(screen.shown().contains("tester asks"));
    screen.key("pagedown");
    screen.types("y");
    assert!(screen.submitted().is_empty());
    while !screen.shown().contains("the-last-word") {
        screen.key("pagedown");
    }
    screen.later(2_000);
    screen.types("y");
    assert_eq!(
        screen.submitted(),
        [approval("c1", ReviewDecision::Approved)]
    );
}

#[test]
fn a_no_needs_no_reading() {
    let long = "echo harmless; ".repeat(400);
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["bash", "-lc", &long]);
    screen.later(2_000);
    screen.types("n");
    assert_eq!(screen.submitted(), [approval("c1", ReviewDecision::Denied)]);
}

#[test]
fn the_next_question_has_to_stand_too() {
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["one"]);
    screen.asks("c2", TESTER, &["two"]);
    screen.later(2_000);
    screen.types("y");
    screen.event(json!({"type": "approval_resolved", "call_id": "c1", "decision": "approved"}));
    screen.types("y");
    assert_eq!(
        screen.submitted(),
        [approval("c1", ReviewDecision::Approved)]
    );
}

#[test]
fn identical_questions_are_answered_together() {
    let mut screen = Screen::new(100, 24);
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.asks("c2", Some((2, "writer")), &["cargo", "test"]);
    screen.asks("c3", None, &["rm", "x"]);
    screen.later(2_000);
    expect![[r#"

        ! 3 need you                                                                 ← agents   Alt+N next !
        ! tester: run cargo test          1 of 3   y once  a session  n no  t no, why  A all 2  Ctrl+A whole
          in /home/me/parser
          $ cargo test
        › Message, /command, !shell, @file, ? for keys
        sol·high | /home/me/parser"#]]
    .assert_eq(&screen.shown());
    screen.types("A");
    let yes = ReviewDecision::Approved;
    assert_eq!(
        screen.submitted(),
        [approval("c1", yes), approval("c2", yes)]
    );
}

#[test]
fn what_somebody_else_answered_goes_and_says_so() {
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.later(2_000);
    screen.key("ctrl-a");
    assert!(screen.shown().contains("$ cargo test"));
    screen.event(json!({"type": "approval_resolved", "call_id": "c1", "decision": "denied"}));
    assert!(screen.state.overlays.is_empty());
    assert_eq!(
        screen.history().trim(),
        "✗ somebody else refused tester: run cargo test"
    );
}

#[test]
fn a_whole_command_is_shown_and_answered_there() {
    let mut screen = Screen::new(40, 12);
    let script = format!("true {}; rm -rf /", "x ".repeat(40));
    screen.asks("c1", None, &["bash", "-lc", &script]);
    screen.later(2_000);
    screen.key("ctrl-a");
    expect![[r#"
        root asks
        in /home/me/parser
        $ bash -lc 'true x x x x x x x x x x x x
         x x x x x x x x x x x x x x x x x x x x
         x x x x x x x x ; rm -rf /'






        y once  a session  n no  t no, why  Ctrl"#]]
    .assert_eq(&screen.shown());
    screen.types("a");
    let session = ReviewDecision::ApprovedForSession;
    assert_eq!(screen.submitted(), [approval("c1", session)]);
}

#[test]
fn a_no_may_say_why() {
    let mut screen = Screen::new(80, 24);
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.later(2_000);
    screen.types("t");
    screen.types("use nextest");
    assert!(screen.shown().contains("no, because › use nextest"));
    screen.key("enter");
    let asked = std::mem::take(&mut screen.effects);
    assert!(asked.contains(&Effect::Submit(Box::new(approval(
        "c1",
        ReviewDecision::Denied
    )))));
    assert!(asked.contains(&Effect::Ask(TreeRequest::Send {
        to: AgentId(1),
        text: "use nextest".to_owned(),
        urgency: crate::session::MessageUrgency::Regular,
    })));
}

#[test]
fn questions_of_models_have_options_and_free_text() {
    let mut screen = Screen::new(80, 24);
    screen.event(json!({
        "type": "request_user_input", "call_id": "q", "turn_id": "task",
        "questions": [
            {"id": "format", "header": "Format", "question": "Which format?", "options": [
                {"value": "json", "label": "JSON", "description": "machines"},
                {"value": "toml", "label": "TOML", "description": "people"},
            ]},
            {"id": "name", "header": "Name", "question": "Which name?", "isOther": true},
        ],
    }));
    screen.later(2_000);
    expect![[r#"

        ! 1 needs you                                                           ← agents
        ! root: Which format?                                         n no  Ctrl+A whole
          1 JSON   2 TOML
        › Message, /command, !shell, @file, ? for keys
        sol·high | /home/me/parser"#]]
    .assert_eq(&screen.shown());
    screen.types("2");
    assert!(screen.submitted().is_empty());
    screen.types("t");
    screen.types("spans");
    screen.key("enter");
    let answers = json!({"answers": {
        "format": {"selected": ["toml"]}, "name": {"selected": [], "other": "spans"},
    }});
    assert_eq!(
        screen.submitted(),
        [Op::UserInputAnswer {
            id: "q".to_owned(),
            response: serde_json::from_value(answers).unwrap(),
        }]
    );
}

#[test]
fn who_follows_answers_nothing() {
    let mut screen = Screen::new(80, 24);
    screen.follows();
    screen.asks("c1", TESTER, &["cargo", "test"]);
    screen.later(2_000);
    screen.types("y");
    assert!(screen.submitted().is_empty());
    assert!(
        screen
            .shown()
            .contains("another client drives; /drive asks for the seat")
    );
}

#[test]
fn fifty_questions_at_once_are_one_band_and_one_notice() {
    let mut screen = Screen::new(80, 24);
    screen.state.facts.caught_up_at = 0;
    for number in 0..50 {
        screen.asks(
            &format!("c{number}"),
            TESTER,
            &["cargo", &number.to_string()],
        );
    }
    screen.later(2_000);
    assert!(screen.shown().contains("1 of 50"));
    let notices = screen
        .effects
        .iter()
        .filter(|effect| matches!(effect, Effect::Notify { .. }));
    assert_eq!(notices.count(), 1);
}

#[test]
fn every_question_is_in_one_list_and_answered_there() {
    let mut screen = Screen::new(80, 14);
    screen.task_starts();
    screen.child(1, "tester", json!("running"));
    screen.asks("c1", Some((1, "tester")), &["cargo", "test"]);
    screen.asks("c2", None, &["make"]);
    screen.later(2_000);
    screen.types("/questions");
    screen.key("enter");
    screen.later(2_000);
    screen.key("down");
    expect![[r#"
        QUESTIONS 2                                                           oldest 4 s
         ! tester     run cargo test                                                 4 s
        ›! root       run make                                                       4 s
        ────────────────────────────────────────────────────────────────────────────────
        in /home/me/parser
        $ make







        y once  a session  n no  t no, why  Ctrl+A whole"#]]
    .assert_eq(&screen.shown());
    screen.effects.clear();
    screen.types("y");
    let answered = screen.effects.iter().any(|effect| {
        matches!(effect, Effect::Submit(op)
            if matches!(&**op, Op::ExecApproval { id, .. } if id == "c2"))
    });
    assert!(answered, "{:?}", screen.effects);
}
