//! The tree of a session, asked and acted in over every transport.

use troupe_agents::Family;
use troupe_protocol::agent::{AgentCard, AgentStatus};
use troupe_protocol::error::ErrorInfo;
use troupe_protocol::input::UserInput;
use troupe_protocol::link::query::{LinkAnswer, LinkQuery, MessageUrgency};
use troupe_protocol::link::{HistoryStart, ServerNotice};
use troupe_protocol::{AgentId, EventMsg, StopVerb};
use troupe_testkit::Stage;

use super::house::{ALL, Guest, House, following};

const PLAY: &str = r#"
[[scene]]
when = "errand"
[[scene.turn]]
steps = [{ say = "fetched" }]
[[scene.turn]]
steps = [{ say = "fetched a second time" }]

[[scene]]
[[scene.turn]]
steps = [{ call = "spawn_agent", arguments = { message = "errand" } }]
[[scene.turn]]
steps = [{ call = "wait", arguments = { ids = ["1"] } }]
[[scene.turn]]
steps = [{ say = "done" }]
[[scene.turn]]
steps = [{ say = "done" }]
"#;

/// Opens a session whose agent has had its child fetch something.
async fn after_an_errand(kind: &str) -> (Stage, House, Guest) {
    let stage = Stage::new(PLAY).await.with_agents(&[Family::Agents]);
    let house = House::open(&stage).await;
    let mut driver = house.drive(kind).await;
    driver.say("go").await;
    driver.until_task_ends().await;
    (stage, house, driver)
}

async fn agents(guest: &mut Guest) -> Vec<AgentCard> {
    let query = LinkQuery::Agents {
        include_closed: true,
    };
    match guest.answer("look", query).await {
        LinkAnswer::Agents { agents } => agents,
        other => panic!("{other:?}"),
    }
}

fn send(text: &str) -> LinkQuery {
    LinkQuery::SendToAgent {
        agent: "1".to_owned(),
        items: vec![UserInput::text(text)],
        urgency: MessageUrgency::Regular,
    }
}

fn close(dry_run: bool) -> LinkQuery {
    LinkQuery::StopAgents {
        agents: vec!["1".to_owned()],
        verb: StopVerb::Close,
        dry_run,
        note: None,
    }
}

#[tokio::test]
async fn a_stop_says_whom_it_reaches_before_it_does() {
    for kind in ALL {
        let (_stage, _house, mut driver) = after_an_errand(kind).await;
        let seen = agents(&mut driver).await;
        let numbers: Vec<AgentId> = seen.iter().map(|card| card.agent_id).collect();
        assert_eq!(numbers, [AgentId::ROOT, AgentId(1)], "{kind}");
        let child = &seen[1];
        assert!(child.made.is_some() && child.tokens.own > 0, "{child:?}");

        let LinkAnswer::Stopped { touched, .. } = driver.answer("dry", close(true)).await else {
            panic!("no list");
        };
        assert_eq!(touched[0].verb, StopVerb::Close);
        assert_eq!(touched[0].path, child.path);
        let status = &agents(&mut driver).await[1].status;
        assert!(matches!(status, AgentStatus::Completed(_)), "{status:?}");

        driver.answer("act", close(false)).await;
        let status = &agents(&mut driver).await[1].status;
        assert_eq!(*status, AgentStatus::Shutdown, "{kind}");
    }
}

#[tokio::test]
async fn a_result_comes_with_what_the_engine_saw() {
    let (_stage, _house, mut driver) = after_an_errand("ws").await;
    let query = LinkQuery::AgentResult {
        agent: "1".to_owned(),
        task_id: None,
    };
    let LinkAnswer::Result { result } = driver.answer("r", query).await else {
        panic!("no result");
    };
    assert_eq!(result.last_message.as_deref(), Some("fetched"));
    assert_eq!(result.evidence.messages, 1);

    let nobody = LinkQuery::AgentResult {
        agent: "7".to_owned(),
        task_id: None,
    };
    let ServerNotice::Refused { error, .. } = driver.ask("n", nobody).await else {
        panic!("a result of nobody");
    };
    assert!(error.message.contains('7'), "{}", error.message);
}

#[tokio::test]
async fn a_follower_may_look_and_not_act() {
    let (_stage, house, _driver) = after_an_errand("unix").await;
    for kind in ALL {
        let mut follower = house.follow(kind).await;
        assert_eq!(agents(&mut follower).await.len(), 2, "{kind}");
        let looked = follower.answer("dry", close(true)).await;
        assert!(matches!(looked, LinkAnswer::Stopped { .. }), "{kind}");
        for query in [send("errand"), close(false)] {
            let ServerNotice::Refused { error, .. } = follower.ask("act", query).await else {
                panic!("{kind}: a follower acted");
            };
            assert_eq!(error.error_info, Some(ErrorInfo::NotDriving), "{kind}");
        }
    }
}

/// Reads what an agent says until its task is over, as the kinds of what came.
async fn heard(guest: &mut Guest, agent: AgentId) -> Vec<EventMsg> {
    let mut heard = Vec::new();
    loop {
        let notice = guest
            .notice(|notice| matches!(notice, ServerNotice::AgentEvent { .. }))
            .await;
        let ServerNotice::AgentEvent { agent: from, event } = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(from, agent);
        let is_end = matches!(event.msg, EventMsg::TurnComplete(_));
        heard.push(event.msg);
        if is_end {
            return heard;
        }
    }
}

fn texts(heard: &[EventMsg]) -> Vec<&str> {
    let texts = heard.iter().filter_map(|msg| match msg {
        EventMsg::AgentMessage { message } => Some(message.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn an_agent_that_is_followed_tells_its_past_and_then_what_happens() {
    for kind in ALL {
        let (_stage, house, mut driver) = after_an_errand("tcp").await;
        let mut follower = house.follow(kind).await;
        follower
            .client
            .submitter()
            .follow(AgentId(1))
            .await
            .unwrap();
        let past = heard(&mut follower, AgentId(1)).await;
        assert!(
            matches!(past[0], EventMsg::SessionConfigured(_)),
            "{past:?}"
        );
        assert_eq!(texts(&past), ["fetched"], "{kind}");

        driver.answer("more", send("errand")).await;
        let present = heard(&mut follower, AgentId(1)).await;
        assert_eq!(texts(&present), ["fetched a second time"], "{kind}");
        let is_delta = |msg: &EventMsg| matches!(msg, EventMsg::AgentMessageContentDelta(_));
        assert!(present.iter().any(is_delta), "{kind}: {present:?}");
    }
}

#[tokio::test]
async fn sessions_are_listed_with_the_counts_of_their_trees() {
    let (_stage, _house, mut driver) = after_an_errand("grpc").await;
    let query = LinkQuery::Sessions(troupe_protocol::link::query::SessionFilter::default());
    let LinkAnswer::Sessions { sessions, next } = driver.answer("s", query).await else {
        panic!("no list");
    };
    assert_eq!((sessions.len(), next), (1, None));
    let session = &sessions[0];
    assert_eq!(session.preview.as_deref(), Some("go"));
    assert_eq!((session.tree.agents, session.tree.questions), (1, 0));
    assert!(session.tree.is_open);
}

#[tokio::test]
async fn what_was_typed_is_kept_for_every_client() {
    let (_stage, house, mut driver) = after_an_errand("http").await;
    for text in ["one", "two"] {
        let text = text.to_owned();
        driver.answer("add", LinkQuery::AddPrompt { text }).await;
    }
    let mut other = house.follow("unix").await;
    let query = LinkQuery::Prompts { limit: None };
    let LinkAnswer::Prompts { prompts } = other.answer("p", query).await else {
        panic!("no prompts");
    };
    assert_eq!(prompts, ["one", "two"]);
}

#[tokio::test]
async fn who_comes_late_may_begin_with_the_session() {
    let (stage, house, mut driver) = after_an_errand("unix").await;
    let session = agents(&mut driver).await[0].session_id;
    driver.shut_down().await;
    house.ended().await;

    let house = House::open(&stage).await;
    let mut again = house
        .join("unix", troupe_client::ClientOptions::default())
        .await
        .unwrap();
    again
        .submit(troupe_protocol::Op::ConfigureSession(
            troupe_protocol::op::ConfigureSession {
                resume: Some(session),
                ..Default::default()
            },
        ))
        .await;
    for kind in ALL {
        let options = troupe_client::ClientOptions {
            history: HistoryStart::Session,
            ..following(0)
        };
        let mut late = house.join(kind, options).await.unwrap();
        let told = late.until_task_ends().await;
        assert_eq!(told[0].seq, 1, "{kind}");
        assert!(
            matches!(told[0].msg, EventMsg::SessionConfigured(_)),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn what_one_client_has_read_is_read_for_all() {
    let (_stage, house, mut driver) = after_an_errand("http").await;
    let is_read = |cards: Vec<AgentCard>| cards[1].read;
    assert!(!is_read(agents(&mut driver).await));
    let agent = "1".to_owned();
    let mut other = house.follow("unix").await;
    let answer = other.answer("r", LinkQuery::MarkRead { agent }).await;
    assert_eq!(answer, LinkAnswer::Read);
    assert!(is_read(agents(&mut driver).await));
}

#[tokio::test]
async fn roles_and_inboxes_are_asked_for() {
    let (_stage, _house, mut driver) = after_an_errand("http").await;
    let LinkAnswer::Roles { roles } = driver.answer("r", LinkQuery::Roles).await else {
        panic!("no roles");
    };
    let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    assert!(names.contains(&"explorer"), "{names:?}");
    let agent = "1".to_owned();
    driver.answer("s", send("again")).await;
    let query = LinkQuery::AgentInbox { agent };
    let LinkAnswer::Inbox { messages } = driver.answer("i", query).await else {
        panic!("no inbox");
    };
    assert!(!messages.is_empty());
}
