//! Proposed plans in what the model says.

use super::*;

fn check_plan(events: Vec<ModelEvent>, expected: &Expect) {
    check_in(CollaborationMode::Plan, events, expected);
}

#[test]
fn a_plan_is_an_item_beside_the_message() {
    let whole = "I looked.\n<proposed_plan>\n- one\n- two\n</proposed_plan>\nTell me.";
    check_plan(
        vec![
            start("a"),
            text("a", "I looked.\n<prop"),
            text("a", "osed_plan>\n- o"),
            text("a", "ne\n- two\n</propo"),
            text("a", "sed_plan>\nTell"),
            text("a", " me."),
            done("a", whole),
        ],
        &expect![[r#"
            started msg_1
            msg_1 + "I looked.\n"
            started plan_2
            plan_2 + "- o"
            plan_2 + "ne\n- two\n"
            msg_1 + "Tell"
            msg_1 + " me."
            completed msg_1 "I looked.\nTell me."
            completed plan_2 "- one\n- two\n"
            1 items of history
        "#]],
    );
}

#[test]
fn a_plan_alone_has_no_message_beside_it() {
    let whole = "\n<proposed_plan>\n- one\n</proposed_plan>\n";
    check_plan(
        vec![start("a"), text("a", whole), done("a", whole)],
        &expect![[r#"
            started plan_1
            plan_1 + "- one\n"
            completed plan_1 "- one\n"
            1 items of history
        "#]],
    );
}

#[test]
fn the_whole_message_has_the_last_word_on_the_plan() {
    check_plan(
        vec![
            start("a"),
            text("a", "<proposed_plan>\n- wrogn\n"),
            done("a", "<proposed_plan>\n- right\n</proposed_plan>"),
        ],
        &expect![[r#"
            started plan_1
            plan_1 + "- wrogn\n"
            completed plan_1 "- right\n"
            1 items of history
        "#]],
    );
    check_plan(
        vec![done("a", "Here:\n<proposed_plan>\n- x\n</proposed_plan>")],
        &expect![[r#"
            started msg_1
            started plan_2
            completed msg_1 "Here:\n"
            completed plan_2 "- x\n"
            1 items of history
        "#]],
    );
    check_plan(
        vec![
            text("a", "<proposed_plan>\n- x\n"),
            done("a", "no plan after all"),
        ],
        &expect![[r#"
            started plan_1
            plan_1 + "- x\n"
            started msg_2
            plan_1 = ""
            completed msg_2 "no plan after all"
            1 items of history
        "#]],
    );
}

#[test]
fn an_empty_plan_is_not_begun_and_not_completed() {
    let whole = "Hm.\n<proposed_plan>\n\n</proposed_plan>\n";
    check_plan(
        vec![text("a", whole), done("a", whole)],
        &expect![[r#"
            started msg_1
            msg_1 + "Hm.\n"
            completed msg_1 "Hm.\n"
            1 items of history
        "#]],
    );
    check_plan(
        vec![
            text("a", "<proposed_plan>\n- x\n"),
            retry(),
            done("b", "No."),
        ],
        &expect![[r#"
            started plan_1
            plan_1 + "- x\n"
            plan_1 = ""
            started msg_2
            completed msg_2 "No."
            1 items of history
        "#]],
    );
}

#[test]
fn a_second_block_is_text_of_the_message() {
    let whole =
        "<proposed_plan>\n- one\n</proposed_plan>\nOr:\n<proposed_plan>\n- two\n</proposed_plan>\n";
    check_plan(
        vec![text("a", whole), done("a", whole)],
        &expect![[r#"
            started plan_1
            plan_1 + "- one\n"
            started msg_2
            msg_2 + "Or:\n"
            msg_2 + "- two\n"
            completed plan_1 "- one\n"
            completed msg_2 "Or:\n- two\n"
            1 items of history
        "#]],
    );
    check_plan(
        vec![
            done("a", "<proposed_plan>\n- one\n</proposed_plan>"),
            done("b", "<proposed_plan>\n- two\n</proposed_plan>"),
        ],
        &expect![[r#"
            started plan_1
            started msg_2
            completed plan_1 "- one\n"
            completed msg_2 "- two\n"
            2 items of history
        "#]],
    );
}

#[test]
fn a_retry_resets_the_plan_and_fills_the_same_item() {
    let whole = "So:\n<proposed_plan>\n- one\n</proposed_plan>";
    check_plan(
        vec![
            text("a", "So:\n<proposed_plan>\n- on"),
            retry(),
            text("b", "So:\n"),
            text("b", "<proposed_plan>\n- one\n</proposed_plan>"),
            done("b", whole),
        ],
        &expect![[r#"
            started msg_1
            msg_1 + "So:\n"
            started plan_2
            plan_2 + "- on"
            msg_1 = ""
            plan_2 = ""
            msg_1 + "So:\n"
            plan_2 + "- one\n"
            completed msg_1 "So:\n"
            completed plan_2 "- one\n"
            1 items of history
        "#]],
    );
}

#[test]
fn a_tag_that_a_broken_stream_cut_is_forgotten() {
    check_plan(
        vec![text("a", "<proposed"), retry(), done("b", "No plan yet.")],
        &expect![[r#"
            started msg_1
            completed msg_1 "No plan yet."
            1 items of history
        "#]],
    );
}

#[test]
fn outside_of_plan_mode_tags_are_words() {
    check(
        vec![done("a", "<proposed_plan>\n- one\n</proposed_plan>")],
        &expect![[r#"
            started msg_1
            completed msg_1 "<proposed_plan>\n- one\n</proposed_plan>"
            1 items of history
        "#]],
    );
}

#[test]
fn a_stopped_plan_is_shown_as_far_as_it_came_and_kept_as_it_was_said() {
    let mut response = response_in(CollaborationMode::Plan, IdSource::random());
    let said = "Hm.\n<proposed_plan>\n- one\n</prop";
    response.apply(text("a", said), &mut Vec::new());
    assert_eq!(
        response.last_message().as_deref(),
        Some("Hm.\n- one\n</prop")
    );
    let FinishedResponse { items, history } = response.abandon();
    let texts: Vec<&str> = items
        .iter()
        .map(|item| match item {
            TurnItem::AgentMessage(item) => item.text.as_str(),
            TurnItem::Plan(item) => item.text.as_str(),
            other => panic!("neither message nor plan: {other:?}"),
        })
        .collect();
    assert_eq!(texts, ["Hm.\n", "- one\n</prop"]);
    assert_eq!(history, [ResponseItem::assistant_text(said)]);
}
