//! Plan mode: proposed plans as items, the mode told to the model, and both kept.

mod events;
mod mode;

use troupe_protocol::EventMsg;
use troupe_protocol::input::UserInput;
use troupe_protocol::item::TurnItem;
use troupe_protocol::op::{ConfigureSession, Op};
use troupe_protocol::policy::{CollaborationMode, ModeChoice};
use troupe_protocol::session::TurnOverrides;
use troupe_testkit::{Actor, Stage, line};

fn lines(msgs: &[EventMsg]) -> String {
    let lines: Vec<String> = msgs.iter().map(line).collect();
    lines.join("\n")
}

fn in_mode(choice: impl Into<ModeChoice>) -> TurnOverrides {
    TurnOverrides {
        collaboration_mode: Some(choice.into()),
        ..TurnOverrides::default()
    }
}

async fn start_planning(stage: &Stage) -> Actor {
    stage
        .start_with(ConfigureSession {
            overrides: in_mode(CollaborationMode::Plan),
            ..ConfigureSession::default()
        })
        .await
}

/// Says something with settings of its own, and waits for the end of the task.
async fn turn_with(actor: &mut Actor, text: &str, overrides: TurnOverrides) -> Vec<EventMsg> {
    actor
        .submit(Op::UserTurn {
            items: vec![UserInput::text(text)],
            overrides,
            final_output_json_schema: None,
            last_response_id: None,
            client_id: None,
        })
        .await;
    actor.until_task_ends().await
}

/// Returns the texts of the plans that were completed.
fn plans(msgs: &[EventMsg]) -> Vec<&str> {
    msgs.iter()
        .filter_map(|msg| match msg {
            EventMsg::ItemCompleted {
                item: TurnItem::Plan(item),
                ..
            } => Some(item.text.as_str()),
            _ => None,
        })
        .collect()
}
