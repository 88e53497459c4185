//! Which agent of which tree a person means.

use std::collections::HashSet;

use anyhow::anyhow;
use troupe_protocol::{AgentId, SessionId};
use troupe_store::{ListQuery, SessionStore, SessionSummary, StoreError};
use troupe_tree::AgentAddressError;

use super::CommandSite;
use super::logged_tree::LoggedTree;
use crate::failure::CommandFailure;
use crate::limits::SESSIONS_SEARCHED_MAX;

/// How a person says it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AgentAddress<'a> {
    /// The root of the newest tree of this directory.
    Newest,
    /// An agent of that tree.
    Here(&'a str),
    /// An agent of the tree of a session.
    There { session: &'a str, agent: &'a str },
    /// A session, or an agent of the newest tree.
    Either(&'a str),
}

impl<'a> AgentAddress<'a> {
    fn parse(text: Option<&'a str>) -> Self {
        let Some(text) = text.map(str::trim).filter(|text| !text.is_empty()) else {
            return Self::Newest;
        };
        match text.split_once(':') {
            Some(("", agent)) => Self::Here(agent),
            Some((session, agent)) => Self::There { session, agent },
            None if text.starts_with('/') => Self::Here(text),
            None => Self::Either(text),
        }
    }
}

/// A tree and the agent that is meant.
#[derive(Debug)]
pub struct AgentTarget {
    pub tree: LoggedTree,
    pub agent: AgentId,
}

/// Finds it, or says why there is none.
pub async fn find(site: &CommandSite, text: Option<&str>) -> Result<AgentTarget, CommandFailure> {
    let found = find_or_none(site, text).await?;
    found.ok_or_else(|| CommandFailure::not_started(anyhow!(nothing_yet(site))))
}

/// Tells whether an address that leads to a root is about that agent, and not about its tree.
pub fn names_root(text: Option<&str>) -> bool {
    match AgentAddress::parse(text) {
        AgentAddress::Newest => false,
        AgentAddress::Here(_) | AgentAddress::There { .. } => true,
        AgentAddress::Either(text) => text == "root" || text.parse() == Ok(AgentId::ROOT.0),
    }
}

/// What is said when there is no tree to speak of.
pub fn nothing_yet(site: &CommandSite) -> String {
    format!(
        "no agents yet in {}; a session gets some when its model spawns them, and \
         `troupe demo agents` shows how that looks",
        site.cwd.display()
    )
}

/// Finds the session that is meant if it has no agents: the one that is named, or else the one of
/// this directory that changed last.
pub async fn lone_session(
    site: &CommandSite,
    text: Option<&str>,
) -> Result<Option<SessionId>, CommandFailure> {
    let session = match AgentAddress::parse(text) {
        AgentAddress::Newest => newest_session(site).await?,
        AgentAddress::Either(text) => resolve(site, text).await.ok(),
        AgentAddress::Here(_) | AgentAddress::There { .. } => None,
    };
    let Some(session) = session else {
        return Ok(None);
    };
    let place = site.store.tree_of(session).await;
    let is_lone = place.map_err(CommandFailure::not_started)?.is_none();
    Ok(is_lone.then_some(session))
}

/// Finds a session by its id, the beginning of it, or its name.
pub async fn session(site: &CommandSite, text: &str) -> Result<SessionId, CommandFailure> {
    resolve(site, text)
        .await
        .map_err(CommandFailure::not_started)
}

/// Returns the sessions of this directory that changed last.
pub async fn sessions_here(site: &CommandSite) -> Result<HashSet<SessionId>, CommandFailure> {
    let sessions = newest_sessions(site).await?;
    Ok(sessions.into_iter().map(|session| session.id).collect())
}

async fn newest_sessions(site: &CommandSite) -> Result<Vec<SessionSummary>, CommandFailure> {
    let query = ListQuery {
        cwds: vec![site.cwd.clone()],
        limit: Some(SESSIONS_SEARCHED_MAX),
        ..ListQuery::default()
    };
    let page = site.store.list(&query).await;
    Ok(page.map_err(CommandFailure::not_started)?.sessions)
}

async fn newest_session(site: &CommandSite) -> Result<Option<SessionId>, CommandFailure> {
    let query = ListQuery {
        cwds: vec![site.cwd.clone()],
        limit: Some(1),
        ..ListQuery::default()
    };
    let page = site.store.list(&query).await;
    let sessions = page.map_err(CommandFailure::not_started)?.sessions;
    Ok(sessions.first().map(|session| session.id))
}

/// Returns `None` if nothing was named and this directory has no tree.
pub async fn find_or_none(
    site: &CommandSite,
    text: Option<&str>,
) -> Result<Option<AgentTarget>, CommandFailure> {
    match AgentAddress::parse(text) {
        AgentAddress::Newest => match newest(site).await? {
            Some(tree) => Ok(Some(AgentTarget {
                tree,
                agent: AgentId::ROOT,
            })),
            None => Ok(None),
        },
        AgentAddress::Here(agent) => match newest(site).await? {
            Some(tree) => within(tree, agent).map(Some),
            None => Ok(None),
        },
        AgentAddress::There { session, agent } => {
            let session = self::session(site, session).await?;
            within(of_session(site, session).await?.tree, agent).map(Some)
        }
        AgentAddress::Either(text) => either(site, text).await.map(Some),
    }
}

/// A number is an agent's if there is one of that number: it is the shorter thing to type.
/// Anything else is a session first, because its name need not be told from a path's end.
async fn either(site: &CommandSite, text: &str) -> Result<AgentTarget, CommandFailure> {
    let is_number = text.parse::<u32>().is_ok() || text == "root";
    let mut here = None;
    if is_number {
        here = newest(site).await?;
        if let Some(tree) = here.take_if(|tree| tree.resolve(text).is_ok()) {
            return within(tree, text);
        }
    }
    match resolve(site, text).await {
        Ok(session) => of_session(site, session).await,
        Err(StoreError::NotFound { what }) => {
            let here = match here {
                Some(tree) => Some(tree),
                None => newest(site).await?,
            };
            match here {
                Some(tree) => within(tree, text),
                None => Err(CommandFailure::not_started(StoreError::NotFound { what })),
            }
        }
        Err(error) => Err(CommandFailure::not_started(error)),
    }
}

fn within(tree: LoggedTree, agent: &str) -> Result<AgentTarget, CommandFailure> {
    match tree.resolve(agent) {
        Ok(agent) => Ok(AgentTarget { tree, agent }),
        Err(error @ AgentAddressError::Unknown(_)) => {
            let root = tree.root.short();
            let hint =
                format!("in the tree of session {root}; `troupe agents tree {root}` shows it");
            Err(CommandFailure::not_started(anyhow!("{error} {hint}")))
        }
        Err(error) => Err(CommandFailure::not_started(error)),
    }
}

async fn resolve(site: &CommandSite, text: &str) -> Result<SessionId, StoreError> {
    // A full id needs no index.
    match text.parse() {
        Ok(id) => Ok(id),
        Err(_) => site.store.resolve(text).await,
    }
}

async fn of_session(site: &CommandSite, session: SessionId) -> Result<AgentTarget, CommandFailure> {
    let place = site.store.tree_of(session).await;
    let Some(place) = place.map_err(CommandFailure::not_started)? else {
        return Err(CommandFailure::not_started(anyhow!(
            "session {} has no agents; `troupe sessions show {}` prints its conversation",
            session.short(),
            session.short()
        )));
    };
    Ok(AgentTarget {
        tree: LoggedTree::read(&site.store, place.root).await?,
        agent: place.agent,
    })
}

/// Finds the tree of this directory whose session changed last.
async fn newest(site: &CommandSite) -> Result<Option<LoggedTree>, CommandFailure> {
    for session in newest_sessions(site).await? {
        let place = site.store.tree_of(session.id).await;
        if let Some(place) = place.map_err(CommandFailure::not_started)? {
            return LoggedTree::read(&site.store, place.root).await.map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::AgentAddress::{Either, Here, Newest, There};
    use super::*;

    #[test]
    fn addresses() {
        let check = |text, expected| assert_eq!(AgentAddress::parse(text), expected);
        check(None, Newest);
        check(Some(" "), Newest);
        check(Some("2"), Either("2"));
        check(Some("3f2a9c1e"), Either("3f2a9c1e"));
        check(Some("/root/tester"), Here("/root/tester"));
        check(Some(":2"), Here("2"));
        let (session, agent) = ("3f2a9c1e", "/root/tester");
        check(Some("3f2a9c1e:/root/tester"), There { session, agent });
    }

    #[test]
    fn a_root_is_named_by_its_number_and_a_tree_by_its_session() {
        for root in ["0", "root", ":0", "/root", "3f2a9c1e:0"] {
            assert!(names_root(Some(root)), "{root}");
        }
        for tree in [None, Some(""), Some("3f2a9c1e"), Some("parser")] {
            assert!(!names_root(tree), "{tree:?}");
        }
    }
}
