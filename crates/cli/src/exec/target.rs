//! Which conversation a run belongs to.

use std::path::{Path, PathBuf};

use troupe_model::catalogue;
use troupe_protocol::SessionId;
use troupe_protocol::op::{ConfigureSession, ForkPoint};
use troupe_protocol::rollout::RolloutRecord;
use troupe_protocol::session::SessionSource;
use troupe_store::{ListQuery, LiveHistory, LogPosition, SessionStore};

use crate::commands::{import, tell};
use crate::exec::request::SessionChoice;
use crate::failure::CommandFailure;
use crate::wiring::Wiring;

/// Finds the session that is meant and says how it is to be opened.
pub async fn configure_session(
    wiring: &Wiring,
    cwd: &Path,
    continues: SessionChoice,
    ephemeral: bool,
) -> Result<ConfigureSession, CommandFailure> {
    let new = ConfigureSession {
        source: Some(SessionSource::Exec),
        ephemeral,
        ..ConfigureSession::default()
    };
    if ephemeral && continues != SessionChoice::New {
        return Err(CommandFailure::usage(
            "--ephemeral writes nothing, so it cannot continue a session",
        ));
    }
    if continues == SessionChoice::New {
        return Ok(new);
    }
    let store = wiring.store()?;
    let store = store.as_ref();
    let (origin, resume, fork) = match continues {
        SessionChoice::New => return Ok(new),
        SessionChoice::Resume(text) if import::is_path(&text) => {
            let id = import::resume_file(wiring, Path::new(&text)).await?;
            (id, Some(id), None)
        }
        SessionChoice::Resume(text) => {
            let id = resolve(store, &text).await?;
            (id, Some(id), None)
        }
        SessionChoice::Last { any_directory } => {
            let id = last(store, (!any_directory).then_some(cwd)).await?;
            (id, Some(id), None)
        }
        SessionChoice::Fork { session, at } => {
            let session_id = resolve(store, &session).await?;
            let fork = ForkPoint {
                session_id,
                last_response_id: at,
                turns: None,
                turn: None,
            };
            (session_id, None, Some(fork))
        }
    };
    if resume.is_some() {
        tell_move(store, origin, cwd).await;
    }
    let overrides = wiring.explicit()?;
    // The model's name is the session's, so it must be asked where the session asked it; one that
    // is named anew and is not there, where the catalogue has it.
    let model_provider = if let Some(id) = wiring.explicit_provider() {
        Some(id)
    } else {
        let stored = stored_provider(store, origin).await?;
        let model = overrides.model.as_deref();
        let fitting = stored.as_deref().zip(model).and_then(|(stored, model)| {
            catalogue::maker_mismatch(stored, model)?;
            catalogue::provider_of(model)
        });
        fitting.map(str::to_owned).or(stored)
    };
    Ok(ConfigureSession {
        overrides,
        model_provider,
        resume,
        fork,
        ..new
    })
}

/// Says that a session goes on in another directory than it worked in. Why it cannot be read is
/// said by whoever opens it.
async fn tell_move(store: &dyn SessionStore, session: SessionId, cwd: &Path) {
    let Ok(live) = store.read_live(session).await else {
        return;
    };
    let before = last_directory(&live);
    if before != cwd {
        tell(&format!(
            "note: session {} worked in {}; it goes on in {} (`-C {}` goes on there)",
            session.short(),
            before.display(),
            cwd.display(),
            before.display()
        ));
    }
}

/// Returns the provider that a session was begun with, as its first line says.
async fn stored_provider(
    store: &dyn SessionStore,
    id: SessionId,
) -> Result<Option<String>, CommandFailure> {
    let batch = store
        .read_all(id, LogPosition::default())
        .await
        .map_err(CommandFailure::not_started)?;
    let first = batch.lines.first().and_then(|line| line.record().ok());
    Ok(match first.map(|line| line.record) {
        Some(RolloutRecord::SessionMeta(meta)) => Some(meta.model_provider),
        // The engine will say what is wrong with the file.
        _ => None,
    })
}

pub async fn resolve(store: &dyn SessionStore, text: &str) -> Result<SessionId, CommandFailure> {
    // A full id needs no index.
    if let Ok(id) = text.parse() {
        let is_here = store.read_all(id, LogPosition::default()).await.is_ok();
        if is_here {
            return Ok(id);
        }
        return Ok(import::session_made_of(store, text).await.unwrap_or(id));
    }
    store
        .resolve(text)
        .await
        .map_err(CommandFailure::not_started)
}

/// Finds the session that changed last, in one directory or in all.
pub async fn last(
    store: &dyn SessionStore,
    cwd: Option<&Path>,
) -> Result<SessionId, CommandFailure> {
    let page = store
        .list(&ListQuery {
            cwds: cwd.map(Path::to_owned).into_iter().collect(),
            limit: Some(1),
            ..ListQuery::default()
        })
        .await
        .map_err(CommandFailure::not_started)?;
    let newest = page.sessions.first().map(|session| session.id);
    newest.ok_or_else(|| {
        CommandFailure::not_started(anyhow::Error::msg(match cwd {
            Some(cwd) => format!(
                "no session has worked in {} yet; `troupe sessions list --all` shows those of \
                 other directories",
                cwd.display()
            ),
            None => "there is no session yet".to_owned(),
        }))
    })
}

/// Returns where a session worked last.
pub fn last_directory(live: &LiveHistory) -> PathBuf {
    let records = live.records.iter().rev();
    let mut contexts = records.filter_map(|(_, line)| match &line.record {
        RolloutRecord::TurnContext(context) => Some(&context.cwd),
        RolloutRecord::Compacted(compacted) => Some(&compacted.carried.turn_context.cwd),
        _ => None,
    });
    contexts.next().unwrap_or(&live.meta.cwd).clone()
}
