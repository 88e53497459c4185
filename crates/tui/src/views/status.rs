//! The two lines that are always there: who needs what, and how the session stands.

use std::path::Path;

use troupe_protocol::policy::ApprovalPolicy;

use crate::roster::AgentGroup;
use crate::session::sandbox_words;
use crate::settings::StatusItem;
use crate::state::AppState;
use crate::text::quantity::{clock_text, count_text};
use crate::text::{Ink, TextRow, TextStyle, append};

/// Returns the line of agents; none while there are none.
pub fn agents_row(state: &AppState, columns: usize) -> Option<TextRow> {
    if state.roster.is_empty() && state.questions.first().is_none() {
        return None;
    }
    let left = counts(state);
    let mut right = TextRow::dim("← agents");
    if state.questions.pending().len() > 1 {
        right = right.with("   Alt+N next !", TextStyle::DIM);
    }
    Some(TextRow::justified(left, right, columns))
}

/// Returns the groups that have somebody in them, with their marks.
pub fn counts(state: &AppState) -> TextRow {
    let mut row = TextRow::new();
    for group in AgentGroup::ALL {
        let count = match group {
            AgentGroup::NeedsYou => state.questions.pending().len(),
            group => state.count(group),
        };
        if count == 0 || group == AgentGroup::Read {
            continue;
        }
        if row.width() > 0 {
            row.push("  ", TextStyle::PLAIN);
        }
        row = row.with(group.mark(), mark_style(group));
        row = row.with(format!(" {}", group.counted(count)), TextStyle::PLAIN);
    }
    row
}

pub fn mark_style(group: AgentGroup) -> TextStyle {
    match group {
        AgentGroup::NeedsYou => TextStyle::ink(Ink::Yellow).bold(),
        AgentGroup::Working => TextStyle::ink(Ink::Cyan),
        AgentGroup::DoneUnread => TextStyle::ink(Ink::Green),
        AgentGroup::Failed => TextStyle::ink(Ink::Red),
        AgentGroup::Waiting | AgentGroup::Stopped | AgentGroup::Read => TextStyle::DIM,
    }
}

/// Returns the last line; none if no item of it says anything.
pub fn status_row(state: &AppState, columns: usize) -> Option<TextRow> {
    let items = state.settings.status_line.iter();
    let texts: Vec<String> = items.filter_map(|item| item_text(state, *item)).collect();
    let style = if state.settings.status_line_use_colors {
        TextStyle::DIM
    } else {
        TextStyle::PLAIN
    };
    let row = TextRow::styled(texts.join(" | "), style).ellipsis(columns);
    (!texts.is_empty()).then_some(row)
}

/// Returns the title of the window. It holds no clock, so it changes with the state only.
pub fn title(state: &AppState) -> String {
    let items = state.settings.terminal_title.iter();
    let texts: Vec<String> = items.filter_map(|item| item_text(state, *item)).collect();
    texts.join(" | ")
}

/// Returns what an item says; `None` for nothing.
pub fn item_text(state: &AppState, item: StatusItem) -> Option<String> {
    let facts = &state.facts;
    let context = facts.context.as_ref();
    let directory = context.map(|context| context.cwd.as_path());
    let percent = |window: Option<f64>| window.map(|used| format!("{used:.0} %"));
    match item {
        StatusItem::AppName => Some("troupe".to_owned()),
        StatusItem::Activity => {
            let needs = state.questions.pending().len();
            if needs > 0 {
                Some(format!("[ ! ] {}", AgentGroup::NeedsYou.counted(needs)))
            } else {
                state.is_anybody_at_work().then(|| "[ ● ]".to_owned())
            }
        }
        StatusItem::Agents => (!state.roster.is_empty()).then(|| counts(state).text()),
        StatusItem::Model => context.map(|context| context.model.clone()),
        StatusItem::ModelWithReasoning => context.map(|context| match context.effort {
            Some(effort) => format!("{}·{}", context.model, wire_word(&effort)),
            None => context.model.clone(),
        }),
        StatusItem::ApprovalMode => context.map(|context| policy_word(context.approval_policy)),
        StatusItem::Permissions => {
            context.map(|context| sandbox_words(&context.sandbox_in_force()).to_owned())
        }
        StatusItem::CollaborationMode => facts.is_planning().then(|| "plan".to_owned()),
        StatusItem::ContextUsed => facts
            .context_percent()
            .map(|percent| format!("context {percent} %")),
        StatusItem::ContextRemaining => facts
            .context_percent()
            .map(|percent| format!("{} % left", 100 - percent)),
        StatusItem::ContextWindowSize => facts
            .usage
            .and_then(|usage| usage.model_context_window)
            .map(|window| format!("window {}", count_text(window))),
        StatusItem::CurrentDir => directory.map(|path| below_home(state, path)),
        StatusItem::GitBranch => facts.branch.clone(),
        StatusItem::TaskProgress => facts
            .steps
            .filter(|(_, all)| *all > 0)
            .map(|(done, all)| format!("{done}/{all} steps")),
        StatusItem::Version => Some(format!("troupe {}", env!("CARGO_PKG_VERSION"))),
        StatusItem::ProjectName => directory
            .and_then(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned()),
        StatusItem::FiveHourLimit => {
            let window = facts
                .limits
                .as_ref()
                .and_then(|limits| limits.primary.as_ref());
            percent(window.map(|window| window.used_percent)).map(|text| format!("5 h {text}"))
        }
        StatusItem::WeeklyLimit => {
            let window = facts
                .limits
                .as_ref()
                .and_then(|limits| limits.secondary.as_ref());
            percent(window.map(|window| window.used_percent)).map(|text| format!("week {text}"))
        }
        StatusItem::RunState => {
            let task = facts.task.as_ref()?;
            let ran = u64::try_from(state.now_ms - task.since_ms).unwrap_or(0);
            if state.settings.animations {
                Some(clock_text(ran))
            } else {
                Some("works".to_owned())
            }
        }
        StatusItem::ThreadId => facts.session.map(|session| session.short()),
        StatusItem::ThreadNote => facts.note.clone(),
        StatusItem::ThreadTitle => facts.name.clone(),
        StatusItem::UsedTokens => facts.usage.map(|usage| {
            format!(
                "{} tokens",
                count_text(usage.total_token_usage.total_tokens)
            )
        }),
        StatusItem::TotalInputTokens => facts.usage.map(|usage| {
            let tokens = usage.total_token_usage.input_tokens;
            format!("{} in", count_text(tokens))
        }),
        StatusItem::TotalOutputTokens => facts.usage.map(|usage| {
            let tokens = usage.total_token_usage.output_tokens;
            format!("{} out", count_text(tokens))
        }),
        StatusItem::TreeTokens => {
            let own = facts
                .usage
                .map_or(0, |usage| usage.total_token_usage.total_tokens);
            let others = state.roster.tokens();
            let all = own.saturating_add(others);
            (all > 0).then(|| {
                if state.roster.is_empty() {
                    format!("{} tokens", count_text(all))
                } else {
                    format!("tree {}", count_text(all))
                }
            })
        }
    }
}

/// Returns a directory as people write it, with `~` for their own.
fn below_home(state: &AppState, path: &Path) -> String {
    let home = state.home.as_deref();
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}

/// Returns the status card, as Markdown.
pub fn card(state: &AppState) -> String {
    let facts = &state.facts;
    let mut text = String::new();
    let mut line = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            append(&mut text, format_args!("{name:<12}{value}\n"));
        }
    };
    let item = |item| item_text(state, item);
    line("session", facts.session.map(|session| session.to_string()));
    line("name", facts.name.clone());
    line("note", facts.note.clone());
    line(
        "forked from",
        facts.forked_from.map(|session| session.short()),
    );
    line(
        "model",
        item(StatusItem::ModelWithReasoning).map(|model| format!("{model} ({})", facts.provider)),
    );
    line("directory", item(StatusItem::CurrentDir));
    line("branch", item(StatusItem::GitBranch));
    line("may", item(StatusItem::Permissions));
    line("asks", item(StatusItem::ApprovalMode));
    line(
        "mode",
        Some(
            if facts.is_planning() {
                "plan"
            } else {
                "default"
            }
            .to_owned(),
        ),
    );
    line("context", item(StatusItem::ContextUsed));
    line("window", item(StatusItem::ContextWindowSize));
    line("tokens", item(StatusItem::TreeTokens));
    line("", item(StatusItem::TotalInputTokens));
    line("", item(StatusItem::TotalOutputTokens));
    line("limits", item(StatusItem::FiveHourLimit));
    line("", item(StatusItem::WeeklyLimit));
    let names = facts
        .instructions
        .iter()
        .map(|path| path.display().to_string());
    line("told by", Some(names.collect::<Vec<_>>().join(", ")));
    line("agents", item(StatusItem::Agents));
    line(
        "drives",
        facts
            .seat
            .as_ref()
            .and_then(|seat| seat.driver.as_ref())
            .map(ToString::to_string),
    );
    for broken in &facts.broken_servers {
        line("server", Some(broken.clone()));
    }
    text
}

pub fn wire_word(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn policy_word(policy: ApprovalPolicy) -> String {
    wire_word(&policy)
}
