//! The section `[tui]` of the configuration. The names are those of the Codex family.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[tui]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TuiSettings {
    /// Which notices are given while the terminal has no focus: all, none, or a list.
    pub notifications: NotificationChoice,
    /// How a notice is given.
    pub notification_method: NotificationMethod,
    /// When notices are given.
    pub notification_condition: NotificationCondition,
    /// Whether the clock of what runs is shown. Nothing else moves.
    pub animations: bool,
    /// Whether a line of advice is shown when a session begins.
    pub show_tooltips: bool,
    /// Whether one writes as in vi.
    pub vim_mode_default: bool,
    /// Whether history begins without gutters and wrapping, so that it is copied as it was
    /// written.
    pub raw_output_mode: bool,
    /// `auto`: inline, with overlays on the alternate screen; `always`: full screen; `never`:
    /// inline alone.
    pub alternate_screen: AlternateScreen,
    /// The items of the last line, in their order.
    pub status_line: Vec<StatusItem>,
    /// Whether that line has colours.
    pub status_line_use_colors: bool,
    /// The items of the window's title, in their order; empty for no title.
    pub terminal_title: Vec<StatusItem>,
    /// Whether shaded blocks are made for a dark or a light background.
    pub theme: ThemeChoice,
    /// How the list of sessions to resume looks: two rows for each, or one.
    pub session_picker_view: SessionPickerView,
    /// How many rows of history Ctrl+L prints again.
    pub terminal_resize_reflow_max_rows: Option<usize>,
    /// Other keys for actions: `keymap.CONTEXT.ACTION = ["ctrl-t"]`.
    pub keymap: BTreeMap<String, BTreeMap<String, Vec<String>>>,
}

impl Default for TuiSettings {
    fn default() -> Self {
        Self {
            notifications: NotificationChoice::All(true),
            notification_method: NotificationMethod::Auto,
            notification_condition: NotificationCondition::Unfocused,
            animations: true,
            show_tooltips: true,
            vim_mode_default: false,
            raw_output_mode: false,
            alternate_screen: AlternateScreen::Auto,
            status_line: vec![
                StatusItem::ModelWithReasoning,
                StatusItem::CurrentDir,
                StatusItem::GitBranch,
                StatusItem::CollaborationMode,
                StatusItem::ContextUsed,
                StatusItem::TreeTokens,
                StatusItem::RunState,
            ],
            status_line_use_colors: true,
            terminal_title: vec![StatusItem::Activity, StatusItem::ProjectName],
            theme: ThemeChoice::Auto,
            session_picker_view: SessionPickerView::Comfortable,
            terminal_resize_reflow_max_rows: None,
            keymap: BTreeMap::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum NotificationChoice {
    All(bool),
    Kinds(Vec<NoticeKind>),
}

impl NotificationChoice {
    pub fn wants(&self, kind: NoticeKind) -> bool {
        match self {
            Self::All(all) => *all,
            Self::Kinds(kinds) => kinds.contains(&kind),
        }
    }
}

/// Why a person's attention is asked for. Later ones are more urgent.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    SubAgentComplete,
    AgentTurnComplete,
    PlanModePrompt,
    ApprovalRequested,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotificationMethod {
    /// OSC 9 where the terminal is known to show it, and BEL.
    Auto,
    Osc9,
    Bel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NotificationCondition {
    /// Only while the terminal is not known to have the focus.
    Unfocused,
    Always,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AlternateScreen {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SessionPickerView {
    Comfortable,
    Dense,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ThemeChoice {
    /// As `COLORFGBG` says; dark if it says nothing.
    Auto,
    Dark,
    Light,
}

/// One item of the status line or the title.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StatusItem {
    Activity,
    Agents,
    AppName,
    ApprovalMode,
    CollaborationMode,
    ContextRemaining,
    ContextUsed,
    ContextWindowSize,
    CurrentDir,
    FiveHourLimit,
    GitBranch,
    #[serde(alias = "model-name")]
    Model,
    ModelWithReasoning,
    Permissions,
    #[serde(alias = "project-root")]
    ProjectName,
    RunState,
    TaskProgress,
    #[serde(alias = "session-id")]
    ThreadId,
    ThreadNote,
    ThreadTitle,
    TotalInputTokens,
    TotalOutputTokens,
    TreeTokens,
    UsedTokens,
    #[serde(alias = "codex-version")]
    Version,
    WeeklyLimit,
}

impl StatusItem {
    pub const ALL: [Self; 26] = [
        Self::Activity,
        Self::Agents,
        Self::AppName,
        Self::ApprovalMode,
        Self::CollaborationMode,
        Self::ContextRemaining,
        Self::ContextUsed,
        Self::ContextWindowSize,
        Self::CurrentDir,
        Self::FiveHourLimit,
        Self::GitBranch,
        Self::Model,
        Self::ModelWithReasoning,
        Self::Permissions,
        Self::ProjectName,
        Self::RunState,
        Self::TaskProgress,
        Self::ThreadId,
        Self::ThreadNote,
        Self::ThreadTitle,
        Self::TotalInputTokens,
        Self::TotalOutputTokens,
        Self::TreeTokens,
        Self::UsedTokens,
        Self::Version,
        Self::WeeklyLimit,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_people_write_them() {
        let text = serde_json::json!({
            "notifications": ["approval-requested", "sub-agent-complete"],
            "alternate_screen": "never",
            "status_line": ["model", "tree-tokens"],
            "keymap": {"global": {"help": ["f1"]}},
        });
        let settings: TuiSettings = serde_json::from_value(text).unwrap();
        assert!(settings.notifications.wants(NoticeKind::ApprovalRequested));
        assert!(!settings.notifications.wants(NoticeKind::AgentTurnComplete));
        assert_eq!(
            settings.status_line,
            [StatusItem::Model, StatusItem::TreeTokens]
        );
        // A key that is not known is a warning, as everywhere; an item that is not is refused.
        let unknown = serde_json::json!({"pet": "cat"});
        assert!(serde_json::from_value::<TuiSettings>(unknown).is_ok());
        let items = serde_json::json!({"status_line": ["git-branch", "session-id", "fast-mode"]});
        let error = serde_json::from_value::<TuiSettings>(items).unwrap_err();
        assert!(error.to_string().contains("fast-mode"), "{error}");
    }
}
