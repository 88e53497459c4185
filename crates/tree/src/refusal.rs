//! Why a command was not carried out. A refused command has changed nothing. The texts are
//! read by models: each says what to do instead.

use thiserror::Error;
use troupe_protocol::tree::{MessageId, MessageReach};
use troupe_protocol::{AgentId, SubmissionId};

use crate::WaitId;
use crate::lifecycle::IllegalChange;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TreeRefusal {
    #[error(
        "all {limit} slots are taken ([agents] max_threads, on_limit = \"error\"); wait for a \
         running agent to finish, or do the work yourself"
    )]
    NoSlot { limit: usize },
    #[error(
        "agent depth limit of {limit} reached ([agents] max_depth); do the work yourself instead \
         of spawning"
    )]
    TooDeep { limit: u32 },
    #[error(
        "the tree has {limit} agents already ([agents] max_agents); close or prune finished \
         agents, or send the work to an idle one"
    )]
    TooMany { limit: usize },
    #[error(
        "{limit} agents were spawned within a minute ([agents] max_spawns_per_minute); try again \
         in {retry_in_ms} ms, or do the work yourself"
    )]
    TooFast { limit: usize, retry_in_ms: i64 },
    #[error("Not permitted to {verb} agents outside your subtree.")]
    OutsideSubtree { verb: &'static str },
    #[error(
        "agent {agent} may not send messages {}", match .reach {
            MessageReach::Subtree => "to its parent and siblings; what it has to say goes into its last message",
            MessageReach::Parent => "to its siblings; write to the parent",
            MessageReach::Family => "beyond its parent and siblings",
        }
    )]
    KeptToItself { agent: AgentId, reach: MessageReach },
    #[error("agent 0 is the root and cannot be interrupted by agents; send it a regular message")]
    RootInterrupt,
    #[error(
        "agent 0 is the root and agents cannot {verb} it; {verb} the agents below it instead, or \
         end the task"
    )]
    RootStop { verb: &'static str },
    #[error("an agent cannot send messages to itself; go on with the work instead")]
    SelfMessage,
    #[error("the inbox of agent {agent} is full ({limit} messages); wait until it has taken some")]
    InboxFull { agent: AgentId, limit: usize },
    #[error("no agent {0}; list the agents to see their numbers")]
    Unknown(AgentId),
    #[error("session {0} is a member of this tree already")]
    KnownSession(troupe_protocol::SessionId),
    #[error(
        "agent {0} is lost: its log is gone, so there is nothing to resume; give its work to a \
         new agent"
    )]
    Lost(AgentId),
    #[error("agent {0} is closed; resume it first")]
    Closed(AgentId),
    #[error("agent {above} above agent {agent} is closed; resume agent {above} first")]
    ClosedAbove { agent: AgentId, above: AgentId },
    #[error(
        "agent {agent} is at depth {depth}, and the limit is {limit} ([agents] max_depth); give \
         its work to an agent further up"
    )]
    ResumeTooDeep {
        agent: AgentId,
        depth: u32,
        limit: u32,
    },
    #[error("agent {0} was stopped; it waits for a message of somebody, not of a timer")]
    Resting(AgentId),
    #[error("agent {0} is being stopped; it starts nothing new")]
    Stopping(AgentId),
    #[error("agent {0} has no parent to be released from")]
    NotAChild(AgentId),
    #[error("nothing to wait for: no child is active and every result was delivered")]
    NothingToWaitFor,
    #[error(
        "waiting for agent {0} would never end, because it waits for this agent; end the task \
         instead, and it will be called back"
    )]
    CircularWait(AgentId),
    #[error("{limit} waits of this agent are open already; wait for several agents in one call")]
    TooManyWaits { limit: usize },
    #[error("no open wait {}", .0.0)]
    UnknownWait(WaitId),
    #[error("agent {agent} has no task {task} in flight")]
    StaleReport { agent: AgentId, task: SubmissionId },
    #[error("agent {0} has no task in flight")]
    NoTask(AgentId),
    #[error("message {message} is not there for agent {agent} to take")]
    NotInInbox { agent: AgentId, message: MessageId },
    #[error(transparent)]
    IllegalChange(#[from] IllegalChange),
}
