use crate::TurnItem;
use crate::tests::example;

examples! { TurnItem:
    TurnItem::UserMessage(_) =>
        r#"{"type":"UserMessage","id":"i_1","content":[{"type":"text","text":"hello"}]}"#,
    TurnItem::AgentMessage(_) =>
        r#"{"type":"AgentMessage","id":"i_1","text":"Hello."}"#,
    TurnItem::Plan(_) =>
        r##"{"type":"Plan","id":"i_1","text":"# Plan"}"##,
    TurnItem::Reasoning(_) =>
        r#"{"type":"Reasoning","id":"i_1","summary_text":["Thinking"],"raw_content":["hm"]}"#,
    TurnItem::CommandExecution(_) =>
        r#"{"type":"CommandExecution","id":"i_1","command":["ls"],"cwd":"/repo","parsed_cmd":[{"type":"list_files","cmd":"ls"}],"source":"agent","process_id":"7","status":"completed","outcome":{"exit_code":0,"stdout":"a","stderr":"","aggregated_output":"a","formatted_output":"a","duration_ms":2}}"#,
    TurnItem::FileChange(_) =>
        r#"{"type":"FileChange","id":"i_1","changes":{"/repo/a":{"type":"add","content":"x"}},"status":"completed","auto_approved":true,"stdout":"ok","stderr":""}"#,
    TurnItem::McpToolCall(_) =>
        r#"{"type":"McpToolCall","id":"i_1","server":"s","tool":"t","arguments":{"a":1},"status":"failed","error":"gone","duration_ms":5}"#,
    TurnItem::ToolCall(_) =>
        r#"{"type":"ToolCall","id":"i_1","tool":"list_dir","arguments":"{not json","status":"in_progress"}"#,
    TurnItem::ImageView(_) =>
        r#"{"type":"ImageView","id":"i_1","path":"/a.png"}"#,
    TurnItem::Skill(_) =>
        r#"{"type":"Skill","id":"i_1","name":"ship","path":"/repo/.agents/skills/ship/SKILL.md","truncated":true}"#,
    TurnItem::ContextCompaction(_) =>
        r#"{"type":"ContextCompaction","id":"i_1","status":"failed"}"#,
}

#[test]
fn every_item_tells_its_id() {
    for line in LINES {
        assert_eq!(example::round_trip::<TurnItem>(line).id().as_str(), "i_1");
    }
}
