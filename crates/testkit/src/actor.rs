//! Who drives a session in a scenario.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::task::JoinSet;
use troupe_agents::{AgentsConfigurator, TreeHandle};
use troupe_engine::{EventStream, SessionHandle};
use troupe_protocol::input::UserInput;
use troupe_protocol::op::{Op, Submission};
use troupe_protocol::{Event, EventMsg, JsonCodec, SessionId, SubmissionId};
use troupe_server::pipe;
use troupe_transport::{EventReader, LineWriter};

/// How long a scenario waits for an event before it says what it got instead.
const PATIENCE: Duration = Duration::from_secs(30);

/// As much as a pipe of the kernel holds.
const PIPE_BYTES: usize = 64 * 1024;

/// The client of one queue pair, with everything it was told so far.
///
/// It is at the other end of two pipes, as a program is that talks to `troupe proto`: what it
/// submits and what it is told are lines of JSON on the way, so every scenario also shows
/// that its words can be written and read.
#[derive(Debug)]
pub struct Actor {
    /// Absent once nothing more comes.
    submissions: Option<LineWriter<DuplexStream>>,
    events: EventReader<DuplexStream>,
    tree: Option<Arc<AgentsConfigurator>>,
    seen: Vec<Arc<Event>>,
    next: u32,
    /// The session's end of the pipes. It goes with the actor.
    _serving: JoinSet<()>,
}

impl Actor {
    pub(crate) fn new(
        handle: SessionHandle,
        events: EventStream,
        tree: Option<Arc<AgentsConfigurator>>,
    ) -> Self {
        let (submissions, input) = duplex(PIPE_BYTES);
        let (output, told) = duplex(PIPE_BYTES);
        let mut serving = JoinSet::new();
        serving.spawn(async move {
            // An actor that has left breaks the pipe; one that stays sees its end.
            pipe::serve(handle, events, input, output).await.ok();
        });
        Self {
            submissions: Some(LineWriter::new(submissions)),
            events: EventReader::new(told),
            tree,
            seen: Vec::new(),
            next: 1,
            _serving: serving,
        }
    }

    /// Returns the tree that this session is the root of.
    pub fn agents(&self) -> TreeHandle {
        let tree = self.tree.as_ref().expect("the stage has agents");
        tree.agents().expect("the session was configured")
    }

    /// Submits and returns the id that was used: `s1`, `s2`, …
    pub async fn submit(&mut self, op: Op) -> SubmissionId {
        let id = self.next_id();
        let submission = Submission { id: id.clone(), op };
        self.write(&submission).await;
        id
    }

    /// As [`Self::submit`], for an op as a client writes it.
    pub async fn submit_json(&mut self, op: &str) -> SubmissionId {
        let id = self.next_id();
        let op: Value = serde_json::from_str(op).expect("the op is JSON");
        self.write(&json!({"id": id, "op": op})).await;
        id
    }

    fn next_id(&mut self) -> SubmissionId {
        let id = SubmissionId(format!("s{}", self.next));
        self.next += 1;
        id
    }

    async fn write(&mut self, submission: &impl JsonCodec) {
        let writer = self.submissions.as_mut().expect("more may be submitted");
        writer.push(submission).expect("a submission is JSON");
        writer.flush().await.expect("the session takes submissions");
    }

    pub async fn say(&mut self, text: &str) -> SubmissionId {
        self.submit(Op::UserInput {
            items: vec![UserInput::text(text)],
            final_output_json_schema: None,
            last_response_id: None,
        })
        .await
    }

    /// Says something and waits for the end of the task.
    pub async fn turn(&mut self, text: &str) -> Vec<EventMsg> {
        self.say(text).await;
        self.until_task_ends().await
    }

    pub async fn until_task_ends(&mut self) -> Vec<EventMsg> {
        self.until(|msg| matches!(msg, EventMsg::TurnComplete(_) | EventMsg::TurnAborted(_)))
            .await
    }

    /// Returns the events up to and including the first that matches.
    pub async fn until(&mut self, is_it: impl Fn(&EventMsg) -> bool) -> Vec<EventMsg> {
        let mut passed = Vec::new();
        loop {
            let event = match tokio::time::timeout(PATIENCE, self.events.next()).await {
                Ok(Ok(Some(event))) => event,
                Ok(Ok(None)) => panic!("the session ended; these events came: {passed:#?}"),
                Ok(Err(error)) => panic!("{error}; these events came: {passed:#?}"),
                Err(late) => panic!("{late}; these events came: {passed:#?}"),
            };
            let found = is_it(&event.msg);
            passed.push(event.msg.clone());
            self.seen.push(Arc::new(event));
            if found {
                return passed;
            }
        }
    }

    /// Says that nothing more comes, and returns what the session says until it ends.
    pub async fn finish(mut self) -> Vec<EventMsg> {
        self.submissions = None;
        self.until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await
    }

    /// Returns every event so far.
    pub fn seen(&self) -> &[Arc<Event>] {
        &self.seen
    }

    pub fn session_id(&self) -> SessionId {
        let configured = self.seen.iter().rev().find_map(|event| match &event.msg {
            EventMsg::SessionConfigured(configured) => Some(configured.session_id),
            _ => None,
        });
        configured.expect("the session was configured")
    }

    /// Ends the session and returns what it said last.
    pub async fn shut_down(mut self) -> Vec<EventMsg> {
        self.submit(Op::Shutdown).await;
        let last = self
            .until(|msg| matches!(msg, EventMsg::ShutdownComplete))
            .await;
        let after = self.events.next().await.expect("the pipe ends in order");
        assert_eq!(after, None, "nothing follows the end");
        last
    }
}
