//! What a client may ask, one line each in [`EditorConnection::request`].

use std::collections::HashMap;
use std::str::FromStr;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AGENT_METHOD_NAMES as METHODS, AgentCapabilities, CancelNotification, ClientCapabilities,
    CloseSessionRequest, CloseSessionResponse, ErrorCode, Implementation, InitializeRequest,
    InitializeResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest,
    LoadSessionResponse, McpCapabilities, NewSessionRequest, NewSessionResponse,
    PromptCapabilities, PromptRequest, ResumeSessionRequest, ResumeSessionResponse,
    SessionCapabilities, SessionCloseCapabilities, SessionId as ClientSessionId,
    SessionListCapabilities, SessionResumeCapabilities, SetSessionConfigOptionRequest,
    SetSessionModeRequest,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::task::JoinSet;
use troupe_protocol::discard;
use troupe_protocol::{Op, SessionId};
use troupe_server::{RootSession, SessionPool, SessionRefusal};
use troupe_transport::rpc::{IncomingMessage, Outbox, RequestId, RpcError, codes, decode};

use super::config_options::SessionChoices;
use super::opening::{self, OpenSessionRequest};
use super::peer::EditorPeer;
use super::session::{EditorCommand, EditorSessionHandle, FollowedSession, follow, listed_models};
use super::updates::NoticeStyle;
use super::{AgentIdentity, failure, modes, prompt, replay};
use crate::limits::JOBS_MAX;

/// One client and its sessions.
#[derive(Debug)]
pub(super) struct EditorConnection {
    house: SessionPool,
    about: AgentIdentity,
    peer: EditorPeer,
    /// What the client can do, once it has said so.
    client: Option<ClientCapabilities>,
    sessions: HashMap<SessionId, EditorSessionHandle>,
    /// The tasks of the sessions.
    following: JoinSet<()>,
    jobs: JoinSet<ConnectionJobOutcome>,
}

/// What a job came to.
enum ConnectionJobOutcome {
    Opened {
        request: RequestId,
        opened: Result<(RootSession, SessionChoices), RpcError>,
        how: OpenMethod,
    },
    Listed {
        request: RequestId,
        listed: Result<ListSessionsResponse, RpcError>,
    },
    Closed {
        request: RequestId,
    },
}

/// How a client got a session; each has an answer of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OpenMethod {
    New,
    Load,
    Resume,
}

impl EditorConnection {
    pub(super) fn new(house: SessionPool, about: AgentIdentity, outbox: Outbox) -> Self {
        Self {
            house,
            about,
            peer: EditorPeer::new(outbox),
            client: None,
            sessions: HashMap::new(),
            following: JoinSet::new(),
            jobs: JoinSet::new(),
        }
    }

    /// Takes one message.
    pub(super) async fn take(&mut self, text: &[u8]) {
        match decode(text) {
            Ok(IncomingMessage::Request { id, method, params }) => {
                if let Err(error) = self.request(&id, &method, params.as_deref()).await {
                    self.refuse(Some(&id), &error).await;
                }
            }
            Ok(IncomingMessage::Notification { method, params }) => {
                self.notification(&method, params.as_deref()).await;
            }
            Ok(IncomingMessage::Response(response)) => {
                if let Err(never) = self.peer.outbox().answered(response) {
                    let error = RpcError::invalid_request(never.to_string());
                    self.refuse(None, &error).await;
                }
            }
            Err(unreadable) => self.refuse(unreadable.id.as_ref(), &unreadable.error).await,
        }
    }

    /// Answers something that could not be read.
    pub(super) async fn refuse_unreadable(&self, error: RpcError) {
        self.refuse(None, &error).await;
    }

    /// Takes what the next job came to; for ever if there is none. Safe to cancel.
    pub(super) async fn next_job(&mut self) {
        let done = tokio::select! {
            Some(done) = self.jobs.join_next() => done,
            Some(_) = self.following.join_next() => return self.forget_ended(),
            else => return std::future::pending().await,
        };
        // A job that panicked is a defect; the client's request stays without an answer.
        if let Ok(job) = done {
            self.done(job).await;
        }
    }

    /// Ends every session in order.
    pub(super) async fn end(mut self) {
        self.jobs.shutdown().await;
        self.house.end().await;
        // With their sessions over, they say their last and end.
        while self.following.join_next().await.is_some() {}
    }

    async fn request(
        &mut self,
        id: &RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), RpcError> {
        let method_is = |name: &str| method == name;
        if method_is(METHODS.initialize) {
            let answer = self.initialize(read(params)?);
            return self.answer(id, answer).await;
        }
        if self.client.is_none() {
            return Err(RpcError::invalid_request(format!(
                "{method} came before initialize; send that first"
            )));
        }
        match method {
            it if it == METHODS.authenticate => Err(RpcError::invalid_params(
                "methodId: there is nothing to authenticate with here; keys are read from the \
                 environment and the configuration, and `troupe doctor` tells which are missing",
            )),
            it if it == METHODS.session_new => self.new_session(id, read(params)?),
            it if it == METHODS.session_load => self.load_session(id, read(params)?),
            it if it == METHODS.session_resume => self.resume_session(id, read(params)?),
            it if it == METHODS.session_list => self.list_sessions(id, read(params)?),
            it if it == METHODS.session_close => self.close_session(id, read(params)?),
            it if it == METHODS.session_prompt => self.prompt(id, read(params)?).await,
            it if it == METHODS.session_set_config_option => {
                self.set_option(id, read(params)?).await
            }
            it if it == METHODS.session_set_mode => self.set_mode(id, read(params)?).await,
            _ => Err(RpcError::new(
                codes::METHOD_NOT_FOUND,
                format!("there is no method {method}"),
            )),
        }
    }

    /// One that is not known, or cannot be read, has nobody to be told.
    async fn notification(&mut self, method: &str, params: Option<&RawValue>) {
        if method != METHODS.session_cancel {
            return;
        }
        let Ok(cancel) = read::<CancelNotification>(params) else {
            return;
        };
        if let Ok(session) = self.session(&cancel.session_id) {
            // A session that has ended has nothing to cancel.
            discard!(
                session.give(EditorCommand::Cancel).await,
                "the session has ended"
            );
        }
    }

    fn initialize(&mut self, request: InitializeRequest) -> InitializeResponse {
        self.client = Some(request.client_capabilities);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(true))
            .session_capabilities(sessions);
        let us = Implementation::new("troupe", self.about.version).title("Troupe");
        // A client that speaks another version decides whether it can go on.
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .agent_info(us)
    }

    fn new_session(&mut self, id: &RequestId, request: NewSessionRequest) -> Result<(), RpcError> {
        let wish = OpenSessionRequest {
            session: None,
            cwd: request.cwd,
            servers: request.mcp_servers,
        };
        self.open(id, wish, OpenMethod::New)
    }

    fn load_session(
        &mut self,
        id: &RequestId,
        request: LoadSessionRequest,
    ) -> Result<(), RpcError> {
        let wish = OpenSessionRequest {
            session: Some(stored_id(&request.session_id)?),
            cwd: request.cwd,
            servers: request.mcp_servers,
        };
        self.open(id, wish, OpenMethod::Load)
    }

    fn resume_session(
        &mut self,
        id: &RequestId,
        request: ResumeSessionRequest,
    ) -> Result<(), RpcError> {
        let wish = OpenSessionRequest {
            session: Some(stored_id(&request.session_id)?),
            cwd: request.cwd,
            servers: request.mcp_servers,
        };
        self.open(id, wish, OpenMethod::Resume)
    }

    fn open(
        &mut self,
        id: &RequestId,
        wish: OpenSessionRequest,
        how: OpenMethod,
    ) -> Result<(), RpcError> {
        self.check_room()?;
        let (house, peer, request) = (self.house.clone(), self.peer.clone(), id.clone());
        self.jobs.spawn(async move {
            let opened = async {
                let thread = opening::open(&house, wish).await?;
                if how == OpenMethod::Load {
                    replay_history(&house, &peer, thread.id()).await?;
                }
                let choices = choices(&thread).await?;
                Ok((thread, choices))
            };
            ConnectionJobOutcome::Opened {
                request,
                opened: opened.await,
                how,
            }
        });
        Ok(())
    }

    fn list_sessions(
        &mut self,
        id: &RequestId,
        request: ListSessionsRequest,
    ) -> Result<(), RpcError> {
        self.check_room()?;
        let (house, id) = (self.house.clone(), id.clone());
        self.jobs.spawn(async move {
            ConnectionJobOutcome::Listed {
                request: id,
                listed: opening::list(&house, request).await,
            }
        });
        Ok(())
    }

    fn close_session(
        &mut self,
        id: &RequestId,
        request: CloseSessionRequest,
    ) -> Result<(), RpcError> {
        let session = self.session(&request.session_id)?.thread().id();
        let (house, id) = (self.house.clone(), id.clone());
        self.jobs.spawn(async move {
            house.unload(session).await;
            ConnectionJobOutcome::Closed { request: id }
        });
        Ok(())
    }

    async fn prompt(&mut self, id: &RequestId, request: PromptRequest) -> Result<(), RpcError> {
        let session = self.session(&request.session_id)?;
        let items = prompt::user_input(&request.prompt).map_err(RpcError::invalid_params)?;
        let request_id = id.clone();
        let command = EditorCommand::Prompt {
            request: request_id,
            items,
        };
        let given = session.give(command).await;
        given.map_err(|_| failure::no_session(&request.session_id.0))
    }

    async fn set_mode(
        &mut self,
        id: &RequestId,
        request: SetSessionModeRequest,
    ) -> Result<(), RpcError> {
        let session = self.session(&request.session_id)?;
        let mode = modes::mode_of_id(&request.mode_id.0).map_err(RpcError::invalid_params)?;
        let request_id = id.clone();
        let command = EditorCommand::SetMode {
            request: request_id,
            mode,
        };
        let given = session.give(command).await;
        given.map_err(|_| failure::no_session(&request.session_id.0))
    }

    async fn set_option(
        &mut self,
        id: &RequestId,
        request: SetSessionConfigOptionRequest,
    ) -> Result<(), RpcError> {
        let session = self.session(&request.session_id)?;
        let session_id = request.session_id.clone();
        let command = EditorCommand::SetOption {
            request: id.clone(),
            wish: Box::new(request),
        };
        let given = session.give(command).await;
        given.map_err(|_| failure::no_session(&session_id.0))
    }

    fn session(&self, id: &ClientSessionId) -> Result<&EditorSessionHandle, RpcError> {
        let session = SessionId::from_str(&id.0).ok();
        let session = session.and_then(|session| self.sessions.get(&session));
        session.ok_or_else(|| failure::no_session(&id.0))
    }

    fn check_room(&self) -> Result<(), RpcError> {
        if self.jobs.len() < JOBS_MAX {
            return Ok(());
        }
        Err(RpcError::new(
            codes::OVERLOADED,
            format!("{JOBS_MAX} sessions are being opened; try again when some of them are"),
        ))
    }

    async fn done(&mut self, job: ConnectionJobOutcome) {
        match job {
            ConnectionJobOutcome::Opened {
                request,
                opened,
                how,
            } => self.opened(&request, opened, how).await,
            ConnectionJobOutcome::Listed { request, listed } => self.tell(&request, listed).await,
            ConnectionJobOutcome::Closed { request } => {
                self.tell(&request, Ok(CloseSessionResponse::new())).await;
            }
        }
    }

    /// A session is open: the client hears of it first, and then from it.
    async fn opened(
        &mut self,
        request: &RequestId,
        opened: Result<(RootSession, SessionChoices), RpcError>,
        how: OpenMethod,
    ) {
        let (thread, choices) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.refuse(Some(request), &error).await,
        };
        let id = thread.id();
        let modes = modes::state(choices.context.collaboration_mode);
        let options = choices.options();
        match how {
            OpenMethod::New => {
                let answer = NewSessionResponse::new(id.to_string())
                    .modes(modes)
                    .config_options(options);
                self.tell(request, Ok(answer)).await;
            }
            OpenMethod::Load => {
                let answer = LoadSessionResponse::new()
                    .modes(modes)
                    .config_options(options);
                self.tell(request, Ok(answer)).await;
            }
            OpenMethod::Resume => {
                let answer = ResumeSessionResponse::new()
                    .modes(modes)
                    .config_options(options);
                self.tell(request, Ok(answer)).await;
            }
        }
        let notices = self.notices();
        let is_followed = self
            .sessions
            .get(&id)
            .is_some_and(|session| !session.thread().is_over());
        if !is_followed {
            let about = FollowedSession {
                thread,
                choices,
                commands: self.house.commands(),
                notices,
            };
            let session = follow(about, self.peer.clone(), &mut self.following);
            self.sessions.insert(id, session);
        }
    }

    fn notices(&self) -> NoticeStyle {
        let session = self.client.as_ref().and_then(|it| it.session.as_ref());
        if session.is_some_and(|session| session.notices.is_some()) {
            NoticeStyle::Own
        } else {
            NoticeStyle::Thoughts
        }
    }

    fn forget_ended(&mut self) {
        self.sessions
            .retain(|_, session| !session.thread().is_over());
    }

    async fn answer<T: Serialize>(&self, id: &RequestId, answer: T) -> Result<(), RpcError> {
        self.tell(id, Ok(answer)).await;
        Ok(())
    }

    /// A client that is gone is noticed where its messages are read.
    async fn tell<T: Serialize>(&self, id: &RequestId, outcome: Result<T, RpcError>) {
        discard!(self.peer.answer(id, outcome).await, "the client is gone");
    }

    async fn refuse(&self, id: Option<&RequestId>, error: &RpcError) {
        discard!(
            self.peer.outbox().refuse(id, error).await,
            "the client is gone"
        );
    }
}

/// Returns what can be chosen for a session as it stands.
async fn choices(thread: &RootSession) -> Result<SessionChoices, RpcError> {
    let refused = |refusal: SessionRefusal| RpcError::internal(refusal.message);
    let models = thread.ask(Op::ListModels { refresh: false }, listed_models);
    Ok(SessionChoices {
        models: models.await.map_err(refused)?.models,
        context: thread.context().await.map_err(refused)?,
    })
}

/// Tells what a session said before.
async fn replay_history(
    house: &SessionPool,
    peer: &EditorPeer,
    session: SessionId,
) -> Result<(), RpcError> {
    let store = house.store().map_err(RpcError::internal)?;
    let past = replay::past(&store, session).await;
    let past = past.map_err(|error| RpcError::internal(error.to_string()))?;
    let id = ClientSessionId::new(session.to_string());
    for update in past {
        if peer.update(&id, update).await.is_err() {
            break;
        }
    }
    Ok(())
}

fn stored_id(id: &ClientSessionId) -> Result<SessionId, RpcError> {
    SessionId::from_str(&id.0).map_err(|_| {
        failure::new(
            ErrorCode::ResourceNotFound,
            format!("there is no session {id}; session/list tells which there are"),
        )
    })
}

/// Reads the parameters of a method; what is wrong is named.
fn read<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, RpcError> {
    let text = params.map_or("{}", RawValue::get);
    let mut reader = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        let problem = error.into_inner();
        RpcError::invalid_params(match path.as_str() {
            "." => problem.to_string(),
            path => format!("{path}: {problem}"),
        })
    })
}
