//! What becomes of a line, and the ladder of Esc and Ctrl-C.

use troupe_protocol::link::query::PromptCommand;

use super::*;
use crate::session::TreeNews;

fn texts(ops: &[Op]) -> Vec<String> {
    let text = |op: &Op| match op {
        Op::UserTurn { items, .. } => format!("turn {:?}", text_of(items)),
        Op::Steer { items, .. } => format!("steer {:?}", text_of(items)),
        Op::RunUserShellCommand { command } => format!("shell {command}"),
        other => format!("{other:?}"),
    };
    ops.iter().map(text).collect()
}

fn text_of(items: &[troupe_protocol::input::UserInput]) -> String {
    crate::cells::UserCell::of(items).text
}

#[test]
fn enter_sends_or_steers_and_tab_keeps_for_later() {
    let mut screen = Screen::new(80, 24);
    screen.types("one");
    screen.key("enter");
    assert_eq!(texts(&screen.submitted()), ["turn \"one\""]);
    screen.task_starts();
    screen.types("two");
    screen.key("enter");
    assert_eq!(texts(&screen.submitted()), ["steer \"two\""]);
    screen.types("three");
    screen.key("tab");
    screen.types("four");
    screen.key("tab");
    assert!(screen.submitted().is_empty());
    assert!(screen.shown().contains("  next 1 three\n  next 2 four"));
    screen.key("alt-up");
    assert_eq!(screen.state.composer.buffer.text(), "four");
    screen.key("ctrl-u");
    screen.task_ends();
    assert_eq!(texts(&screen.submitted()), ["turn \"three\""]);
    screen.task_starts();
    screen.types("five");
    screen.key("ctrl-enter");
    assert_eq!(texts(&screen.submitted()), ["turn \"five\""]);
}

#[test]
fn lines_that_begin_with_a_sign_are_commands() {
    let mut screen = Screen::new(80, 24);
    screen.types("!ls -l");
    screen.key("enter");
    assert_eq!(texts(&screen.submitted()), ["shell ls -l"]);
    screen.types("/copmact");
    screen.key("enter");
    // It may be a prompt that somebody wrote down.
    let line = "/copmact".to_owned();
    let asked = Effect::Ask(TreeRequest::FillCommand(line.clone()));
    assert!(screen.effects.contains(&asked));
    screen.answered(TreeNews::CommandFilled {
        line,
        text: None,
        notes: Vec::new(),
    });
    assert!(
        screen
            .shown()
            .contains("there is no /copmact; /compact is near")
    );
    screen.types("/compact");
    screen.key("enter");
    assert_eq!(screen.submitted(), [Op::Compact]);
    screen.types("/permissions sometimes");
    screen.key("enter");
    assert!(
        screen
            .shown()
            .contains("sometimes: there are on-request, untrusted"),
        "{}",
        screen.shown()
    );
    screen.types("/no");
    screen.key("enter");
    assert_eq!(screen.state.composer.buffer.text(), "/note ");
}

#[test]
fn a_prompt_with_a_name_is_sent_as_what_it_stands_for() {
    let mut screen = Screen::new(80, 24);
    screen.types("/mcp__");
    assert!(screen.effects.contains(&Effect::Ask(TreeRequest::Commands)));
    screen.answered(TreeNews::Commands(vec![PromptCommand {
        name: "mcp__ore__dig".to_owned(),
        description: None,
        argument_hint: None,
    }]));
    assert!(screen.shown().contains("/mcp__ore__dig"));
    screen.key("tab");
    screen.types("deep");
    screen.key("enter");
    let line = "/mcp__ore__dig deep".to_owned();
    let asked = Effect::Ask(TreeRequest::FillCommand(line.clone()));
    assert!(screen.effects.contains(&asked));
    assert!(screen.submitted().is_empty());
    screen.answered(TreeNews::CommandFilled {
        line,
        text: Some("Dig deep.".to_owned()),
        notes: vec!["a picture is left out".to_owned()],
    });
    assert_eq!(texts(&screen.submitted()), ["turn \"Dig deep.\""]);
    let cells = format!("{:?}", screen.state.transcript.cells());
    assert!(cells.contains("a picture is left out"), "{cells}");
}

#[test]
fn escape_and_control_c_never_reach_agents() {
    let mut screen = Screen::new(80, 24);
    screen.task_starts();
    screen.child(1, "tester", json!("running"));
    screen.types("draft");
    screen.key("ctrl-c");
    assert_eq!(screen.state.composer.buffer.text(), "");
    screen.key("up");
    assert_eq!(screen.state.composer.buffer.text(), "draft");
    screen.key("ctrl-c");
    screen.submitted();
    screen.key("esc");
    assert_eq!(screen.submitted(), [Op::Interrupt]);
    screen.key("ctrl-c");
    assert_eq!(screen.submitted(), [Op::Interrupt]);
    screen.later(2_001);
    screen.key("ctrl-c");
    screen.submitted();
    screen.key("ctrl-c");
    assert_eq!(screen.state.overlays, [ScreenOverlay::Leaving]);
    assert!(screen.shown().contains("Agents are at work. Leave and …"));
    screen.key("esc");
    assert!(screen.state.overlays.is_empty());
    screen.key("ctrl-d");
    screen.types("k");
    assert_eq!(screen.effects, [Effect::Leave(SessionEnding::KeepRunning)]);
}

#[test]
fn leaving_when_nothing_runs_asks_nothing() {
    let mut screen = Screen::new(80, 24);
    screen.key("ctrl-d");
    assert_eq!(screen.effects, [Effect::Leave(SessionEnding::Ended)]);
}

#[test]
fn escape_twice_goes_back_to_a_message() {
    let mut screen = Screen::new(80, 24);
    for (id, text) in [("a", "first"), ("b", "second"), ("c", "third")] {
        screen.task_starts();
        screen.item(
            json!({"type": "UserMessage", "id": id, "content": [{"type": "text", "text": text}]}),
        );
    }
    screen.task_ends();
    screen.event(json!({"type": "thread_rolled_back", "num_turns": 1}));
    screen.key("esc");
    screen.key("esc");
    screen.key("down");
    screen.key("enter");
    assert_eq!(screen.submitted(), [Op::ThreadRollback { num_turns: 2 }]);
    assert_eq!(screen.state.composer.buffer.text(), "first");
}

#[test]
fn a_message_that_comes_too_late_begins_a_task_of_its_own() {
    let mut screen = Screen::new(80, 24);
    screen.task_starts();
    screen.types("more");
    screen.key("enter");
    let ops = screen.submitted();
    let [Op::Steer { client_id, .. }] = &ops[..] else {
        panic!("{ops:?}");
    };
    screen.task_ends();
    screen.seq += 1;
    let msg = json!({"type": "error", "message": "there is no running task"});
    let event = Event {
        id: client_id.clone().unwrap().into(),
        seq: screen.seq,
        msg: serde_json::from_value(msg).unwrap(),
    };
    screen.happened(AppEvent::Link(LinkMessage::Event(Box::new(event))));
    assert_eq!(texts(&screen.submitted()), ["turn \"more\""]);
}

#[test]
fn nothing_wakes_an_idle_screen() {
    let mut screen = Screen::new(80, 24);
    assert_eq!(screen.state.next_tick_ms(), None);
    screen.task_starts();
    assert_eq!(screen.state.next_tick_ms(), Some(START_MS + 1_000));
    screen.state.settings.animations = false;
    assert_eq!(screen.state.next_tick_ms(), None);
}

#[test]
fn a_lost_engine_is_said_and_its_return_too() {
    let mut screen = Screen::new(80, 24);
    screen.happened(AppEvent::Link(LinkMessage::Lost(
        "the engine is gone; waits for it".to_owned(),
    )));
    assert!(
        screen
            .shown()
            .contains("✗ the engine is gone; waits for it")
    );
    let welcome = serde_json::from_value(json!({"type": "welcome", "version": 1, "client": "c",
        "secret": "s", "role": "drive", "driver": "c", "asking": [], "seq": 9}))
    .unwrap();
    screen.happened(AppEvent::Link(LinkMessage::Notice(Box::new(welcome))));
    assert!(screen.shown().contains("the session is back"));
}
