//! What a task came to: what the agent says, and beside it what the engine saw.

use crate::text::append;
use troupe_protocol::result::{StructuredOutput, TaskResult};

use crate::text::quantity::{count_text, duration_text};

/// Returns a result as Markdown.
pub fn result_text(result: &TaskResult) -> String {
    let evidence = &result.evidence;
    let stop = serde_json::to_value(&result.stop).unwrap_or_default();
    let stop = stop
        .get("reason")
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let mut text = format!("# {}\n\n", stop.replace('_', " "));
    text.push_str(&result.text().unwrap_or_default());
    match &result.output {
        Some(StructuredOutput::Valid { value }) => {
            let value = serde_json::to_string_pretty(value).unwrap_or_default();
            append(&mut text, format_args!("\n\n```json\n{value}\n```"));
        }
        Some(StructuredOutput::Invalid { problems }) => {
            append(
                &mut text,
                format_args!("\n\nthe answer does not fit: {}", problems.join("; ")),
            );
        }
        None => {}
    }
    text.push_str("\n\n# What was seen\n\n");
    let ran = evidence.ran_ms().map(duration_text).unwrap_or_default();
    append(
        &mut text,
        format_args!(
            "- {ran}, {} tokens, {} calls of tools\n",
            count_text(evidence.usage.total_tokens),
            evidence.tool_use_count(),
        ),
    );
    for command in &evidence.commands {
        let end = match (command.refused, command.exit_code) {
            (true, _) => "refused".to_owned(),
            (false, Some(code)) => format!("exit {code}"),
            (false, None) => "no exit code".to_owned(),
        };
        append(&mut text, format_args!("- `{}`: {end}\n", command.command));
    }
    for file in &evidence.files {
        let what = match (&file.before, &file.after) {
            (None, Some(_)) => "new",
            (Some(_), None) => "gone",
            (Some(_), Some(_)) => "changed",
            (None, None) => "touched",
        };
        append(
            &mut text,
            format_args!("- {}: {what}\n", file.path.display()),
        );
    }
    if evidence.omitted > 0 {
        append(&mut text, format_args!("- and {} more\n", evidence.omitted));
    }
    text
}
