//! Many agents.

use expect_test::expect;

use super::*;
use crate::session::{AgentReport, StopVerb, TreeNews};

fn a_tree(screen: &mut Screen) {
    screen.task_starts();
    screen.child(1, "tester", json!("running"));
    screen.child(2, "tester/bench", json!({"queued": {"position": 2}}));
    screen.child(3, "docs", json!("running"));
    screen.child(3, "docs", json!({"completed": "2 files, tests ok"}));
    screen.child(4, "linter", json!({"errored": "the provider is down"}));
    screen.asks("c1", Some((1, "tester")), &["cargo", "test"]);
    screen.later(9_000);
}

#[test]
fn the_line_of_agents_tells_blocked_from_idle_from_unread() {
    let mut screen = Screen::new(80, 24);
    a_tree(&mut screen);
    expect![[r#"

        ! 1 needs you  ◌ 1 waits  ✓ 1 unread  ✗ 1 failed                        ← agents
        ! tester: run cargo test        y once  a session  n no  t no, why  Ctrl+A whole
          in /home/me/parser
          $ cargo test
        › Enter: with the next request   Tab: after this task
        sol·high | /home/me/parser | 9 s"#]]
    .assert_eq(&screen.shown());
}

#[test]
fn the_view_of_agents_is_grouped_and_tells_why() {
    let mut screen = Screen::new(80, 16);
    a_tree(&mut screen);
    screen.key("left");
    expect![[r#"
        AGENTS   ! 1 needs you  ◌ 1 waits  ✓ 1 unread  ✗ 1 failed        by state Ctrl+S
        NEEDS YOU                                    | /root/tester
        ›! 1 tester     run cargo test           9 s | asked  task of tester
        WAITING                                      | status works
         ◌ 2 bench      waits for a slot, 2 bef… 9 s | spent  9 s
        DONE, UNREAD                                 |
         ✓ 3 docs       2 files, tests ok        9 s |
        FAILED                                       |
         ✗ 4 linter     the provider is down     9 s |






        Enter open  Space peek  y answer  m message  x stop…  u resume  d diff  ? keys"#]]
    .assert_eq(&screen.shown());
    screen.key("ctrl-s");
    let shown = screen.shown();
    assert!(!shown.contains("NEEDS YOU") && shown.contains("by place"));
}

#[test]
fn an_agent_is_opened_with_a_draft_of_its_own_and_is_read_then() {
    let mut screen = Screen::new(80, 12);
    a_tree(&mut screen);
    screen.types("for the root");
    screen.key("alt-a");
    for _ in 0..2 {
        screen.key("down");
    }
    screen.key("enter");
    assert_eq!(screen.state.shown_agent(), AgentId(3));
    assert!(
        screen
            .effects
            .contains(&Effect::Ask(TreeRequest::Follow(AgentId(3))))
    );
    assert!(
        screen
            .effects
            .contains(&Effect::Ask(TreeRequest::MarkRead(AgentId(3))))
    );
    assert_eq!(screen.state.count(AgentGroup::DoneUnread), 0);
    assert_eq!(screen.state.composer.buffer.text(), "");
    screen.effects.clear();
    screen.types("more");
    screen.key("enter");
    assert!(screen.effects.contains(&Effect::Ask(TreeRequest::Send {
        to: AgentId(3),
        text: "more".to_owned(),
        urgency: crate::session::MessageUrgency::Regular,
    })));
    let event = Event {
        id: "task".into(),
        seq: 1,
        msg: serde_json::from_value(json!({"type": "item_completed", "thread_id": CHILD, "turn_id": "t",
            "item": {"type": "AgentMessage", "id": "a", "text": "Wrote the docs."}, "completed_at_ms": 1})).unwrap(),
    };
    screen.happened(AppEvent::Link(LinkMessage::AgentEvent {
        agent: AgentId(3),
        event: Box::new(event),
    }));
    expect![[r#"
        root › docs  · 9 s                                  3 of 4   Alt+←→   Alt+0 root
        task: task of docs

        Wrote the docs.


        ! 1 needs you  ◌ 1 waits  ✗ 1 failed                                    ← agents
        ! tester: run cargo test        y once  a session  n no  t no, why  Ctrl+A whole
          in /home/me/parser
          $ cargo test
        to docs › Enter: with its next request   Ctrl+Enter: interrupt first
        sol·high | /home/me/parser | 9 s"#]]
    .assert_eq(&screen.shown());
    screen.key("esc");
    assert_eq!(screen.state.composer.buffer.text(), "for the root");
}

#[test]
fn a_stop_says_first_whom_it_ends() {
    let mut screen = Screen::new(80, 16);
    a_tree(&mut screen);
    screen.key("left");
    screen.types("x");
    screen.key("down");
    let (agent, verb) = (AgentId(1), StopVerb::Cancel);
    assert!(
        screen
            .effects
            .contains(&Effect::Ask(TreeRequest::StopScope { agent, verb }))
    );
    expect![[r#"
        STOP tester

          interrupt ends this task of this one agent
        › cancel    ends the tasks of the agent and of everybody below it
          close     cancels, and takes no messages until it is resumed
          release   lets it go on without its parent

        stops 2 agents:
          /root/tester  works
          /root/tester/bench  waits for a slot, 2 before it

        What was done so far is kept; u in the list of agents resumes.



        Enter do it  Esc stay"#]]
    .assert_eq(&screen.shown());
    screen.happened(AppEvent::Link(LinkMessage::Tree(Box::new(
        TreeNews::StopScope {
            agent,
            verb,
            touched: vec![AgentId(1)],
            skipped: vec![(AgentId(2), "it has ended".to_owned())],
        },
    ))));
    assert!(
        screen.shown().contains("stops 1 agent:")
            && screen.shown().contains("not bench: it has ended")
    );
    screen.key("enter");
    assert!(
        screen
            .effects
            .contains(&Effect::Ask(TreeRequest::Stop { agent, verb }))
    );
}

#[test]
fn reports_say_more_than_events() {
    let mut screen = Screen::new(100, 16);
    a_tree(&mut screen);
    screen.item(json!({
        "type": "ToolCall", "id": "s", "tool": "spawn_agent", "arguments": {}, "status": "completed",
        "output": json!({"agent_id": CHILD, "requested": {"model": "max"},
            "why": ["the role allows mini alone"]}).to_string(),
    }));
    let known = screen.state.roster.get(AgentId(3)).unwrap().report.clone();
    screen.happened(AppEvent::Link(LinkMessage::Tree(Box::new(
        TreeNews::Agents(vec![AgentReport {
            role: Some("explorer".to_owned()),
            rights: Some("read-only, asks you".to_owned()),
            model: Some("mini".to_owned()),
            tokens: 61_000,
            ..known
        }]),
    ))));
    screen.key("left");
    for _ in 0..2 {
        screen.key("down");
    }
    let shown = screen.shown();
    for part in [
        "explorer",
        "max → mini",
        "read-only, asks you",
        "the role allows mini alone",
        "61 k tokens",
        "2 files, tests ok",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn sixty_four_agents_are_one_line() {
    let mut screen = Screen::new(80, 24);
    for number in 1..=64 {
        screen.child(number, &format!("worker_{number}"), json!("running"));
    }
    assert!(screen.shown().contains("● 64 work"));
    screen.key("left");
    for _ in 0..63 {
        screen.key("down");
    }
    assert!(screen.shown().contains("worker_64"));
}

#[test]
fn a_digit_opens_an_agent_and_pages_scroll_it() {
    let mut screen = Screen::new(80, 12);
    a_tree(&mut screen);
    screen.key("alt-9");
    assert!(screen.shown().contains("there is no agent 9"));
    screen.key("alt-3");
    assert_eq!(screen.state.shown_agent(), AgentId(3));
    for number in 0..20 {
        let msg = json!({"type": "item_completed", "thread_id": CHILD, "turn_id": "t", "completed_at_ms": 1,
            "item": {"type": "AgentMessage", "id": format!("a{number}"), "text": format!("answer {number}.")}});
        let event = Event {
            id: "task".into(),
            seq: 1,
            msg: serde_json::from_value(msg).unwrap(),
        };
        let agent = AgentId(3);
        screen.happened(AppEvent::Link(LinkMessage::AgentEvent {
            agent,
            event: Box::new(event),
        }));
    }
    assert!(screen.shown().contains("answer 19."));
    screen.key("pageup");
    let shown = screen.shown();
    assert!(
        !shown.contains("answer 19.") && shown.contains("rows below"),
        "{shown}"
    );
    screen.key("pagedown");
    assert!(screen.shown().contains("answer 19."));
    screen.key("alt-0");
    assert_eq!(screen.state.shown_agent(), AgentId::ROOT);
}

#[test]
fn an_agent_is_peeked_at_below_the_list_and_replied_to() {
    let mut screen = Screen::new(80, 16);
    a_tree(&mut screen);
    screen.types("for the root");
    screen.key("alt-a");
    for _ in 0..2 {
        screen.key("down");
    }
    screen.effects.clear();
    screen.key("space");
    let asked = |request: TreeRequest| Effect::Ask(request);
    let docs = AgentId(3);
    assert!(screen.effects.contains(&asked(TreeRequest::Follow(docs))));
    assert!(screen.effects.contains(&asked(TreeRequest::MarkRead(docs))));
    screen.types("well done");
    expect![[r#"
        AGENTS   ! 1 needs you  ◌ 1 waits  ✗ 1 failed                    by state Ctrl+S
         ✗ 4 linter     the provider is down                                         9 s
        ›· 3 docs       2 files, tests ok                                            9 s
        ────────────────────────────────────────────────────────────────────────────────
        root › docs  · 9 s                                  3 of 4   Alt+←→   Alt+0 root
        task: task of docs
        its conversation has not come yet



        ! 1 needs you  ◌ 1 waits  ✗ 1 failed                                    ← agents
        ! tester: run cargo test        y once  a session  n no  t no, why  Ctrl+A whole
          in /home/me/parser
          $ cargo test
        to docs › well done
        sol·high | /home/me/parser | 9 s"#]]
    .assert_eq(&screen.shown());
    screen.key("enter");
    assert!(screen.effects.contains(&asked(TreeRequest::Send {
        to: docs,
        text: "well done".to_owned(),
        urgency: crate::session::MessageUrgency::Regular,
    })));
    screen.key("esc");
    assert!(screen.effects.contains(&asked(TreeRequest::Unfollow(docs))));
    assert!(screen.shown().contains("AGENTS"));
    screen.key("esc");
    assert_eq!(screen.state.composer.buffer.text(), "for the root");
}

#[test]
fn what_an_agent_was_asked_did_and_got_is_one_page() {
    let mut screen = Screen::new(80, 16);
    a_tree(&mut screen);
    screen.key("alt-a");
    screen.types("i");
    assert!(
        screen
            .effects
            .contains(&Effect::Ask(TreeRequest::Result(AgentId(1))))
    );
    screen.happened(AppEvent::Link(LinkMessage::Tree(Box::new(
        TreeNews::NoResult {
            agent: AgentId(1),
            why: "it has ended no task".to_owned(),
        },
    ))));
    let shown = screen.shown();
    for part in ["TASK", "task of tester", "RESULT", "it has ended no task"] {
        assert!(shown.contains(part), "{shown}");
    }
    screen.key("esc");
    screen.types("d");
    assert!(screen.shown().contains("no file was changed by a patch"));
}

#[test]
fn a_new_agent_is_made_from_a_form() {
    let mut screen = Screen::new(80, 16);
    screen.types("/spawn");
    screen.key("enter");
    screen.happened(AppEvent::Link(LinkMessage::Tree(Box::new(
        TreeNews::Roles(vec![troupe_protocol::link::query::RoleCard {
            name: "explorer".to_owned(),
            description: "looks and changes nothing".to_owned(),
        }]),
    ))));
    screen.key("enter");
    assert!(screen.shown().contains("an agent needs a task"));
    screen.types("count the lines");
    for _ in 0..2 {
        screen.key("down");
    }
    screen.key("right");
    expect![[r#"
        NEW AGENT below root

          task      count the lines
          name      the engine finds one
        › role      explorer
          model     as the role says, or as yours
          effort    as the role says, or as yours
          sandbox   as yours; never more
          directory as yours; absolute

        explorer: looks and changes nothing

        an agent needs a task


        ↓ next line  → choose  Enter make it  Esc back"#]]
    .assert_eq(&screen.shown());
    for _ in 0..3 {
        screen.key("tab");
    }
    screen.types("everything");
    screen.key("enter");
    assert!(screen.shown().contains("sandbox: everything is none"));
    screen.key("ctrl-u");
    screen.key("right");
    screen.key("enter");
    let order = screen.effects.iter().find_map(|effect| match effect {
        Effect::Ask(TreeRequest::Spawn(order)) => Some(order.clone()),
        _ => None,
    });
    let order = order.unwrap();
    assert_eq!(order.task, "count the lines");
    assert_eq!(order.role.as_deref(), Some("explorer"));
    assert_eq!(
        order.sandbox,
        Some(troupe_protocol::policy::SandboxMode::ReadOnly)
    );
    assert!(screen.state.overlays.is_empty());
}
