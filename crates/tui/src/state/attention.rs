//! Notices: one for what happened, none for what the person at the screen sees anyway.

use crate::effect::Effect;
use crate::limits::NOTICE_BURST_MS;
use crate::settings::{NoticeKind, NotificationCondition, TuiSettings};

/// Collects what would be told, until a burst is over.
#[derive(Debug, Clone, Default)]
pub struct AttentionDesk {
    /// `None` while the terminal has not said.
    pub has_focus: Option<bool>,
    pending: Option<PendingNotice>,
}

#[derive(Debug, Clone)]
struct PendingNotice {
    kind: NoticeKind,
    text: String,
    count: usize,
    due_ms: i64,
}

impl AttentionDesk {
    /// Adds a notice. Of several, the most urgent is told; of children, one for all.
    pub fn add(&mut self, kind: NoticeKind, text: String, now_ms: i64) {
        let burst = i64::try_from(NOTICE_BURST_MS).unwrap_or(i64::MAX);
        match &mut self.pending {
            Some(pending) if pending.kind == kind => pending.count += 1,
            Some(pending) if pending.kind > kind => {}
            Some(pending) => {
                (pending.kind, pending.text, pending.count) = (kind, text, 1);
            }
            None => {
                self.pending = Some(PendingNotice {
                    kind,
                    text,
                    count: 1,
                    due_ms: now_ms + burst,
                });
            }
        }
    }

    pub fn due_ms(&self) -> Option<i64> {
        self.pending.as_ref().map(|pending| pending.due_ms)
    }

    /// Returns the notice whose time has come, if it is wanted.
    pub fn due(&mut self, now_ms: i64, settings: &TuiSettings) -> Option<Effect> {
        let pending = self.pending.take_if(|pending| pending.due_ms <= now_ms)?;
        let looks = self.has_focus == Some(true)
            && settings.notification_condition == NotificationCondition::Unfocused;
        if looks || !settings.notifications.wants(pending.kind) {
            return None;
        }
        let text = match pending.count {
            1 => pending.text,
            more => format!("{} (and {} more)", pending.text, more - 1),
        };
        Some(Effect::Notify {
            kind: pending.kind,
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_of_children_is_one_notice_and_an_approval_comes_first() {
        let settings = TuiSettings::default();
        let mut desk = AttentionDesk::default();
        for child in 0..50 {
            desk.add(
                NoticeKind::SubAgentComplete,
                format!("agent {child} is done"),
                0,
            );
        }
        assert_eq!(desk.due(999, &settings), None);
        let told = desk.due(1_000, &settings);
        let text = "agent 0 is done (and 49 more)".to_owned();
        let kind = NoticeKind::SubAgentComplete;
        assert_eq!(told, Some(Effect::Notify { kind, text }));
        desk.add(NoticeKind::SubAgentComplete, "done".to_owned(), 2_000);
        desk.add(NoticeKind::ApprovalRequested, "asks".to_owned(), 2_001);
        desk.has_focus = Some(true);
        assert_eq!(desk.clone().due(3_000, &settings), None);
        desk.has_focus = Some(false);
        let kind = NoticeKind::ApprovalRequested;
        let text = "asks".to_owned();
        assert_eq!(
            desk.due(3_000, &settings),
            Some(Effect::Notify { kind, text })
        );
    }
}
