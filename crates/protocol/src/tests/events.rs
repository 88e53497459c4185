use expect_test::{Expect, expect};

use crate::tests::example;
use crate::{Event, EventMsg};

examples! { EventMsg:
    EventMsg::SessionConfigured(_) =>
        r#"{"type":"session_configured","session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","forked_from_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","thread_name":"parser","thread_note":"slow","model_provider_id":"openai","cwd":"/repo","approval_policy":"on-request","sandbox_policy":{"type":"read-only","network_access":false},"model":"m-1","effort":"high","summary":"auto","collaboration_mode":"default","personality":"friendly","history_entry_count":3,"rollout_path":"/home/rollout.jsonl"}"#,
    EventMsg::ThreadNameUpdated { .. } =>
        r#"{"type":"thread_name_updated","thread_name":"parser"}"#,
    EventMsg::ThreadNoteUpdated { .. } =>
        r#"{"type":"thread_note_updated"}"#,
    EventMsg::TurnContextUpdated(_) =>
        r#"{"type":"turn_context_updated","cwd":"/repo","approval_policy":"never","sandbox_policy":{"type":"danger-full-access"},"model":"m-1","summary":"detailed","collaboration_mode":"plan","mode_instructions":"Plan in verse."}"#,
    EventMsg::ShutdownComplete =>
        r#"{"type":"shutdown_complete"}"#,
    EventMsg::TurnStarted(_) =>
        r#"{"type":"task_started","turn_id":"1","started_at_ms":1700000000000,"model_context_window":200000,"collaboration_mode_kind":"default"}"#,
    EventMsg::TurnComplete(_) =>
        r#"{"type":"task_complete","turn_id":"1","last_agent_message":"done","response_id":"resp_1","duration_ms":1200}"#,
    EventMsg::TurnAborted(_) =>
        r#"{"type":"turn_aborted","turn_id":"1","reason":"interrupted","last_agent_message":"so far","response_id":"resp_1"}"#,
    EventMsg::ResponseCompleted { .. } =>
        r#"{"type":"response_completed","turn_id":"1","response_id":"resp_1","usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":2,"total_tokens":15}}"#,
    EventMsg::SteerReceipt(_) =>
        r#"{"type":"steer_receipt","status":"queued","turn_id":"1","position":0}"#,
    EventMsg::TokenCount { .. } =>
        r#"{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":2,"total_tokens":15},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"cache_write_input_tokens":0,"output_tokens":5,"reasoning_output_tokens":2,"total_tokens":15},"model_context_window":200000},"rate_limits":{"primary":{"used_percent":12.5,"window_minutes":300,"resets_at":1700000000}}}"#,
    EventMsg::ContextCompacted =>
        r#"{"type":"context_compacted"}"#,
    EventMsg::ThreadRolledBack { .. } =>
        r#"{"type":"thread_rolled_back","num_turns":2}"#,
    EventMsg::ItemsInjected { .. } =>
        r#"{"type":"items_injected","items":[{"type":"message","role":"user","content":[{"type":"input_text","text":"note"}]}]}"#,
    EventMsg::UndoStarted { .. } =>
        r#"{"type":"undo_started","message":"taking back"}"#,
    EventMsg::UndoCompleted(_) =>
        r#"{"type":"undo_completed","success":true,"message":"done","dry_run":true,"turns":["1"],"restored":["/repo/a"],"removed":["/repo/b"],"conflicts":[{"path":"/repo/c","reason":"it was changed since"}],"notes":["a command ran outside of a repository"]}"#,
    EventMsg::Error(_) =>
        r#"{"type":"error","message":"interrupted","fatal":true,"error_info":"interrupted"}"#,
    EventMsg::StreamError(_) =>
        r#"{"type":"stream_error","message":"connection lost","attempt":1,"attempts_max":5,"retry_in_ms":200,"error_info":{"response_stream_disconnected":{"http_status_code":502}}}"#,
    EventMsg::Warning { .. } =>
        r#"{"type":"warning","message":"unknown key"}"#,
    EventMsg::DeprecationNotice { .. } =>
        r#"{"type":"deprecation_notice","summary":"old key","details":"use the new one"}"#,
    EventMsg::BackgroundEvent(_) =>
        r#"{"type":"background_event","message":"child completed","is_final":true,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8"}"#,
    EventMsg::ItemStarted { .. } =>
        r#"{"type":"item_started","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item":{"type":"AgentMessage","id":"msg_1","text":""},"started_at_ms":1700000000000}"#,
    EventMsg::ItemCompleted { .. } =>
        r#"{"type":"item_completed","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item":{"type":"Reasoning","id":"rs_1","summary_text":["Thinking"],"raw_content":["hm"]},"completed_at_ms":1700000000000}"#,
    EventMsg::AgentMessageContentDelta(_) =>
        r#"{"type":"agent_message_content_delta","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item_id":"msg_1","delta":"He"}"#,
    EventMsg::PlanDelta(_) =>
        r##"{"type":"plan_delta","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item_id":"plan_1","delta":"# Plan","snapshot":true}"##,
    EventMsg::ReasoningContentDelta(_) =>
        r#"{"type":"reasoning_content_delta","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item_id":"rs_1","delta":"Thin"}"#,
    EventMsg::ReasoningRawContentDelta(_) =>
        r#"{"type":"reasoning_raw_content_delta","thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","turn_id":"1","item_id":"rs_1","delta":"h"}"#,
    EventMsg::AgentReasoningSectionBreak { .. } =>
        r#"{"type":"agent_reasoning_section_break","item_id":"rs_1","summary_index":1}"#,
    EventMsg::UserMessage { .. } =>
        r#"{"type":"user_message","message":"hello","content":[{"type":"text","text":"hello"}],"metadata":{"is_callback":true,"source":"troupe","child_session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","child_task_id":"t1"}}"#,
    EventMsg::AgentMessage { .. } =>
        r#"{"type":"agent_message","message":"Hello."}"#,
    EventMsg::AgentReasoning { .. } =>
        r#"{"type":"agent_reasoning","text":"Thinking"}"#,
    EventMsg::AgentReasoningRawContent { .. } =>
        r#"{"type":"agent_reasoning_raw_content","text":"hm"}"#,
    EventMsg::ExecCommandBegin(_) =>
        r#"{"type":"exec_command_begin","call_id":"call_1","turn_id":"1","command":["bash","-lc","cat a"],"cwd":"/repo","parsed_cmd":[{"type":"read","cmd":"cat a","name":"a","path":"a"},{"type":"list_files","cmd":"ls"},{"type":"search","cmd":"rg x","query":"x"},{"type":"unknown","cmd":"make"}],"source":"agent"}"#,
    EventMsg::ExecCommandOutputDelta(_) =>
        r#"{"type":"exec_command_output_delta","call_id":"call_1","stream":"stderr","chunk":"aGk="}"#,
    EventMsg::TerminalInteraction { .. } =>
        r#"{"type":"terminal_interaction","call_id":"call_1","process_id":"7","stdin":"y\n"}"#,
    EventMsg::ExecCommandEnd(_) =>
        r#"{"type":"exec_command_end","call_id":"call_1","turn_id":"1","command":["ls"],"cwd":"/repo","parsed_cmd":[],"source":"user_shell","process_id":"7","exit_code":0,"stdout":"a\n","stderr":"","aggregated_output":"a\n","formatted_output":"a\n","duration_ms":4,"status":"completed"}"#,
    EventMsg::PatchApplyBegin { .. } =>
        r#"{"type":"patch_apply_begin","call_id":"call_1","turn_id":"1","auto_approved":true,"changes":{"/repo/a":{"type":"add","content":"x\n"},"/repo/b":{"type":"update","unified_diff":"@@\n-a\n+b\n","move_path":"/repo/c"}}}"#,
    EventMsg::PatchApplyEnd { .. } =>
        r#"{"type":"patch_apply_end","call_id":"call_1","turn_id":"1","stdout":"ok","stderr":"","success":true,"changes":{"/repo/a":{"type":"delete","content":"x\n"}},"status":"completed"}"#,
    EventMsg::PlanUpdate { .. } =>
        r#"{"type":"plan_update","explanation":"first","plan":[{"step":"read","status":"completed"},{"step":"write","status":"in_progress"},{"step":"test","status":"pending"}]}"#,
    EventMsg::TurnDiff { .. } =>
        r#"{"type":"turn_diff","unified_diff":"--- a\n+++ b\n"}"#,
    EventMsg::ViewImageToolCall { .. } =>
        r#"{"type":"view_image_tool_call","call_id":"call_1","path":"/a.png"}"#,
    EventMsg::McpStartupUpdate { .. } =>
        r#"{"type":"mcp_startup_update","server":"s","status":{"state":"failed","error":"not found"}}"#,
    EventMsg::McpStartupComplete { .. } =>
        r#"{"type":"mcp_startup_complete","ready":["a"],"failed":[{"server":"s","error":"not found"}],"cancelled":[]}"#,
    EventMsg::McpToolCallBegin { .. } =>
        r#"{"type":"mcp_tool_call_begin","call_id":"call_1","invocation":{"server":"s","tool":"t","arguments":{"a":1}}}"#,
    EventMsg::McpToolCallEnd { .. } =>
        r#"{"type":"mcp_tool_call_end","call_id":"call_1","invocation":{"server":"s","tool":"t"},"duration_ms":3,"result":{"content":[]}}"#,
    EventMsg::McpToolCallProgress { .. } =>
        r#"{"type":"mcp_tool_call_progress","call_id":"call_1","progress":0.5,"total":2.0,"message":"half"}"#,
    EventMsg::ExecApprovalRequest(_) =>
        r#"{"type":"exec_approval_request","call_id":"call_1","turn_id":"1","command":["make"],"cwd":"/repo","reason":"needs the network","parsed_cmd":[],"available_decisions":["approved","approved_for_session","approved_always","denied","abort"]}"#,
    EventMsg::ApplyPatchApprovalRequest(_) =>
        r#"{"type":"apply_patch_approval_request","call_id":"call_1","turn_id":"1","changes":{},"reason":"outside","grant_root":"/other"}"#,
    EventMsg::RequestUserInput(_) =>
        r#"{"type":"request_user_input","call_id":"call_1","turn_id":"1","questions":[{"id":"colour","header":"Colour","question":"Which?","isOther":true,"options":[{"value":"red","label":"Red","description":"warm"}]}]}"#,
    EventMsg::ApprovalResolved { .. } =>
        r#"{"type":"approval_resolved","call_id":"call_1","decision":"denied"}"#,
    EventMsg::UserInputResolved { .. } =>
        r#"{"type":"user_input_resolved","call_id":"call_1","response":{"answers":{"colour":{"selected":["red"]}}}}"#,
    EventMsg::ElicitationRequest(_) =>
        r#"{"type":"elicitation_request","server_name":"s","id":"7","turn_id":"1","request":{"message":"Name?","mode":"form"}}"#,
    EventMsg::ElicitationResolved { .. } =>
        r#"{"type":"elicitation_resolved","id":"7","decision":"decline"}"#,
    EventMsg::EnteredReviewMode { .. } =>
        r#"{"type":"entered_review_mode","target":{"type":"commit","sha":"abc","title":"fix"},"user_facing_hint":"abc"}"#,
    EventMsg::ExitedReviewMode { .. } =>
        r#"{"type":"exited_review_mode","review_output":{"findings":[{"title":"t","body":"b","confidence_score":0.9,"priority":1,"code_location":{"absolute_file_path":"/repo/a","line_range":{"start":1,"end":2}}}],"overall_correctness":"correct","overall_explanation":"e","overall_confidence_score":0.5}}"#,
    EventMsg::ListSkillsResponse { .. } =>
        r#"{"type":"list_skills_response","skills":[{"cwd":"/repo","skills":[{"name":"s","description":"d","short_description":"e","path":"/s/SKILL.md","scope":"repo"}],"errors":[{"path":"/t/SKILL.md","message":"no name"}]}]}"#,
    EventMsg::ListModelsResponse(_) =>
        r#"{"type":"list_models_response","models":[{"model":"m-1","is_default":true,"context_window":200000,"max_output":100000,"efforts":["low","high"],"default_effort":"low","images":true},{"model":"m-2"}],"source":"built_in","note":"offline"}"#,
    EventMsg::McpListToolsResponse(_) =>
        r#"{"type":"mcp_list_tools_response","tools":{"mcp__s__t":{"server":"s","name":"t","title":"T","description":"d","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}},"resources":{"s":[{"uri":"a://b"}]},"resource_templates":{},"auth_statuses":{"s":"bearer_token"},"failures":{"u":"not found"}}"#,
    EventMsg::SubagentLifecycle(_) =>
        r#"{"type":"subagent_lifecycle","event":"created","subagent":{"agent_id":1,"parent_agent_id":0,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","parent_session_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","path":"/root/a","origin":"spawn","status":{"queued":{"position":2}},"label":"l","summary":"s","reasoning_header":"h","started_at_ms":1,"pending_messages":0,"pending_interrupts":0}}"#,
    EventMsg::AgentInbox(_) =>
        r#"{"type":"agent_inbox","agent_id":1,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","pending_messages":2,"pending_interrupts":1}"#,
    EventMsg::CollabAgentSpawnBegin(_) =>
        r#"{"type":"collab_agent_spawn_begin","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","prompt":"go","model":"m-1","reasoning_effort":"low"}"#,
    EventMsg::CollabAgentSpawnEnd(_) =>
        r#"{"type":"collab_agent_spawn_end","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","new_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","prompt":"go","status":"running"}"#,
    EventMsg::CollabAgentInteractionBegin(_) =>
        r#"{"type":"collab_agent_interaction_begin","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","prompt":"also"}"#,
    EventMsg::CollabAgentInteractionEnd(_) =>
        r#"{"type":"collab_agent_interaction_end","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","prompt":"also","status":{"completed":null}}"#,
    EventMsg::CollabWaitingBegin(_) =>
        r#"{"type":"collab_waiting_begin","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_ids":["67e55044-10b1-426f-9247-bb680e5fe0c9"]}"#,
    EventMsg::CollabWaitingEnd(_) =>
        r#"{"type":"collab_waiting_end","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_ids":["67e55044-10b1-426f-9247-bb680e5fe0c9"],"statuses":{"67e55044-10b1-426f-9247-bb680e5fe0c9":{"completed":"done"}}}"#,
    EventMsg::CollabCloseBegin(_) =>
        r#"{"type":"collab_close_begin","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9"}"#,
    EventMsg::CollabCloseEnd(_) =>
        r#"{"type":"collab_close_end","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","status":"shutdown"}"#,
    EventMsg::CollabResumeBegin(_) =>
        r#"{"type":"collab_resume_begin","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9"}"#,
    EventMsg::CollabResumeEnd(_) =>
        r#"{"type":"collab_resume_end","call_id":"call_1","sender_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","receiver_thread_id":"67e55044-10b1-426f-9247-bb680e5fe0c9","status":{"errored":"lost"}}"#,
}

/// Shows an event as we write it, or why it was not read.
fn check(line: &str, expected: Expect) {
    let shown = match serde_json::from_str::<Event>(line) {
        Ok(event) => serde_json::to_string(&event).unwrap(),
        Err(error) => format!("error: {}", example::first_words(&error)),
    };
    expected.assert_eq(&shown);
}

#[test]
fn tags_are_snake_case() {
    for tag in example::tags(LINES) {
        assert!(
            tag.bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_'),
            "{tag}"
        );
    }
}

#[test]
fn task_events_are_read_under_both_names() {
    check(
        r#"{"id":"1","seq":1,"msg":{"type":"turn_started","turn_id":"1","started_at_ms":0}}"#,
        expect![[
            r#"{"id":"1","seq":1,"msg":{"type":"task_started","turn_id":"1","started_at_ms":0,"collaboration_mode_kind":"default"}}"#
        ]],
    );
    check(
        r#"{"id":"1","seq":2,"msg":{"type":"turn_complete","turn_id":"1","duration_ms":0}}"#,
        expect![[
            r#"{"id":"1","seq":2,"msg":{"type":"task_complete","turn_id":"1","duration_ms":0}}"#
        ]],
    );
}

#[test]
fn an_event_without_a_number_is_read() {
    check(
        r#"{"id":"","msg":{"type":"shutdown_complete"}}"#,
        expect![[r#"{"id":"","seq":0,"msg":{"type":"shutdown_complete"}}"#]],
    );
}

#[test]
fn a_plan_of_a_newer_engine_is_read() {
    check(
        r#"{"id":"1","msg":{"type":"plan_update","plan":[{"step":"a","status":"pending","owner":"x"}]}}"#,
        expect![[
            r#"{"id":"1","seq":0,"msg":{"type":"plan_update","plan":[{"step":"a","status":"pending"}]}}"#
        ]],
    );
}

#[test]
fn an_unknown_type_is_an_error() {
    check(
        r#"{"id":"1","msg":{"type":"from_the_future"}}"#,
        expect!["error: unknown variant `from_the_future`"],
    );
    check(
        r#"{"id":"1","msg":{"type":"mcp_startup_update","server":"s","status":{"state":"lost"}}}"#,
        expect!["error: unknown variant `lost`"],
    );
}

#[test]
fn a_task_event_of_each_other_shape_round_trips() {
    for line in [
        r#"{"type":"steer_receipt","status":"delivered","turn_id":"1"}"#,
        r#"{"type":"subagent_lifecycle","event":"status","agent_id":1,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","status":"interrupted"}"#,
        r#"{"type":"subagent_lifecycle","event":"reasoning_header","agent_id":1,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8","reasoning_header":"h"}"#,
        r#"{"type":"subagent_lifecycle","event":"deleted","agent_id":1,"session_id":"67e55044-10b1-426f-9247-bb680e5fe0c8"}"#,
        r#"{"type":"exec_command_end","call_id":"c","turn_id":"1","command":["sleep","9"],"cwd":"/","parsed_cmd":[],"source":"unified_exec_startup","process_id":"7","stdout":"","stderr":"","aggregated_output":"","formatted_output":"","duration_ms":0,"status":"in_progress"}"#,
    ] {
        example::round_trip::<EventMsg>(line);
    }
}

#[test]
fn only_pieces_and_views_are_deltas() {
    let delta = |line: &&&str| example::round_trip::<EventMsg>(line).is_delta();
    let deltas: Vec<&str> = LINES.iter().filter(delta).copied().collect();
    expect!["agent_message_content_delta plan_delta reasoning_content_delta reasoning_raw_content_delta agent_reasoning_section_break exec_command_output_delta turn_diff mcp_tool_call_progress"].assert_eq(&example::tags(&deltas).join(" "));
}
