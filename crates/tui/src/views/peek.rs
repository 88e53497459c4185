//! The list of agents above, the end of one agent's conversation below, and a line to reply.

use troupe_protocol::AgentId;

use super::{agent, agents};
use crate::limits::PEEK_LIST_DIVISOR;
use crate::state::AppState;
use crate::terminal::ScreenFrame;

pub fn frame(state: &AppState, peeked: AgentId) -> ScreenFrame {
    let most = state.size.rows / PEEK_LIST_DIVISOR;
    let mut rows = agents::short_list(state, peeked, most);
    let above = rows.len();
    let below = agent::part(state, peeked, state.size.rows.saturating_sub(above));
    rows.extend(below.rows);
    ScreenFrame {
        rows,
        cursor: below.cursor.map(|mut cursor| {
            cursor.row += above;
            cursor
        }),
    }
}
