//! Sessions for the screen's measurements. They are made once.

use std::io;
use std::path::{Path, PathBuf};

use troupe_protocol::SessionId;
use troupe_protocol::item::{AgentMessageItem, TurnItem};
use troupe_protocol::rollout::RolloutRecord;
use troupe_store::{EmbeddedStore, SessionStore as _};

use crate::fixtures::{first_records, item_record, session_meta, user_message_record};

/// What the last line of the long conversation says, and no other.
pub const LAST_LINE: &str = "omega";
/// How each of the many sessions begins.
pub const ANY_SESSION: &str = "chore number";

const ANSWERS: u32 = 1_000;
const LINES_OF_AN_ANSWER: usize = 100;
const SESSIONS: u32 = 10_000;

pub struct LongConversation {
    pub home: PathBuf,
    pub session: SessionId,
}

/// Writes a conversation of 100,000 lines.
pub async fn long_conversation(home: &Path, cwd: &Path) -> io::Result<LongConversation> {
    let store = EmbeddedStore::open(home).map_err(io::Error::other)?;
    let meta = session_meta(cwd);
    let mut log = store.create(&meta).await.map_err(io::Error::other)?;
    log.append(&first_records(cwd)).map_err(io::Error::other)?;
    let mut records = vec![user_message_record(meta.id, "say a lot")];
    let text = "a line of text that is long enough to be one\n\n".repeat(LINES_OF_AN_ANSWER / 2);
    for number in 0..ANSWERS {
        let text = if number + 1 == ANSWERS {
            format!("{text}{LAST_LINE}")
        } else {
            text.clone()
        };
        let item = TurnItem::AgentMessage(AgentMessageItem {
            id: troupe_protocol::ItemId(format!("a{number}")),
            text,
        });
        records.push(item_record(meta.id, u64::from(number) + 2, item));
    }
    log.append(&records).map_err(io::Error::other)?;
    log.close().await.map_err(io::Error::other)?;
    Ok(LongConversation {
        home: home.to_owned(),
        session: meta.id,
    })
}

/// Writes ten thousand sessions of one message.
pub async fn many_sessions(home: &Path, cwd: &Path) -> io::Result<()> {
    let store = EmbeddedStore::open(home).map_err(io::Error::other)?;
    for number in 0..SESSIONS {
        let meta = session_meta(cwd);
        let mut log = store.create(&meta).await.map_err(io::Error::other)?;
        let mut records: Vec<RolloutRecord> = first_records(cwd);
        records.push(user_message_record(
            meta.id,
            &format!("{ANY_SESSION} {number}"),
        ));
        log.append(&records).map_err(io::Error::other)?;
        log.close().await.map_err(io::Error::other)?;
    }
    Ok(())
}
