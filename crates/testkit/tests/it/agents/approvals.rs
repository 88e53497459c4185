//! Questions of children: where they are asked, and what the answers do.

use std::path::PathBuf;

use serde_json::{Value, json};
use troupe_protocol::EventMsg;
use troupe_protocol::agent::AgentStatus;
use troupe_protocol::approval::{ExecApprovalRequest, ReviewDecision};
use troupe_protocol::op::Op;
use troupe_protocol::policy::{ApprovalPolicy, SandboxPolicy};
use troupe_testkit::{Actor, Stage};

use super::play::{
    self, Cue, agent, agents, answer, answers, answers_of, begin, call, end, play, recorded,
    requests_of, role, scene, seen, until_there,
};

/// A stage on which writing has to be asked for, with a second directory beside the first.
async fn stage(children: &str, cues: &[Cue]) -> Stage {
    let stage = play::stage(children, cues).await;
    std::fs::create_dir(elsewhere(&stage)).expect("the stage is writable");
    stage
        .approval(ApprovalPolicy::Untrusted)
        .sandbox(SandboxPolicy::workspace_write())
}

fn elsewhere(stage: &Stage) -> PathBuf {
    stage
        .cwd()
        .parent()
        .expect("it has a parent")
        .join("elsewhere")
}

fn spawn(arguments: Value) -> Cue {
    ("spawn_agent", arguments)
}

fn spawn_elsewhere() -> Cue {
    spawn(
        json!({"message": "look there", "task_name": "away", "working_directory": "../elsewhere"}),
    )
}

fn wait(id: &str) -> Cue {
    ("wait", json!({"ids": [id]}))
}

/// Waits for the next question at the root.
async fn question(actor: &mut Actor) -> ExecApprovalRequest {
    let msgs = actor
        .until(|msg| matches!(msg, EventMsg::ExecApprovalRequest(_)))
        .await;
    match msgs.into_iter().next_back() {
        Some(EventMsg::ExecApprovalRequest(request)) => request,
        other => panic!("until returns what it waited for: {other:?}"),
    }
}

async fn reply(actor: &mut Actor, request: &ExecApprovalRequest, decision: ReviewDecision) {
    let id = request.call_id.to_string();
    actor.submit(Op::ExecApproval { id, decision }).await;
}

fn questions(events: &[EventMsg]) -> Vec<&ExecApprovalRequest> {
    let asked = events.iter().filter_map(|msg| match msg {
        EventMsg::ExecApprovalRequest(request) => Some(request),
        _ => None,
    });
    asked.collect()
}

#[tokio::test]
async fn the_same_working_directory_needs_no_word() {
    let cues = [
        spawn(json!({"message": "work", "working_directory": "."})),
        spawn(json!({"message": "work", "working_directory": "../work/"})),
        spawn(json!({"message": "work", "working_directory": "nowhere"})),
    ];
    let stage = stage("", &cues).await;
    let actor = play(&stage).await;
    assert_eq!(questions(&seen(&actor)).len(), 0);
    assert_eq!(agents(&actor).await.len(), 2);
    let missing = &answers(&stage, &actor).await[2];
    assert!(
        missing.starts_with("working_directory CWD/nowhere: "),
        "{missing}"
    );
    end(actor).await;
}

#[tokio::test]
async fn another_working_directory_is_asked_for_and_granted() {
    let look = call(&("shell_command", json!({"command": "pwd"})));
    let children = scene("look there", &[&look, "{ say = 'looked' }"]);
    let stage = stage(&children, &[spawn_elsewhere(), wait("away")]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    let away = elsewhere(&stage).canonicalize().unwrap();
    let shown = away.display().to_string();
    assert_eq!(
        asked.command,
        ["spawn_agent", "--working-directory", shown.as_str()]
    );
    assert_eq!(asked.agent, None, "it is the root's own");
    reply(&mut actor, &asked, ReviewDecision::Approved).await;
    actor.until_task_ends().await;
    let spawned = answer(&stage, &actor, 0).await;
    assert_eq!(spawned["effective"]["working_directory"], shown);
    let kid = agent(&actor, "/root/away").await;
    let told = &answers_of(&stage, kid.session)[0];
    assert!(told.contains(&shown), "{told}");
    end(actor).await;
}

#[tokio::test]
async fn a_denied_working_directory_is_no_spawn() {
    let stage = stage("", &[spawn_elsewhere()]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    let refusal = &answers(&stage, &actor).await[0];
    assert!(refusal.contains("was not approved"), "{refusal}");
    assert_eq!(agents(&actor).await.len(), 0);
    end(actor).await;
}

#[tokio::test]
async fn an_abort_is_no_spawn_and_ends_the_task() {
    let stage = stage("", &[spawn_elsewhere()]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Abort).await;
    let ended = actor.until_task_ends().await;
    assert!(matches!(ended.last(), Some(EventMsg::TurnAborted(_))));
    assert_eq!(agents(&actor).await.len(), 0);
    end(actor).await;
}

#[tokio::test]
async fn a_childs_wish_for_another_directory_is_asked_in_its_parents_turn() {
    let away = call(&spawn_elsewhere());
    let settle = call(&wait("away"));
    let deep = call(&spawn(
        json!({"message": "send one away", "task_name": "inner"}),
    ));
    let wait_inner = call(&wait("inner"));
    let children = scene("send one away", &[&away, &settle, "{ say = 'sent' }"])
        + &scene("have a child", &[&deep, &wait_inner, "{ say = 'had' }"]);
    let cues = [
        spawn(json!({"message": "have a child", "task_name": "outer"})),
        wait("outer"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    let label = asked.agent.clone().unwrap();
    assert_eq!(label.path, "/root/outer/inner");
    assert!(
        asked.call_id.0.starts_with("/root/outer/inner#"),
        "{}",
        asked.call_id
    );
    reply(&mut actor, &asked, ReviewDecision::Approved).await;
    actor.until_task_ends().await;
    let kid = agent(&actor, "/root/outer/inner/away").await;
    assert_eq!(
        kid.wire_status(),
        AgentStatus::Completed(Some("ok".to_owned()))
    );
    let outer = agent(&actor, "/root/outer").await;
    end(actor).await;
    let at_the_parent = recorded(&stage, outer.session).await;
    let shown = questions(&at_the_parent);
    assert_eq!(shown.len(), 1);
    assert_eq!(
        (&shown[0].call_id, &shown[0].agent),
        (&asked.call_id, &asked.agent)
    );
}

#[tokio::test]
async fn a_denied_directory_of_a_childs_child_is_no_spawn() {
    let away = call(&spawn_elsewhere());
    let children = scene("send one away", &[&away, "{ say = 'stayed' }"]);
    let cues = [
        spawn(json!({"message": "send one away", "task_name": "kid"})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    assert_eq!(agents(&actor).await.len(), 1);
    let kid = agent(&actor, "/root/kid").await;
    let told = &answers_of(&stage, kid.session)[0];
    assert!(told.contains("was not approved"), "{told}");
    end(actor).await;
}

#[tokio::test]
async fn an_abort_of_a_childs_wish_interrupts_the_child_and_not_its_parent() {
    let away = call(&spawn_elsewhere());
    let children = scene("send one away", &[&away, "{ say = 'never said' }"]);
    let cues = [
        spawn(json!({"message": "send one away", "task_name": "kid"})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Abort).await;
    let ended = actor.until_task_ends().await;
    assert!(matches!(ended.last(), Some(EventMsg::TurnComplete(_))));
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"/root/kid": "interrupted"}));
    let kid = agent(&actor, "/root/kid").await;
    assert_eq!(requests_of(&stage, kid.session).len(), 1);
    assert_eq!(agents(&actor).await.len(), 1);
    end(actor).await;
}

#[tokio::test]
async fn without_a_turn_of_its_parent_a_child_asks_in_its_own_session_and_says_so() {
    let (hold, away) = (until_there("gate"), call(&spawn_elsewhere()));
    let children = scene("send one away", &[&hold, &away, "{ say = 'sent' }"]);
    let cues = [spawn(
        json!({"message": "send one away", "task_name": "kid", "approvals": "route"}),
    )];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    // The child's command is one to be asked for as well.
    let command = question(&mut actor).await;
    reply(&mut actor, &command, ReviewDecision::Approved).await;
    if !seen(&actor)
        .iter()
        .any(|msg| matches!(msg, EventMsg::TurnComplete(_)))
    {
        actor.until_task_ends().await;
    }
    stage.write("gate", "");
    let asked = question(&mut actor).await;
    assert_eq!(asked.command[0], "spawn_agent");
    assert_eq!(asked.agent.clone().unwrap().path, "/root/kid");
    reply(&mut actor, &asked, ReviewDecision::Approved).await;
    actor.agents().wait_until_idle().await;
    let kid = agent(&actor, "/root/kid").await;
    assert_eq!(agents(&actor).await.len(), 2);
    end(actor).await;
    let told = recorded(&stage, kid.session).await;
    let warned = told.iter().any(|msg| {
        matches!(msg, EventMsg::Warning { message } if message.starts_with("no parent could be asked"))
    });
    assert!(warned, "{told:#?}");
    assert_eq!(questions(&told).len(), 2, "in its own session");
}

/// A child that makes a file, which has to be asked for.
fn maker(file: &str) -> String {
    let touch = call(&("shell_command", json!({"command": format!("touch {file}")})));
    scene(&format!("make {file}"), &[&touch, "{ say = 'tried' }"])
}

fn make(file: &str, approvals: &str) -> Cue {
    let message = format!("make {file}");
    spawn(json!({"message": message, "task_name": file, "approvals": approvals}))
}

#[tokio::test]
async fn a_childs_command_is_asked_for_at_the_root_with_its_path() {
    let stage = stage(&maker("one"), &[make("one", "route"), wait("one")]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    let label = asked.agent.clone().unwrap();
    assert_eq!(label.path, "/root/one");
    assert_eq!(label.session_id, agent(&actor, "/root/one").await.session);
    reply(&mut actor, &asked, ReviewDecision::Approved).await;
    let rest = actor.until_task_ends().await;
    let resolved = rest.iter().any(|msg| {
        matches!(msg, EventMsg::ApprovalResolved { call_id, decision: ReviewDecision::Approved }
            if *call_id == asked.call_id)
    });
    assert!(resolved, "{rest:#?}");
    assert!(stage.cwd().join("one").exists());
    end(actor).await;
}

#[tokio::test]
async fn a_denied_command_does_not_run_and_the_child_goes_on() {
    let stage = stage(&maker("one"), &[make("one", "route"), wait("one")]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(
        waited["status"],
        json!({"/root/one": {"completed": "tried"}})
    );
    assert!(!stage.cwd().join("one").exists());
    end(actor).await;
}

#[tokio::test]
async fn an_abort_interrupts_the_childs_task_and_not_its_parents() {
    let stage = stage(&maker("one"), &[make("one", "route"), wait("one")]).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    reply(&mut actor, &asked, ReviewDecision::Abort).await;
    let ended = actor.until_task_ends().await;
    assert!(matches!(ended.last(), Some(EventMsg::TurnComplete(_))));
    let waited = answer(&stage, &actor, 1).await;
    assert_eq!(waited["status"], json!({"/root/one": "interrupted"}));
    end(actor).await;
}

#[tokio::test]
async fn questions_of_several_children_are_answered_each_by_its_id() {
    let children = maker("one") + &maker("two");
    let cues = [
        make("one", "route"),
        make("two", "route"),
        wait("one"),
        wait("two"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let first = question(&mut actor).await;
    let second = question(&mut actor).await;
    assert_ne!(first.call_id, second.call_id);
    let is_one = |asked: &ExecApprovalRequest| asked.agent.as_ref().unwrap().path == "/root/one";
    for asked in [&second, &first] {
        let decision = if is_one(asked) {
            ReviewDecision::Approved
        } else {
            ReviewDecision::Denied
        };
        reply(&mut actor, asked, decision).await;
    }
    actor.until_task_ends().await;
    assert!(stage.cwd().join("one").exists());
    assert!(!stage.cwd().join("two").exists());
    end(actor).await;
}

#[tokio::test]
async fn where_nobody_is_to_be_asked_the_child_is_refused() {
    const SHY: &str = "---\ndescription: asks nobody\napprovals: never\n---\nYou ask nobody.\n";
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let children = scene("make two", &[&touch, "{ say = 'tried' }"]);
    let cues = [
        spawn(json!({"message": "make two", "task_name": "call", "approvals": "never"})),
        wait("call"),
        spawn(json!({"message": "make two", "task_name": "role", "agent_type": "shy"})),
        wait("role"),
    ];
    let stage = stage(&children, &cues).await;
    let stage = stage.sandbox(SandboxPolicy::read_only());
    role(&stage, "shy", SHY);
    let actor = play(&stage).await;
    assert_eq!(questions(&seen(&actor)).len(), 0);
    assert!(!stage.cwd().join("made").exists());
    let of_role = answer(&stage, &actor, 2).await;
    assert_eq!(of_role["effective"]["approvals"], "never");
    assert_eq!(of_role["effective"]["approval_policy"], "never");
    let why = of_role["why"].to_string();
    assert!(
        why.contains("nobody is asked for approval: the role shy says so"),
        "{why}"
    );
    end(actor).await;
}

#[tokio::test]
async fn a_question_for_the_parent_is_shown_in_its_turn_and_at_the_root() {
    let deep = call(&make("one", "parent"));
    let wait_deep = call(&wait("one"));
    let children = maker("one") + &scene("have a child", &[&deep, &wait_deep, "{ say = 'had' }"]);
    let cues = [
        spawn(json!({"message": "have a child", "task_name": "outer"})),
        wait("outer"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    assert_eq!(asked.agent.clone().unwrap().path, "/root/outer/one");
    reply(&mut actor, &asked, ReviewDecision::Approved).await;
    actor.until_task_ends().await;
    let outer = agent(&actor, "/root/outer").await;
    end(actor).await;
    let at_the_parent = recorded(&stage, outer.session).await;
    assert_eq!(questions(&at_the_parent).len(), 1);
    assert!(stage.cwd().join("one").exists());
}

#[tokio::test]
async fn a_childs_wish_for_another_directory_is_a_row_of_its_own_log() {
    let away = call(&spawn_elsewhere());
    let children = scene("send one away", &[&away, "{ say = 'sent' }"]);
    let cues = [
        spawn(json!({"message": "send one away", "task_name": "kid"})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let asked = question(&mut actor).await;
    let kid = agent(&actor, "/root/kid").await;
    let store = stage.store();
    let root = actor.session_id();
    // The line of the child's own log may come a moment after the root's.
    let row = loop {
        let mut rows = store.open_approvals(root).await.unwrap();
        if let Some(row) = rows.pop() {
            assert_eq!(rows.len(), 0, "{rows:?}");
            break row;
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(row.session, kid.session);
    assert!(row.what.starts_with("spawn_agent "), "{row:?}");
    reply(&mut actor, &asked, ReviewDecision::Denied).await;
    actor.until_task_ends().await;
    end(actor).await;
    assert_eq!(store.open_approvals(root).await.unwrap().len(), 0);
    let own = recorded(&stage, kid.session).await;
    let own = questions(&own);
    assert_eq!(own.len(), 1);
    assert_eq!(own[0].agent, None, "it is the child's own");
}

#[tokio::test]
async fn one_yes_for_the_session_settles_the_same_question_of_every_agent() {
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let children = scene("make it", &[&touch, "{ say = 'made' }"]);
    let make =
        |name: &str| spawn(json!({"message": "make it", "task_name": name, "approvals": "route"}));
    let cues = [
        make("one"),
        make("two"),
        wait("one"),
        wait("two"),
        make("three"),
        wait("three"),
    ];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let first = question(&mut actor).await;
    let second = question(&mut actor).await;
    assert_eq!(first.command, second.command);
    reply(&mut actor, &first, ReviewDecision::ApprovedForSession).await;
    actor.until_task_ends().await;
    let msgs = seen(&actor);
    assert_eq!(questions(&msgs).len(), 2, "the third is not asked");
    let resolved = |asked: &ExecApprovalRequest| {
        msgs.iter().any(|msg| {
            matches!(msg, EventMsg::ApprovalResolved { call_id, decision: ReviewDecision::ApprovedForSession }
                if *call_id == asked.call_id)
        })
    };
    assert!(resolved(&first) && resolved(&second), "{msgs:#?}");
    for name in ["/root/one", "/root/two", "/root/three"] {
        let status = agent(&actor, name).await.wire_status();
        assert_eq!(status, AgentStatus::Completed(Some("made".to_owned())));
    }
    end(actor).await;
}

#[tokio::test]
async fn a_yes_for_once_settles_one_question() {
    let touch = call(&("shell_command", json!({"command": "touch made"})));
    let children = scene("make it", &[&touch, "{ say = 'made' }"]);
    let make =
        |name: &str| spawn(json!({"message": "make it", "task_name": name, "approvals": "route"}));
    let cues = [make("one"), make("two"), wait("one"), wait("two")];
    let stage = stage(&children, &cues).await;
    let mut actor = begin(&stage).await;
    let first = question(&mut actor).await;
    let second = question(&mut actor).await;
    reply(&mut actor, &first, ReviewDecision::Approved).await;
    actor
        .until(|msg| matches!(msg, EventMsg::ApprovalResolved { .. }))
        .await;
    reply(&mut actor, &second, ReviewDecision::Denied).await;
    let rest = actor.until_task_ends().await;
    let denied = rest.iter().any(|msg| {
        matches!(msg, EventMsg::ApprovalResolved { call_id, decision: ReviewDecision::Denied }
            if *call_id == second.call_id)
    });
    assert!(denied, "{rest:#?}");
    end(actor).await;
}

/// `read_only` is no wish: a yes to one command does not undo it, for the child or below it.
#[tokio::test]
async fn nothing_leaves_the_sandbox_of_a_read_only_role_whoever_agrees() {
    const SCOUT: &str = "---\ndescription: looks\nread_only: true\n---\nYou look.\n";
    let leave = call(&(
        "shell_command",
        json!({"command": "touch escaped", "sandbox_permissions": "require_escalated",
               "justification": "may I?"}),
    ));
    let patch = call(&(
        "shell_command",
        json!({"command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: patched\n+x\n*** End Patch\nEOF"}),
    ));
    let below = call(&spawn(
        json!({"message": "leave too", "task_name": "below"}),
    ));
    let wait_below = call(&wait("below"));
    let children = scene("leave too", &[&leave, "{ say = 'stayed' }"])
        + &scene(
            "leave it",
            &[&leave, &patch, &below, &wait_below, "{ say = 'stayed' }"],
        );
    let cues = [
        spawn(json!({"message": "leave it", "task_name": "kid", "agent_type": "scout"})),
        wait("kid"),
    ];
    let stage = stage(&children, &cues).await;
    let stage = stage.approval(ApprovalPolicy::OnRequest);
    role(&stage, "scout", SCOUT);
    let actor = play(&stage).await;
    assert_eq!(questions(&seen(&actor)).len(), 0);
    assert!(!stage.cwd().join("escaped").exists());
    assert!(!stage.cwd().join("patched").exists());
    for (path, refusals) in [("/root/kid", 2), ("/root/kid/below", 1)] {
        let session = agent(&actor, path).await.session;
        let told = answers_of(&stage, session);
        for text in &told[..refusals] {
            assert!(
                text.contains("the role scout is read-only"),
                "{path}: {text}"
            );
        }
    }
    end(actor).await;
}

#[tokio::test]
async fn the_engines_own_directory_is_nobodys_working_directory() {
    let home =
        |directory: &str| spawn(json!({"message": "look there", "working_directory": directory}));
    for policy in [ApprovalPolicy::Never, ApprovalPolicy::OnRequest] {
        let stage = stage_of_home(policy, &home).await;
        let actor = play(&stage).await;
        assert_eq!(questions(&seen(&actor)).len(), 0);
        assert_eq!(agents(&actor).await.len(), 0);
        for text in answers(&stage, &actor).await {
            assert!(text.contains("kept from agents"), "{text}");
        }
        end(actor).await;
    }
}

async fn stage_of_home(policy: ApprovalPolicy, home: &dyn Fn(&str) -> Cue) -> Stage {
    let stage = stage("", &[home("../home"), home("../home/agents")]).await;
    std::fs::create_dir_all(stage.home().join("agents")).expect("the stage is writable");
    stage.approval(policy)
}
