//! What is said beside submissions and events.

use crate::link::{ClientRole, Hello, Secret};

pub mod requests {
    use crate::link::ClientRequest;

    examples! { ClientRequest:
        ClientRequest::Hello(_) => r#"{"type":"hello","token":"s3cret","client":"c1","role":"follow","after":41}"#,
        ClientRequest::TakeSeat => r#"{"type":"take_seat"}"#,
        ClientRequest::ReleaseSeat => r#"{"type":"release_seat"}"#,
        ClientRequest::Query { .. } => r#"{"type":"query","id":"q1","query":{"type":"stop_agents","agents":["/root/tester"],"verb":"cancel","dry_run":true}}"#,
        ClientRequest::FollowAgent { .. } => r#"{"type":"follow_agent","agent":2,"after":17}"#,
        ClientRequest::UnfollowAgent { .. } => r#"{"type":"unfollow_agent","agent":2}"#,
    }
}

pub mod notices {
    use crate::link::ServerNotice;

    examples! { ServerNotice:
        ServerNotice::Welcome(_) => r#"{"type":"welcome","version":2,"client":"c2","secret":"s","role":"follow","driver":"c1","asking":["c2"],"seq":41}"#,
        ServerNotice::Seat(_) => r#"{"type":"seat","role":"drive","driver":"c2"}"#,
        ServerNotice::Accepted { .. } => r#"{"type":"accepted","id":"8"}"#,
        ServerNotice::Refused { .. } => r#"{"type":"refused","id":"8","error":{"message":"c1 drives","fatal":false,"error_info":"not_driving"}}"#,
        ServerNotice::Lagged { .. } => r#"{"type":"lagged","after":41,"upto":9000}"#,
        ServerNotice::Answer { .. } => r#"{"type":"answer","id":"q1","answer":{"type":"stopped","touched":[{"agent_id":1,"path":"/root/tester","verb":"cancel"}]}}"#,
        ServerNotice::AgentEvent { .. } => r#"{"type":"agent_event","agent":2,"event":{"id":"t1","seq":3,"msg":{"type":"shutdown_complete"}}}"#,
        ServerNotice::Goodbye { .. } => r#"{"type":"goodbye","reason":"session_ended","message":"the session has ended"}"#,
    }
}

#[test]
fn a_hello_needs_nothing_but_its_type() {
    let hello: Hello = serde_json::from_str("{}").unwrap();
    assert_eq!(hello, Hello::default());
    assert_eq!((hello.role, hello.after), (ClientRole::Drive, 0));
}

#[test]
fn a_token_is_not_shown() {
    let hello = Hello {
        token: Some(Secret("s3cret".to_owned())),
        ..Hello::default()
    };
    assert!(!format!("{hello:?}").contains("s3cret"));
}
