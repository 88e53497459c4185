// Generated from the Rust types; do not edit.

export type AbortReason = "interrupted" | "replaced" | "error" | "crash" | "review_ended" | "budget_limited" | "shutdown";

export type AgentCard = { agent_id: AgentId, session_id: SessionId,
/**
 * Absent for the root and for the released.
 */
parent_agent_id?: AgentId | null, parent_session_id?: SessionId | null,
/**
 * Its place in the tree, such as `/root/tests`.
 */
path: string,
/**
 * 0 for the root.
 */
depth: number,
/**
 * How it was made; absent for the root.
 */
made?: AgentMaking | null,
/**
 * What its conversation is called, if somebody gave it a name.
 */
title?: string | null, note?: string | null, status: AgentStatus,
/**
 * Why it was interrupted, what it waits on, which tools run: in words.
 */
detail?: string | null,
/**
 * While it is at work.
 */
waiting_on?: WaitingOn | null, interruption?: Interruption | null,
/**
 * The tools that run now.
 */
current_tools?: Array<string>,
/**
 * What it thinks about, in a line.
 */
reasoning_header?: string | null,
/**
 * The beginning of the last message or the error, in one line.
 */
preview?: string | null,
/**
 * When the status changed last.
 */
since_ms: number, born_ms: number,
/**
 * When it last did something.
 */
progress_ms: number,
/**
 * How long its last task ran that has ended.
 */
ran_ms?: number | null, tokens: TokenSums, pending: PendingMail, last_task?: SubmissionId | null,
/**
 * Somebody has read what that task came to.
 */
read?: boolean,
/**
 * Only its results are left.
 */
pruned?: boolean, };

/**
 * A number that is unique in one agent tree. The root is 0; numbers grow and are never
 * reused, also not after a resume.
 */
export type AgentId = number;

/**
 * How much mail waits for an agent.
 */
export type AgentInbox = { agent_id: AgentId, session_id: SessionId, pending_messages: number, pending_interrupts: number, };

/**
 * The agent of a tree that asks, when it is another one than the one whose queue this is.
 */
export type AgentLabel = { agent_id: AgentId, path: string, session_id: SessionId, };

/**
 * One line: a fact, the tree it belongs to, and what the fact itself only names.
 */
export type AgentLine = {
/**
 * The session of the tree's root. A session that is resumed by itself is the root of a
 * tree of its own, and skips the lines of the other.
 */
tree: SessionId,
/**
 * With `born`: how the child was made.
 */
spec?: SpawnSpec | null,
/**
 * With `born`, `sent`, and an `ended` that calls back: what the message says. Facts
 * have a `message` of their own beside it.
 */
mail?: AgentMessage | null,
/**
 * With `ended`.
 */
result?: TaskResult | null, order: number, at: TimeMs,
/**
 * The agent in whose log it stands: who did it, or to whose status it belongs.
 */
log: AgentId, } & ({ "fact": "rooted", session: SessionId,
/**
 * For a fork of a conversation that names agents: the highest number among them. They
 * are not in this tree, and no agent of this tree is called like one of them.
 */
above?: AgentId | null,
/**
 * The paths directly below the root that those agents have.
 */
taken_paths?: Array<string>, }
  /**
   * A child and its first message, if it has one, in the log of the one who asked for it.
   */
  | { "fact": "born" } & Birth
  /**
   * In the log of the sender.
   */
  | { "fact": "sent", to: AgentId, envelope: Envelope, }
  /**
   * A task begins with this message, or with a direct input of the user.
   */
  | { "fact": "started", agent: AgentId, task: SubmissionId, message?: MessageId | null, }
  /**
   * Messages joined the running task.
   */
  | { "fact": "took", agent: AgentId, messages: Array<MessageId>, }
  /**
   * Result, status and callback in one line.
   */
  | { "fact": "ended", agent: AgentId, task: SubmissionId, end: End, callback?: Callback | null, }
  /**
   * A stop reached the agent before it took the next callback, which stays.
   */
  | { "fact": "halted", agent: AgentId, end: End, }
  /**
   * A stop found nothing that had begun; what was asked for stays in the inbox.
   */
  | { "fact": "withdrawn", agent: AgentId, }
  /**
   * What a wait delivered: ends of children, by the ids of the callbacks that tell them or
   * would have, and messages that came with its answer.
   */
  | { "fact": "consumed", agent: AgentId, messages: Array<MessageId>, }
  /**
   * In the log of the one who asked for the stop; the status follows when the agent's
   * own task has ended.
   */
  | { "fact": "stop_asked", agent: AgentId, stop: StopOrder,
/**
 * Why, in the words of whoever asked.
 */
note?: string | null, }
  | { "fact": "shut", agent: AgentId, }
  | { "fact": "reopened", agent: AgentId, }
  | { "fact": "released", agent: AgentId, }
  | { "fact": "pruned", agent: AgentId, }
  /**
   * The session says otherwise than before whether callers are called back.
   */
  | { "fact": "rebound", agent: AgentId, callback: CallbackMode, }
  /**
   * Something kept for others, by which the tree decides nothing.
   */
  | { "fact": "kept" } & Keepsake);

/**
 * How a child was made.
 */
export type AgentMaking = { origin: AgentOrigin, role: string, persona?: string | null, label?: string | null, model: string, effort?: ReasoningEffort | null, cwd: string,
/**
 * Its own; in force is no more than what those above it have at the moment.
 */
sandbox: SandboxPolicy,
/**
 * Why nothing leaves that sandbox, whoever agrees.
 */
sandbox_held?: string | null,
/**
 * Who answers what it asks.
 */
approvals: ApprovalRoute,
/**
 * The beginning of its first task; empty if it was given none.
 */
summary: string, };

/**
 * What one agent, the user or the engine says to an agent.
 */
export type AgentMessage = { items: Array<UserInput>, metadata?: MessageMetadata | null,
/**
 * The client's own name for the message, which its item repeats.
 */
client_id?: string | null, };

export type AgentMessageItem = { id: ItemId, text: string, };

/**
 * How a child came to be.
 */
export type AgentOrigin = "spawn" | "fork" | "send_message";

/**
 * How an agent stands, as other agents and UIs see it.
 */
export type AgentStatus = "pending_init" | "ready"
  | { "queued": { position: number, } } | "running"
  | { "completed": string | null }
  | { "errored": string } | "interrupted" | "cancelled" | "budget_exceeded" | "shutdown"
  | { "lost": AgentStatus | null } | "not_found";

export type Answer = {
/**
 * The value of the option that was chosen. Options exclude each other.
 */
selected: Array<string>,
/**
 * Free text, where the question offers it.
 */
other?: string | null, };

/**
 * A call and the answer that a history has for it.
 */
export type AnsweredCall = { call_id: CallId, answer: string, };

/**
 * When a tool call needs a person's word.
 */
export type ApprovalPolicy = "untrusted" | "on-failure" | "on-request" | "never";

/**
 * Who answers a child's requests for approval.
 */
export type ApprovalRoute = "never" | "route" | "parent";

/**
 * Something that happened beside the task.
 */
export type BackgroundEvent = { message: string, is_final: boolean, session_id?: SessionId | null, };

export type Birth = { agent: AgentId, parent: AgentId, session: SessionId, path: string, genealogy: Genealogy, bond: Bond,
/**
 * None for a child that waits to be told what to do.
 */
first?: Envelope | null, };

/**
 * What ties a child to its parent.
 */
export type Bond = { callback: CallbackMode, on_parent_interrupt: OnParentInterrupt, reach: Reach, };

export type ByteRange = { start: number, end: number, };

/**
 * The model's name for one of its tool calls.
 */
export type CallId = string;

/**
 * The message that a child's end puts in its caller's inbox.
 */
export type Callback = { id: MessageId, target: AgentId, };

/**
 * How a session is told of the children it made.
 */
export type CallbackConfig = {
/**
 * Whether the end of a child is told to who made it.
 */
enabled: boolean,
/**
 * Whether what the child said last is part of that.
 */
include_last_message: boolean,
/**
 * Whether the task that the child was given is repeated in it.
 */
include_original_prompt: boolean,
/**
 * Handlebars; the built-in text if absent.
 */
template: string | null, };

export type CallbackMode = "off" | "once" | "persistent";

/**
 * What the one who makes a child says of being told of it.
 */
export type CallbackWish = {
/**
 * How often, if the session has callbacks at all.
 */
mode: CallbackMode,
/**
 * It said nothing of the rest, so that what holds for the session does.
 */
inherits: boolean, };

/**
 * On whose behalf something is done.
 */
export type Caller = "user"
  | { "agent": AgentId };

/**
 * The session's state beside its history.
 */
export type CarriedState = { turn_context: TurnContext, total_token_usage: TokenUsage, seq_reserved_until: number, thread_name?: string | null, thread_note?: string | null, last_response_id?: ResponseId | null,
/**
 * There are `agent` lines in the log.
 */
has_agents?: boolean,
/**
 * As in the newest `answer_shape` line.
 */
output_schema?: JsonValue | null, };

export type ChangedFile = { path: string, before: FileState, after: FileState, };

/**
 * Where a child's instructions come from.
 */
export type ChildInstructions = "inherited"
  | { "role": string };

/**
 * Names one client of a session that several share; given by the server.
 */
export type ClientId = string;

/**
 * What a client sends beside submissions.
 */
export type ClientRequest =
  /**
   * Comes first, once.
   */
  | { "type": "hello" } & Hello
  /**
   * Asks for the seat. Whoever has it keeps it until they release it or are gone.
   */
  | { "type": "take_seat" }
  /**
   * Gives the seat back, or takes the wish for it back.
   */
  | { "type": "release_seat" }
  /**
   * Asks something, or has something done in the tree. Followers may only look.
   */
  | { "type": "query",
/**
 * Comes back with the answer, or with `refused`.
 */
id: SubmissionId, query: LinkQuery, }
  /**
   * Wants to be told what an agent of the tree says, as `agent_event`: first what its log has,
   * then what happens, texts while they grow too. Said again, it begins anew.
   */
  | { "type": "follow_agent", agent: AgentId,
/**
 * The last event of the agent that the client has seen; 0 for none.
 */
after: number, }
  /**
   * Has seen enough of that agent.
   */
  | { "type": "unfollow_agent", agent: AgentId, };

export type ClientRole = "drive" | "follow";

export type CodeLocation = { absolute_file_path: string, line_range: LineRange, };

/**
 * Begin of a message, close or resume from one agent to another.
 */
export type CollabInteraction = { call_id: CallId, sender_thread_id: SessionId, receiver_thread_id: SessionId, prompt?: string | null,
/**
 * Set at the end of the interaction.
 */
status?: AgentStatus | null, };

export type CollabSpawnBegin = { call_id: CallId, sender_thread_id: SessionId, prompt: string, model: string, reasoning_effort?: ReasoningEffort | null, };

export type CollabSpawnEnd = { call_id: CallId, sender_thread_id: SessionId, new_thread_id?: SessionId | null, prompt: string, status: AgentStatus, };

export type CollabWaiting = { call_id: CallId, sender_thread_id: SessionId, receiver_thread_ids: Array<SessionId>,
/**
 * Set at the end of the wait.
 */
statuses?: { [key in SessionId]: AgentStatus }, };

/**
 * Which way of working together a task runs in.
 */
export type CollaborationMode = "plan" | "default";

export type CommandEvidence = { command: string,
/**
 * Absent if it did not run, was killed, or goes on in the background.
 */
exit_code?: number | null,
/**
 * A person or a policy said no, and it did not run.
 */
refused?: boolean, };

export type CommandExecutionItem = {
/**
 * Equal to the id of the tool call.
 */
id: ItemId, command: Array<string>, cwd: string, parsed_cmd: Array<ParsedCommand>, source: CommandSource,
/**
 * Set when the command goes on after its call was answered.
 */
process_id?: string | null, status: WorkStatus,
/**
 * Set once the command was run; what was cut from the middle is said there.
 */
outcome?: CommandOutcome | null, };

/**
 * What a finished command left.
 */
export type CommandOutcome = {
/**
 * `None` while the command goes on in the background.
 */
exit_code?: number | null, stdout: string, stderr: string,
/**
 * Both streams in the order in which they came.
 */
aggregated_output: string,
/**
 * What the model was told.
 */
formatted_output: string, duration_ms: number, };

/**
 * Who started a command.
 */
export type CommandSource = "agent" | "user_shell" | "unified_exec_startup" | "unified_exec_interaction";

export type Compacted = {
/**
 * The model's summary.
 */
message: string, replacement_history: Array<ResponseItem>,
/**
 * What a reader that stops here must know of the lines before.
 */
carried: CarriedState, };

/**
 * How a session is opened. Everything absent comes from the configuration.
 */
export type ConfigureSession = { model_provider?: string | null,
/**
 * Replaces the built-in instructions.
 */
base_instructions?: string | null,
/**
 * Told to the model as a developer's message, before the user speaks.
 */
developer_instructions?: string | null,
/**
 * Continue this session.
 */
resume?: SessionId | null,
/**
 * Begin a new session with the history of this one.
 */
fork?: ForkPoint | null, source?: SessionSource | null,
/**
 * Nothing is written to disk.
 */
ephemeral?: boolean,
/**
 * Settings for this session and its children, by their keys in the configuration, whose
 * place they take.
 */
config?: { [key in string]: JsonValue }, cwd?: string | null, approval_policy?: ApprovalPolicy | null, sandbox_policy?: SandboxPolicy | null, model?: string | null,
/**
 * `null` takes an effort back: the model does as it does by itself.
 */
effort?: EffortChoice | null, summary?: ReasoningSummary | null, collaboration_mode?: ModeChoice | null,
/**
 * Holds until another mode is chosen.
 */
plan_writes?: boolean | null, personality?: Personality | null,
/**
 * Told to the model as a developer's message when the next task begins.
 */
developer_instructions?: string | null, };

export type ContentItem = { "type": "input_text", text: string, }
  | { "type": "input_image", image_url: string, detail?: ImageDetail | null, }
  | { "type": "output_text", text: string, }
  /**
   * The model declined to answer.
   */
  | { "type": "refusal", refusal: string, };

export type ContextCompactionItem = { id: ItemId,
/**
 * Only a completed one changed the history. Older records tell of none that failed.
 */
status: WorkStatus, };

/**
 * A tool that a client brings, and runs itself when the model calls it.
 */
export type DynamicTool = { namespace?: ToolNamespace | null, name: string, description: string,
/**
 * JSON Schema of the arguments.
 */
input_schema: JsonValue, };

/**
 * An effort as a client chooses it: one of them, or `null` for what the model does by itself.
 */
export type EffortChoice = ReasoningEffort | null;

export type ElicitationDecision = "accept" | "decline" | "cancel";

/**
 * A server wants to know something from the user while it runs a call.
 */
export type ElicitationRequest = { server_name: string,
/**
 * Answer with this id.
 */
id: CallId, turn_id?: SubmissionId | null,
/**
 * As the server wrote it: `mode` is `form` (with `message` and `requestedSchema`) or
 * `url` (with `message`, `url` and `elicitationId`).
 */
request: JsonValue,
/**
 * Absent for the session's own.
 */
agent?: AgentLabel | null, };

/**
 * Why a task is over.
 */
export type End = "completed" | "errored" | "failed_to_start"
  | { "interrupted": { why: Interruption, } }
  | { "cancelled": { by: Caller,
/**
 * The agent whose subtree was cancelled; the agent itself if it alone was meant.
 */
scope: AgentId, } } | "budget_exceeded" | "replaced";

/**
 * One message without its contents.
 */
export type Envelope = { id: MessageId, } & ({ "kind": "interrupt", from: Sender, }
  /**
   * Joins the running task, or starts one.
   */
  | { "kind": "regular", from: Sender, }
  /**
   * Tells of a child's ended task; starts a task when the agent is idle.
   */
  | { "kind": "callback", child: AgentId, task: SubmissionId, });

export type ErrorEvent = { message: string,
/**
 * A fatal error ends the task: `turn_aborted` comes next.
 */
fatal: boolean, error_info?: ErrorInfo | null, };

/**
 * The machine-readable part of an `error` or `stream_error` event.
 */
export type ErrorInfo = "context_window_exceeded" | "usage_limit_exceeded" | "server_overloaded"
  | { "http_connection_failed": { http_status_code?: number | null, } }
  | { "response_stream_connection_failed": { http_status_code?: number | null, } }
  | { "response_stream_disconnected": { http_status_code?: number | null, } }
  | { "response_too_many_failed_attempts": { http_status_code?: number | null, } } | "model_repeats_itself" | "internal_server_error" | "unauthorized" | "bad_request" | "sandbox_error" | "interrupted" | "invalid_submission" | "not_found" | "not_driving" | "unsupported" | "storage_failed" | "thread_rollback_failed" | "active_turn_not_steerable" | "output_invalid" | "hook_refused" | "turn_limit_reached" | "other";

/**
 * One message of the event queue.
 */
export type Event = {
/**
 * The submission that started the task this belongs to; empty when there is none.
 */
id: SubmissionId,
/**
 * Grows with each event of the session and is never reused.
 */
seq: number, msg: EventMsg, };

export type EventMsg = { "type": "session_configured" } & SessionConfigured
  | { "type": "thread_name_updated", thread_name?: string | null, }
  | { "type": "thread_note_updated", thread_note?: string | null, }
  | { "type": "turn_context_updated" } & TurnContext
  | { "type": "shutdown_complete" }
  | { "type": "task_started" } & TurnStarted
  | { "type": "task_complete" } & TurnComplete
  | { "type": "turn_aborted" } & TurnAborted
  /**
   * One model cycle is over, its tools included: the bookmark.
   */
  | { "type": "response_completed", turn_id: SubmissionId, response_id: ResponseId, usage: TokenUsage, }
  /**
   * The answer to `steer`.
   */
  | { "type": "steer_receipt" } & SteerReceipt
  | { "type": "token_count", info?: TokenUsageInfo | null, rate_limits?: RateLimitSnapshot | null, }
  | { "type": "context_compacted" }
  | { "type": "thread_rolled_back", num_turns: number, }
  /**
   * The answer to `inject_items`. What could not be told to the model at once, because a
   * task runs, is told with its next request.
   */
  | { "type": "items_injected", items: Array<ResponseItem>, }
  | { "type": "undo_started", message?: string | null, }
  | { "type": "undo_completed" } & UndoCompleted
  | { "type": "error" } & ErrorEvent
  /**
   * The connection to the model broke; it is being tried again.
   */
  | { "type": "stream_error" } & StreamErrorEvent
  | { "type": "warning", message: string, }
  | { "type": "deprecation_notice", summary: string, details?: string | null, }
  | { "type": "background_event" } & BackgroundEvent
  | { "type": "item_started", thread_id: SessionId, turn_id: SubmissionId, item: TurnItem, started_at_ms: number, }
  | { "type": "item_completed", thread_id: SessionId, turn_id: SubmissionId, item: TurnItem, completed_at_ms: number, }
  | { "type": "agent_message_content_delta" } & TextDelta
  /**
   * EXPERIMENTAL: a piece of a proposed plan. All pieces together may differ from the completed
   * plan item, whose text counts.
   */
  | { "type": "plan_delta" } & TextDelta
  | { "type": "reasoning_content_delta" } & TextDelta
  | { "type": "reasoning_raw_content_delta" } & TextDelta
  | { "type": "agent_reasoning_section_break", item_id: ItemId, summary_index: number, }
  | { "type": "user_message", message: string, content?: Array<UserInput>,
/**
 * Set if the engine wrote the message for a child that ended.
 */
metadata?: MessageMetadata | null, }
  | { "type": "agent_message", message: string, }
  | { "type": "agent_reasoning", text: string, }
  | { "type": "agent_reasoning_raw_content", text: string, }
  | { "type": "exec_command_begin" } & ExecCommandBegin
  | { "type": "exec_command_output_delta" } & ExecCommandOutputDelta
  | { "type": "terminal_interaction", call_id: CallId, process_id: string, stdin: string, }
  | { "type": "exec_command_end" } & ExecCommandEnd
  | { "type": "patch_apply_begin", call_id: CallId, turn_id: SubmissionId, auto_approved: boolean, changes: { [key in string]: FileChange }, }
  | { "type": "patch_apply_end", call_id: CallId, turn_id: SubmissionId, stdout: string, stderr: string, success: boolean, changes: { [key in string]: FileChange }, status: WorkStatus, }
  | { "type": "plan_update", explanation?: string | null, plan: Array<PlanStep>, }
  /**
   * What the patches of the task come to so far, in git's format, with paths from the
   * working directory. Each takes the place of the one before.
   */
  | { "type": "turn_diff", unified_diff: string, }
  | { "type": "view_image_tool_call", call_id: CallId, path: string, }
  | { "type": "mcp_startup_update", server: string, status: McpStartupStatus, }
  | { "type": "mcp_startup_complete", ready: Array<string>, failed: Array<McpStartupFailure>, cancelled: Array<string>, }
  | { "type": "mcp_tool_call_begin", call_id: CallId, invocation: McpInvocation, }
  | { "type": "mcp_tool_call_end", call_id: CallId, invocation: McpInvocation, duration_ms: number, result?: JsonValue | null, error?: string | null, }
  /**
   * How far a server says it is with a call.
   */
  | { "type": "mcp_tool_call_progress", call_id: CallId, progress: number, total?: number | null, message?: string | null, }
  | { "type": "exec_approval_request" } & ExecApprovalRequest
  | { "type": "apply_patch_approval_request" } & PatchApprovalRequest
  | { "type": "request_user_input" } & UserInputRequest
  /**
   * An approval request was answered, or its task ended first (`abort`).
   */
  | { "type": "approval_resolved", call_id: CallId, decision: ReviewDecision, }
  /**
   * Questions were answered; without a response they were withdrawn, or there is nobody to
   * answer.
   */
  | { "type": "user_input_resolved", call_id: CallId, response?: UserInputResponse | null, }
  | { "type": "elicitation_request" } & ElicitationRequest
  /**
   * A server's question was answered, or withdrawn (`cancel`). What was filled in goes to
   * the server alone.
   */
  | { "type": "elicitation_resolved", id: CallId, decision: ElicitationDecision, }
  | { "type": "entered_review_mode", target: ReviewTarget, user_facing_hint?: string | null, }
  | { "type": "exited_review_mode", review_output?: ReviewOutput | null, }
  | { "type": "list_skills_response", skills: Array<SkillsEntry>, }
  | { "type": "list_models_response" } & ModelList
  | { "type": "mcp_list_tools_response" } & McpOffer
  | { "type": "subagent_lifecycle" } & SubagentLifecycle
  | { "type": "agent_inbox" } & AgentInbox
  | { "type": "collab_agent_spawn_begin" } & CollabSpawnBegin
  | { "type": "collab_agent_spawn_end" } & CollabSpawnEnd
  | { "type": "collab_agent_interaction_begin" } & CollabInteraction
  | { "type": "collab_agent_interaction_end" } & CollabInteraction
  | { "type": "collab_waiting_begin" } & CollabWaiting
  | { "type": "collab_waiting_end" } & CollabWaiting
  | { "type": "collab_close_begin" } & CollabInteraction
  | { "type": "collab_close_end" } & CollabInteraction
  | { "type": "collab_resume_begin" } & CollabInteraction
  | { "type": "collab_resume_end" } & CollabInteraction;

/**
 * An event as it is kept. Its older-name projections are not kept: they follow from it
 * and take the sequence numbers after `seq`.
 */
export type EventRecord = { id: SubmissionId, seq: number, msg: EventMsg, };

/**
 * What the engine saw, whatever the model says.
 */
export type Evidence = { started_at_ms: number, ended_at_ms: number, usage: TokenUsage,
/**
 * Messages of the model.
 */
messages: number,
/**
 * How often each tool was called.
 */
tool_calls?: { [key in string]: number }, commands?: Array<CommandEvidence>, files?: Array<FileEvidence>,
/**
 * Entries left out of the two lists because there were too many.
 */
omitted?: number,
/**
 * Children made during the task.
 */
children?: Array<SessionId>, };

export type ExecApprovalRequest = {
/**
 * Answer with this id.
 */
call_id: CallId, turn_id: SubmissionId, command: Array<string>, cwd: string,
/**
 * Why the engine or the model asks.
 */
reason?: string | null, parsed_cmd: Array<ParsedCommand>, available_decisions: Array<ReviewDecision>,
/**
 * A yes runs it without the sandbox that the session's commands have.
 */
outside_sandbox?: boolean,
/**
 * What `approved_always` would add to the user's rules.
 */
proposed_rules?: Array<ProposedRule>,
/**
 * Absent for the session's own.
 */
agent?: AgentLabel | null, };

export type ExecCommandBegin = { call_id: CallId, turn_id: SubmissionId, command: Array<string>, cwd: string, parsed_cmd: Array<ParsedCommand>, source: CommandSource, };

/**
 * A command is over, or goes on without its call.
 */
export type ExecCommandEnd = { process_id?: string | null, status: WorkStatus, call_id: CallId, turn_id: SubmissionId, command: Array<string>, cwd: string, parsed_cmd: Array<ParsedCommand>, source: CommandSource,
/**
 * `None` while the command goes on in the background.
 */
exit_code?: number | null, stdout: string, stderr: string,
/**
 * Both streams in the order in which they came.
 */
aggregated_output: string,
/**
 * What the model was told.
 */
formatted_output: string, duration_ms: number, };

export type ExecCommandOutputDelta = { call_id: CallId, stream: OutputStream,
/**
 * Base64: output need not be UTF-8.
 */
chunk: string, };

export type FileBefore = { path: string, before: FileState, };

/**
 * One file's part of a patch.
 */
export type FileChange = { "type": "add", content: string, }
  | { "type": "delete", content: string, }
  | { "type": "update", unified_diff: string, move_path?: string | null, };

export type FileChangeItem = {
/**
 * Equal to the id of the tool call.
 */
id: ItemId, changes: { [key in string]: FileChange }, status: WorkStatus, auto_approved: boolean, stdout: string, stderr: string, };

export type FileEvidence = { path: string,
/**
 * SHA-256 of the contents before the task touched it; absent if there was no file, or
 * one that is too large to be looked at.
 */
before?: string | null,
/**
 * SHA-256 of the contents when the task ended; absent if there is no file, or one that is
 * too large to be looked at.
 */
after?: string | null, };

/**
 * A line about files, from which it follows what can be taken back. Such lines count on
 * every branch of a conversation: going back in it does not touch files.
 */
export type FileFact =
  /**
   * The files of a repository as they are before the turn's first command that may write.
   */
  | { "fact": "tree", turn_id: SubmissionId,
/**
 * The top of the work tree.
 */
root: string,
/**
 * What of it was looked at, relative to the top; all of it if empty.
 */
parts?: Array<string>,
/**
 * Its name in the store of snapshots.
 */
tree: string, }
  /**
   * Files as they are before a patch of the turn touches them.
   */
  | { "fact": "touching", turn_id: SubmissionId, files: Array<FileBefore>, }
  /**
   * The turn is over. With this line it counts as one that can be taken back.
   */
  | { "fact": "changed", turn_id: SubmissionId, files: Array<ChangedFile>,
/**
 * Directories that it made.
 */
directories?: Array<string>,
/**
 * Why not everything that it changed is known.
 */
unseen?: Array<string>, }
  /**
   * Turns are being taken back. Written before a file is touched.
   */
  | { "fact": "undone",
/**
 * Which: the number of each among the session's turns that changed files, from 0.
 */
numbers: Array<number>, files: Array<ChangedFile>,
/**
 * Directories that are removed with what was in them.
 */
directories?: Array<string>, }
  /**
   * The last undo is being taken back, or could not be done.
   */
  | { "fact": "redone" };

/**
 * What stood in a place of the file system at one moment.
 */
export type FileState = { "kind": "absent" }
  /**
   * A regular file, with the SHA-256 of its contents in hex.
   */
  | { "kind": "file", sha256: string, mode: number, }
  /**
   * A symbolic link, with where it leads.
   */
  | { "kind": "link", target: string, }
  /**
   * Something that is not kept, in words: a device, a file that is too large.
   */
  | { "kind": "other", what: string, };

/**
 * An agent whose conversations can be taken over.
 */
export type ForeignAgent = "codex" | "claude";

export type ForkPoint = { session_id: SessionId,
/**
 * The bookmark to fork at; the end if absent.
 */
last_response_id?: ResponseId | null,
/**
 * Only this many of the last turns; all if absent.
 */
turns?: number | null,
/**
 * The turn to fork at, in the place of a bookmark.
 */
turn?: ForkTurn | null, };

/**
 * A turn that a fork is made at.
 */
export type ForkTurn = { "through": SubmissionId }
  | { "before": SubmissionId };

/**
 * How an agent came to be.
 */
export type Genealogy = { origin: AgentOrigin,
/**
 * Where in the parent's conversation it was spawned or forked.
 */
point?: SpawnPoint | null, };

/**
 * The state of the repository when the session began.
 */
export type GitInfo = { commit_hash?: string | null, branch?: string | null, };

/**
 * Why a connection ends.
 */
export type Goodbye = "session_ended" | "unauthorized" | "misunderstood" | "replaced" | "full";

/**
 * How a client introduces itself.
 */
export type Hello = {
/**
 * Required where the operating system does not tell who connects.
 */
token?: Secret | null,
/**
 * The name that an earlier `welcome` gave. The new connection takes the place of the old
 * one, and submissions that were already accepted from it are not done twice.
 */
client?: ClientId | null,
/**
 * What that `welcome` gave with the name. A name without it is not given away.
 */
secret?: Secret | null, role: ClientRole,
/**
 * The last event that the client has seen; 0 for none.
 */
after: number,
/**
 * Where a client begins that has seen nothing.
 */
history?: HistoryStart, };

/**
 * How much of its parent's conversation a child begins with.
 */
export type HistoryShare = "none" | "all"
  | { "last_turns": number };

/**
 * Where a client begins that has seen nothing.
 */
export type HistoryStart = "run" | "session";

export type ImageDetail = "auto" | "low" | "high" | "original";

export type ImageViewItem = { id: ItemId, path: string, };

/**
 * The conversation of another agent that a session took over.
 */
export type ImportedFrom = { agent: ForeignAgent,
/**
 * As the other agent names the conversation.
 */
id: string,
/**
 * How long the other agent's file was. It may have gone on since then.
 */
bytes: number, };

export type Interruption = "user" | "parent" | "crash" | "shutdown" | "reconfigured";

/**
 * Names one item of a conversation; the same in `item_started`, deltas and `item_completed`.
 */
export type ItemId = string;

export type JsonValue = number | string | boolean | Array<JsonValue>
  | { [key in string]: JsonValue } | null;

export type Keepsake =
  /**
   * An agent's note; absent when it was cleared.
   */
  | { "keepsake": "note", agent: AgentId, note?: string | null, }
  /**
   * The name that somebody gave to an agent's conversation; absent when it was cleared.
   */
  | { "keepsake": "name", agent: AgentId, name?: string | null, }
  /**
   * A timer that writes to `target` on behalf of `by`.
   */
  | { "keepsake": "watchdog", by: Caller, target: AgentId, interval_s: number, message: string, }
  | { "keepsake": "watchdog_off", by: Caller, target: AgentId, }
  /**
   * How the session is told of its children, as it was configured last.
   */
  | { "keepsake": "callback" } & CallbackConfig
  /**
   * Whether the session is offered tools for agents, as it was configured last.
   */
  | { "keepsake": "enabled", enabled: boolean, };

export type LineRange = { start: number, end: number, };

export type LinkAnswer = { "type": "agents", agents: Array<AgentCard>, }
  | { "type": "spawned", agent: AgentCard,
/**
 * One sentence for each wish that was not granted as it was.
 */
why?: Array<string>, }
  | { "type": "sent", agent: AgentCard, receipt: MessageReceipt, }
  | { "type": "stopped", touched: Array<StopStep>, skipped?: Array<StopExemption>,
/**
 * Addresses that mean nobody.
 */
unknown?: Array<string>, }
  | { "type": "resumed", agent: AgentCard, }
  | { "type": "result", result: TaskResult, }
  | { "type": "note_set" }
  | { "type": "read" }
  | { "type": "inbox", messages: Array<MailCard>, }
  | { "type": "roles", roles: Array<RoleCard>, }
  | { "type": "sessions", sessions: Array<SessionCard>,
/**
 * Asks for the next page.
 */
next?: string | null, }
  | { "type": "prompts", prompts: Array<string>, }
  | { "type": "prompt_added" }
  | { "type": "commands", commands: Array<PromptCommand>, }
  | { "type": "command_filled",
/**
 * The prompt; absent if nothing has the name.
 */
text?: string | null,
/**
 * What a person should know of it, a sentence each.
 */
notes?: Array<string>, };

/**
 * An agent is named by its number, its path (`/root/tests`), its name or the id of its session.
 */
export type LinkQuery =
  /**
   * How the agents of the tree stand, the root first.
   */
  | { "type": "agents",
/**
 * Closed and pruned agents too.
 */
include_closed?: boolean, }
  /**
   * Makes a child.
   */
  | { "type": "spawn_agent", order: SpawnOrder, }
  | { "type": "send_to_agent", agent: string, items: Array<UserInput>, urgency: MessageUrgency, }
  | { "type": "stop_agents", agents: Array<string>, verb: StopVerb,
/**
 * Only tell what would be touched.
 */
dry_run?: boolean,
/**
 * Why, for the record.
 */
note?: string | null, }
  /**
   * Brings a closed agent back, and has a stopped one go on.
   */
  | { "type": "resume_agent", agent: string, }
  /**
   * What a task of an agent came to, with what the engine saw of it.
   */
  | { "type": "agent_result", agent: string,
/**
 * Its last task if absent.
 */
task_id?: SubmissionId | null, }
  | { "type": "set_agent_note", agent: string,
/**
 * An empty one clears it.
 */
note: string, }
  /**
   * Somebody has read what the agent's last task came to; all clients are told so in its card.
   */
  | { "type": "mark_read", agent: string, }
  /**
   * What was sent to an agent, newest last.
   */
  | { "type": "agent_inbox", agent: string, }
  /**
   * What a child can be made from, in the session's directory.
   */
  | { "type": "roles" }
  /**
   * The sessions of the home that changed last, newest first.
   */
  | { "type": "sessions" } & SessionFilter
  /**
   * What people typed in this home, oldest first.
   */
  | { "type": "prompts",
/**
 * The newest ones, at most so many.
 */
limit?: number | null, }
  /**
   * Keeps what somebody typed for later sessions.
   */
  | { "type": "add_prompt", text: string, }
  /**
   * What can be called with `/name` in the session's directory: prompts in files, and those of
   * MCP servers.
   */
  | { "type": "commands" }
  /**
   * What a line `/name words` stands for.
   */
  | { "type": "fill_command", line: string, };

/**
 * A message to an agent, without its text.
 */
export type MailCard = {
/**
 * How it is delivered and who sent it; absent while only the recipient's log tells of it.
 */
kind?: MailKind | null, queued_ms?: number | null, state: MailCardState, };

/**
 * What has become of a message.
 */
export type MailCardState = "waiting" | "taken" | "consumed" | "dropped";

export type MailKind =
  /**
   * Takes the place of the running task.
   */
  | { "kind": "interrupt", from: Sender, }
  /**
   * Joins the running task, or starts one.
   */
  | { "kind": "regular", from: Sender, }
  /**
   * Tells of a child's ended task; starts a task when the agent is idle.
   */
  | { "kind": "callback", child: AgentId, task: SubmissionId, };

export type McpAuthStatus = "unsupported" | "bearer_token" | "o_auth";

export type McpInvocation = { server: string, tool: string, arguments?: JsonValue | null, };

/**
 * Everything that the servers of a session offer.
 */
export type McpOffer = {
/**
 * By the name that the model calls them by.
 */
tools: { [key in string]: McpTool },
/**
 * By server, as the server describes them.
 */
resources: { [key in string]: Array<JsonValue> }, resource_templates: { [key in string]: Array<JsonValue> }, auth_statuses: { [key in string]: McpAuthStatus },
/**
 * Why a server offers nothing.
 */
failures?: { [key in string]: string }, };

export type McpStartupFailure = { server: string, error: string, };

export type McpStartupStatus = { "state": "starting" }
  | { "state": "ready" }
  | { "state": "failed", error: string, }
  | { "state": "cancelled" };

export type McpTool = { server: string,
/**
 * The name that the server knows it by.
 */
name: string, title?: string | null, description?: string | null, inputSchema: JsonValue,
/**
 * What the server says about what its tool does, unproved.
 */
annotations?: JsonValue | null, };

export type McpToolCallItem = { id: ItemId, server: string, tool: string, arguments: JsonValue, status: WorkStatus, result?: JsonValue | null, error?: string | null, duration_ms?: number | null, };

/**
 * Names one message, wherever it stands.
 */
export type MessageId = string;

/**
 * Marks a message that the engine wrote for a child that ended.
 */
export type MessageMetadata = { is_callback: boolean,
/**
 * Always `troupe`.
 */
source: string, child_session_id: SessionId, child_task_id: SubmissionId, };

/**
 * What became of a message.
 */
export type MessageReceipt =
  /**
   * It starts a task now.
   */
  | { "receipt": "delivered" }
  /**
   * It will be taken; 1 is next.
   */
  | { "receipt": "queued", position: number, }
  /**
   * It waits until this is over.
   */
  | { "receipt": "held", until: string, }
  /**
   * It was not taken.
   */
  | { "receipt": "dead", why: string, };

export type MessageUrgency = "regular" | "interrupt";

/**
 * A mode as a client chooses it: by its name alone, or with settings that go with it.
 */
export type ModeChoice = CollaborationMode | ModeWithSettings;

/**
 * What a client wants of a mode. Model and effort win over those named beside the mode.
 */
export type ModeSettings = { model?: string | null, reasoning_effort?: ReasoningEffort | null,
/**
 * Told to the model instead of the mode's own instructions.
 */
developer_instructions?: string | null, };

export type ModeWithSettings = { mode: CollaborationMode, settings: ModeSettings, };

/**
 * What is known about one model. What is absent is not known, which does not keep the
 * model from being used.
 */
export type ModelEntry = {
/**
 * As `model` of a turn takes it.
 */
model: string,
/**
 * The session's tasks run with it unless they say otherwise.
 */
is_default?: boolean,
/**
 * Tokens of input that fit.
 */
context_window?: number | null,
/**
 * Tokens that it writes at most.
 */
max_output?: number | null,
/**
 * The efforts that it takes; empty for a model that does not reason, and for one of
 * which nothing is known.
 */
efforts?: Array<ReasoningEffort>, default_effort?: ReasoningEffort | null,
/**
 * Whether it sees images.
 */
images?: boolean | null, };

/**
 * The answer to `list_models`.
 */
export type ModelList = { models: Array<ModelEntry>, source: ModelListSource,
/**
 * Why the list is not what was asked for, or not all of it.
 */
note?: string | null, };

/**
 * Who says which models there are.
 */
export type ModelListSource = "built_in" | "provider";

export type OnParentInterrupt = "keep_running" | "cancel";

export type Op =
  /**
   * Opens the session, or reconfigures it. Must come first.
   */
  | { "type": "configure_session" } & ConfigureSession
  /**
   * Starts a task with the session's current settings. Older form of `user_turn`.
   */
  | { "type": "user_input", items: Array<UserInput>, final_output_json_schema?: JsonValue | null,
/**
 * Continue from this bookmark; what came after it is left out.
 */
last_response_id?: ResponseId | null, }
  /**
   * Starts a task; the overrides become the session's settings.
   */
  | { "type": "user_turn", items: Array<UserInput>, final_output_json_schema?: JsonValue | null, last_response_id?: ResponseId | null,
/**
 * The client's own name for the message, which its item repeats.
 */
client_id?: string | null, cwd?: string | null, approval_policy?: ApprovalPolicy | null, sandbox_policy?: SandboxPolicy | null, model?: string | null,
/**
 * `null` takes an effort back: the model does as it does by itself.
 */
effort?: EffortChoice | null, summary?: ReasoningSummary | null, collaboration_mode?: ModeChoice | null,
/**
 * Holds until another mode is chosen.
 */
plan_writes?: boolean | null, personality?: Personality | null,
/**
 * Told to the model as a developer's message when the next task begins.
 */
developer_instructions?: string | null, }
  /**
   * Adds input at the next model request of the running task, without aborting it.
   */
  | { "type": "steer", items: Array<UserInput>,
/**
 * The client's own name for the message, which its item repeats.
 */
client_id?: string | null, }
  /**
   * Adds items to what the model knows, as they are, without starting a task. They are shown
   * to nobody. Answered with `items_injected`.
   */
  | { "type": "inject_items", items: Array<ResponseItem>, }
  | { "type": "interrupt" }
  /**
   * Changes settings without starting a task.
   */
  | { "type": "override_turn_context", cwd?: string | null, approval_policy?: ApprovalPolicy | null, sandbox_policy?: SandboxPolicy | null, model?: string | null,
/**
 * `null` takes an effort back: the model does as it does by itself.
 */
effort?: EffortChoice | null, summary?: ReasoningSummary | null, collaboration_mode?: ModeChoice | null,
/**
 * Holds until another mode is chosen.
 */
plan_writes?: boolean | null, personality?: Personality | null,
/**
 * Told to the model as a developer's message when the next task begins.
 */
developer_instructions?: string | null, }
  /**
   * Answers `exec_approval_request`; `id` is its `call_id`.
   */
  | { "type": "exec_approval", id: string, decision: ReviewDecision, }
  /**
   * Answers `apply_patch_approval_request`; `id` is its `call_id`.
   */
  | { "type": "patch_approval", id: string, decision: ReviewDecision, }
  /**
   * Answers `request_user_input`; `id` is its `call_id`.
   */
  | { "type": "user_input_answer", id: string, response: UserInputResponse, }
  | { "type": "resolve_elicitation", server_name: string, request_id: string, decision: ElicitationDecision, content?: JsonValue | null, }
  /**
   * Runs a command as the user, and lets the model see it.
   */
  | { "type": "run_user_shell_command", command: string, }
  /**
   * Replaces the history by a summary now.
   */
  | { "type": "compact" }
  /**
   * Takes the last turns out of the history. Files stay as they are.
   */
  | { "type": "thread_rollback", num_turns: number, }
  | { "type": "set_thread_name", name: string, }
  /**
   * An empty note clears it.
   */
  | { "type": "set_thread_note", note: string, }
  | { "type": "review", review_request: ReviewRequest, }
  | { "type": "list_skills", cwds: Array<string>, force_reload: boolean, }
  /**
   * Answered with `list_models_response`.
   */
  | { "type": "list_models",
/**
 * Ask the provider; without an answer the built-in list is given, with a note.
 */
refresh: boolean, }
  | { "type": "list_mcp_tools" }
  | { "type": "refresh_mcp_servers" }
  /**
   * Brings files back to what they were before the last turns. The history stays as it is.
   */
  | { "type": "undo" } & UndoRequest
  | { "type": "shutdown" };

export type OutputStream = "stdout" | "stderr";

/**
 * What a command does, as far as its words tell, for display.
 */
export type ParsedCommand = { "type": "read", cmd: string, name: string, path: string, }
  | { "type": "list_files", cmd: string, path?: string | null, }
  | { "type": "search", cmd: string, query?: string | null, path?: string | null, }
  | { "type": "unknown", cmd: string, };

export type PatchApprovalRequest = {
/**
 * Answer with this id.
 */
call_id: CallId, turn_id: SubmissionId, changes: { [key in string]: FileChange }, reason?: string | null,
/**
 * The directory that would have to become writable.
 */
grant_root?: string | null,
/**
 * Absent for the session's own.
 */
agent?: AgentLabel | null, };

/**
 * What waits to be read.
 */
export type PendingMail = {
/**
 * Regular messages and callbacks.
 */
messages: number, interrupts: number, };

/**
 * The model's way of speaking; fills the personality placeholder of its instructions.
 */
export type Personality = "friendly" | "pragmatic" | "none";

/**
 * EXPERIMENTAL: a proposed plan.
 */
export type PlanItem = { id: ItemId, text: string, };

export type PlanStep = { step: string, status: StepStatus, };

/**
 * A prompt with a name, as a list shows it.
 */
export type PromptCommand = {
/**
 * What it is called by, behind a `/`.
 */
name: string, description?: string | null,
/**
 * How its arguments are written.
 */
argument_hint?: string | null, };

/**
 * A rule that allows every command which begins with these words.
 */
export type ProposedRule = { prefix: Array<string>,
/**
 * They then run without the sandbox.
 */
outside_sandbox: boolean, };

export type Question = {
/**
 * Names the answer (snake case).
 */
id: string,
/**
 * At most twelve characters.
 */
header: string, question: string,
/**
 * Offers a free answer besides the options.
 */
isOther: boolean, options?: Array<QuestionOption> | null, };

export type QuestionOption = { value: string, label: string, description: string, };

/**
 * What the provider said about its limits in the headers of the last response.
 */
export type RateLimitSnapshot = { primary?: RateLimitWindow | null, secondary?: RateLimitWindow | null, };

export type RateLimitWindow = { used_percent: number, window_minutes?: number | null,
/**
 * Unix seconds.
 */
resets_at?: number | null, };

/**
 * Whom an agent may write to.
 */
export type Reach = "subtree" | "parent" | "family";

/**
 * How hard the model thinks. Providers accept different subsets.
 */
export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max" | "ultra";

export type ReasoningItem = { id: ItemId, summary_text: Array<string>, raw_content?: Array<string>, };

export type ReasoningPart = { "type": "reasoning_text", text: string, }
  | { "type": "text", text: string, };

/**
 * How much of its reasoning the model summarises for people.
 */
export type ReasoningSummary = "auto" | "concise" | "detailed" | "none";

/**
 * The provider's name for one finished model response: the bookmark to continue from.
 */
export type ResponseId = string;

export type ResponseItem = { "type": "message", id?: string | null, role: Role, content: Array<ContentItem>,
/**
 * Set if the engine wrote the message for a child that ended. No provider is sent it.
 */
metadata?: MessageMetadata | null,
/**
 * Set if somebody said what begins like a message of the engine's own. No provider is sent
 * it.
 */
said?: boolean, }
  | { "type": "reasoning", id?: string | null, summary: Array<SummaryPart>, content?: Array<ReasoningPart> | null, encrypted_content?: string | null, }
  | { "type": "function_call", id?: string | null, name: string,
/**
 * JSON text, exactly as the model wrote it; it may not parse.
 */
arguments: string, call_id: CallId, }
  | { "type": "function_call_output", call_id: CallId, output: ToolOutputBody, }
  | { "type": "custom_tool_call", id?: string | null, name: string, input: string, call_id: CallId, }
  | { "type": "custom_tool_call_output", call_id: CallId, output: ToolOutputBody, } | JsonValue;

/**
 * A person's word on a command or a patch.
 */
export type ReviewDecision = "approved" | "approved_for_session" | "approved_always" | "denied" | "abort";

export type ReviewFinding = { title: string, body: string, confidence_score: number, priority: number, code_location: CodeLocation, };

export type ReviewOutput = { findings: Array<ReviewFinding>, overall_correctness: string, overall_explanation: string, overall_confidence_score: number, };

export type ReviewRequest = { target: ReviewTarget, user_facing_hint?: string | null, };

export type ReviewTarget = { "type": "uncommittedChanges" }
  | { "type": "baseBranch", branch: string, }
  | { "type": "commit", sha: string, title?: string | null, }
  | { "type": "custom", instructions: string, };

export type Rewind = {
/**
 * Byte offset just after the last line that stays.
 */
to: number, reason: RewindReason,
/**
 * What a reader that jumps over the lines between must know of them.
 */
carried: CarriedState, };

export type RewindReason = { "rollback": { num_turns: number, } }
  | { "bookmark": { response_id: ResponseId, } } | "redone";

export type Role = "system" | "developer" | "user" | "assistant";

/**
 * A role, as a list shows it.
 */
export type RoleCard = { name: string, description: string, };

/**
 * One line of a rollout, as the store writes it.
 */
export type RolloutLine = {
/**
 * RFC 3339 with milliseconds, UTC.
 */
timestamp: string, } & ({ "type": "session_meta", "payload": SessionMeta }
  | { "type": "turn_context", "payload": TurnContext }
  | { "type": "response_item", "payload": ResponseItem }
  /**
   * The history up to here, replaced. Resume reads backwards to the newest one.
   */
  | { "type": "compacted", "payload": Compacted }
  | { "type": "event_msg", "payload": EventRecord }
  /**
   * What lies between `to` and this line is on another branch. Readers that go
   * backwards jump to `to`.
   */
  | { "type": "rewind", "payload": Rewind }
  /**
   * A fact of the agent tree. A completion is one of these: result, status, callback.
   */
  | { "type": "agent", "payload": AgentLine }
  /**
   * What was seen of the files that the session works on.
   */
  | { "type": "files", "payload": FileFact }
  /**
   * No event below this number is issued again, also not after a crash.
   */
  | { "type": "seq_reserved", "payload": { until: number, } }
  /**
   * Who asked for the task that may follow.
   */
  | { "type": "submitted", "payload": SubmittedTask }
  /**
   * The shape that a client's task asks for its answer in, where it differs from the one before.
   * Whoever has the task go on later asks for the same.
   */
  | { "type": "answer_shape", "payload": { output_schema?: JsonValue | null, } });

/**
 * The names by which people choose a [`SandboxPolicy`].
 */
export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

/**
 * What the kernel lets a command do.
 */
export type SandboxPolicy = { "type": "danger-full-access" }
  | { "type": "read-only", network_access: boolean, }
  | { "type": "workspace-write",
/**
 * Writable besides the working directory and the temporary directories.
 */
writable_roots: Array<string>, network_access: boolean, exclude_tmpdir_env_var: boolean, exclude_slash_tmp: boolean, };

/**
 * Who drives, as one client sees it.
 */
export type Seat = {
/**
 * What this client is.
 */
role: ClientRole, driver?: ClientId | null,
/**
 * Who wants to drive next, in this order.
 */
asking?: Array<ClientId>, };

/**
 * A text that must not be shown.
 */
export type Secret = string;

/**
 * What is kept of a client's secret: enough to know the client again, too little to show the
 * secret.
 */
export type SecretDigest = string;

export type Sender = "user"
  | { "agent": AgentId }
  | { "watchdog": AgentId };

/**
 * What a client is told beside events.
 */
export type ServerNotice =
  /**
   * The answer to `hello`.
   */
  | { "type": "welcome" } & Welcome
  /**
   * Somebody else drives now, or wants to.
   */
  | { "type": "seat" } & Seat
  /**
   * The session has the submission. Said again when it is submitted again.
   */
  | { "type": "accepted", id: SubmissionId, }
  /**
   * The session never saw this message.
   */
  | { "type": "refused",
/**
 * Absent if it could not be read.
 */
id?: SubmissionId | null, error: ErrorEvent, }
  /**
   * The client reads more slowly than the session speaks. What it missed up to `upto` comes
   * from the rollout, without deltas; texts that are still open come whole, as snapshots.
   */
  | { "type": "lagged", after: number, upto: number, }
  /**
   * What a query came to.
   */
  | { "type": "answer", id: SubmissionId, answer: LinkAnswer, }
  /**
   * What an agent said that the client follows. `seq` is that of the agent's own session.
   */
  | { "type": "agent_event", agent: AgentId, event: Event, }
  /**
   * The last message of a connection.
   */
  | { "type": "goodbye", reason: Goodbye, message: string, };

/**
 * A session of the home, with what the index knows of its tree.
 */
export type SessionCard = { session_id: SessionId, name?: string | null, note?: string | null,
/**
 * The beginning of the first thing the user said.
 */
preview?: string | null,
/**
 * Where its last turn worked.
 */
cwd: string, model?: string | null, created_ms: number, updated_ms: number, tokens: number, forked_from?: SessionId | null, tree: TreeCount, };

export type SessionConfigured = { session_id: SessionId, forked_from_id?: SessionId | null, thread_name?: string | null, thread_note?: string | null, model_provider_id: string,
/**
 * How many messages the history begins with.
 */
history_entry_count: number, rollout_path?: string | null,
/**
 * The files whose instructions the model is told, such as AGENTS.md.
 */
instruction_sources?: Array<string>, cwd: string, approval_policy: ApprovalPolicy, sandbox_policy: SandboxPolicy, model: string, effort?: ReasoningEffort | null, summary: ReasoningSummary, collaboration_mode: CollaborationMode,
/**
 * What the model is told of the mode; the mode's own instructions if absent.
 */
mode_instructions?: string | null,
/**
 * Whether a turn that plans may write what the sandbox lets be written. Else it can only
 * read.
 */
plan_writes?: boolean, personality?: Personality | null,
/**
 * What the model is told as a developer, in the place of what the session was opened with.
 */
developer_instructions?: string | null, };

export type SessionFilter = {
/**
 * Only sessions that worked in exactly this directory last.
 */
cwd?: string | null,
/**
 * Found in name or preview.
 */
search?: string | null,
/**
 * Those that were archived, in the place of the others.
 */
archived?: boolean,
/**
 * The youngest first, and not those that changed last.
 */
by_creation?: boolean,
/**
 * `next` of the page before.
 */
cursor?: string | null, limit?: number | null, };

/**
 * Identifies one conversation. Version 4, so that its first eight characters are random
 * enough to serve as the short id.
 */
export type SessionId = string;

export type SessionMeta = { id: SessionId,
/**
 * RFC 3339 with milliseconds, UTC.
 */
timestamp: string, cwd: string,
/**
 * The program that opened the session, such as an SDK's name.
 */
originator: string, cli_version: string, source: SessionSource, model_provider: string, forked_from_id?: SessionId | null, base_instructions?: string | null,
/**
 * What the model is told as a developer's message.
 */
developer_instructions?: string | null,
/**
 * The manner that the instructions were filled with when the session began. A later
 * one is told in the history, so that what came before stays as it was sent.
 */
personality?: Personality | null, git?: GitInfo | null,
/**
 * Set if another agent had this conversation before.
 */
imported_from?: ImportedFrom | null,
/**
 * The tools that the client which opened the session runs itself.
 */
dynamic_tools?: Array<DynamicTool>, };

/**
 * Who opened a session.
 */
export type SessionSource = "cli" | "tui" | "exec" | "app_server" | "mcp" | "acp"
  | { "sub_session": { parent: SessionId, depth: number, origin: string, } } | JsonValue;

export type SkillError = { path: string, message: string, };

export type SkillItem = { id: ItemId, name: string,
/**
 * Its `SKILL.md`.
 */
path: string,
/**
 * The text is longer than what the model was told of it.
 */
truncated?: boolean, };

/**
 * Whose skill it is.
 */
export type SkillScope = "repo" | "user" | "system";

export type SkillSummary = { name: string, description: string,
/**
 * For a menu.
 */
short_description?: string | null,
/**
 * Its `SKILL.md`.
 */
path: string, scope: SkillScope, };

export type SkillsEntry = { cwd: string, skills: Array<SkillSummary>, errors: Array<SkillError>, };

/**
 * A child that a person makes below the root. What is absent is the role's, or the root's.
 */
export type SpawnOrder = { items: Array<UserInput>, role?: string | null,
/**
 * A wish for the last part of the path.
 */
name?: string | null, model?: string | null, effort?: ReasoningEffort | null,
/**
 * At most what the root may.
 */
sandbox?: SandboxMode | null,
/**
 * Absolute. The person who asks grants it.
 */
working_directory?: string | null, note?: string | null,
/**
 * How much of the root's conversation it begins with.
 */
history?: HistoryShare,
/**
 * Whether the root is told when the child has ended.
 */
call_back?: boolean, };

export type SpawnPoint = { task: SubmissionId, message_index: number, };

/**
 * Everything that a child's session is opened with, now and after each resume.
 */
export type SpawnSpec = {
/**
 * The tool that made it, such as `spawn_agent`.
 */
tool: string,
/**
 * The call that made it, in its parent's conversation.
 */
call_id?: CallId | null,
/**
 * The role's name.
 */
agent_type: string,
/**
 * The persona inside the role.
 */
agent_name?: string | null, label?: string | null,
/**
 * The beginning of the prompt, in one line, as callbacks repeat it; empty if there was
 * none.
 */
summary: string, instructions: ChildInstructions, cwd: string, model: string, model_provider?: string | null, reasoning_effort?: ReasoningEffort | null, approval_policy: ApprovalPolicy, approvals: ApprovalRoute, sandbox_policy: SandboxPolicy,
/**
 * Why nothing leaves that sandbox, whoever agrees: a role or a request narrowed it, for
 * this child or one above it.
 */
sandbox_held?: string | null,
/**
 * The lists of every role from the root down to this child; a tool must pass each.
 */
tools: Array<ToolLists>, history: HistoryShare,
/**
 * How the call that made it is answered in a history that it shares.
 */
forking_call?: AnsweredCall | null, output_schema?: JsonValue | null,
/**
 * What it was told with when it was made.
 */
callback: CallbackConfig,
/**
 * What its caller said of that; absent in older logs, whose children keep `callback`.
 */
callback_wish?: CallbackWish | null, };

export type SteerReceipt =
  /**
   * It goes with the next model request of this task.
   */
  | { "status": "queued", turn_id: SubmissionId, position: number, }
  /**
   * It is part of the history now.
   */
  | { "status": "delivered", turn_id: SubmissionId, };

/**
 * How far a step of the model's plan is.
 */
export type StepStatus = "pending" | "in_progress" | "completed";

/**
 * An agent that a stop leaves as it is.
 */
export type StopExemption = { agent_id: AgentId, path: string, why: string, };

/**
 * A stop on its way to a running task.
 */
export type StopOrder = { "interrupt": { why: Interruption, } }
  | { "cancel": { by: Caller, scope: AgentId, } }
  | { "close": { by: Caller, scope: AgentId, } };

/**
 * Why a task stopped.
 */
export type StopReason = { "reason": "completed" }
  | { "reason": "errored", message: string, info?: ErrorInfo | null, }
  /**
   * The answer did not fit its schema, also not after it was asked for again.
   */
  | { "reason": "output_invalid", message: string, }
  /**
   * The session could not be opened.
   */
  | { "reason": "failed_to_start", message: string, }
  | { "reason": "interrupted" }
  | { "reason": "crash" }
  | { "reason": "shutdown" }
  | { "reason": "cancelled", note?: string | null, }
  | { "reason": "budget_exceeded" }
  | { "reason": "replaced" };

/**
 * An agent that a stop reaches.
 */
export type StopStep = { agent_id: AgentId, path: string, verb: StopVerb, };

/**
 * What is done to an agent that is stopped.
 */
export type StopVerb = "interrupt" | "cancel" | "close" | "release" | "prune";

export type StreamErrorEvent = { message: string, attempt: number, attempts_max: number, retry_in_ms: number, error_info?: ErrorInfo | null, };

/**
 * An answer that should be JSON of a certain shape.
 */
export type StructuredOutput = { "verdict": "valid", value: JsonValue, }
  | { "verdict": "invalid", problems: Array<string>, };

/**
 * A change in the engine's view of a child. Each has the whole summary, so that a UI can draw
 * the tree from any of them; events of older logs have it only in `created`.
 */
export type SubagentLifecycle = { "event": "created", subagent: SubagentSummary, }
  | { "event": "status", agent_id: AgentId, session_id: SessionId, status: AgentStatus, subagent?: SubagentSummary | null, }
  | { "event": "reasoning_header", agent_id: AgentId, session_id: SessionId, reasoning_header: string, subagent?: SubagentSummary | null, }
  | { "event": "deleted", agent_id: AgentId, session_id: SessionId, subagent?: SubagentSummary | null, }
  /**
   * An agent of a tree that was taken up again from its logs, as it stands now.
   */
  | { "event": "restored", subagent: SubagentSummary, };

export type SubagentSummary = { agent_id: AgentId, parent_agent_id?: AgentId | null, session_id: SessionId, parent_session_id?: SessionId | null,
/**
 * Its place in the tree, such as `/root/tests`.
 */
path?: string | null, origin: AgentOrigin, status: AgentStatus, label?: string | null, summary?: string | null, reasoning_header?: string | null, started_at_ms: number, pending_messages: number, pending_interrupts: number, };

/**
 * One message of the submission queue.
 */
export type Submission = { id: SubmissionId, op: Op, };

/**
 * Chosen by the client for each submission. Events of a task carry the id of the
 * submission that started it, so it is also the id of the task (wire name `turn_id`).
 */
export type SubmissionId = string;

/**
 * A submission that begins a task, and the client that it is of. A client which repeats what
 * it does not know to have arrived is known by it after a crash too.
 */
export type SubmittedTask = { id: SubmissionId, client: ClientId, secret_digest: SecretDigest, };

export type SummaryPart = { "type": "summary_text", text: string, };

/**
 * The result of one task.
 */
export type TaskResult = { session_id: SessionId, task_id: SubmissionId, stop: StopReason,
/**
 * The last thing that the model said, also if the task was stopped.
 */
last_message?: string | null,
/**
 * The answer under the schema that was asked for.
 */
output?: StructuredOutput | null, evidence: Evidence, };

export type TextDelta = { thread_id: SessionId, turn_id: SubmissionId, item_id: ItemId, delta: string,
/**
 * The delta is the whole text so far: what was shown of this item is to be replaced.
 */
snapshot?: boolean, };

export type TextElement = { byte_range: ByteRange, placeholder?: string | null, };

/**
 * A moment in Unix milliseconds.
 */
export type TimeMs = number;

export type TokenSums = { own: number,
/**
 * With everybody below.
 */
subtree: number, };

/**
 * Tokens of one response, or the sum over several.
 */
export type TokenUsage = { input_tokens: number, cached_input_tokens: number, cache_write_input_tokens: number, output_tokens: number, reasoning_output_tokens: number, total_tokens: number, };

export type TokenUsageInfo = { total_token_usage: TokenUsage, last_token_usage: TokenUsage, model_context_window?: number | null, };

export type ToolCallItem = { id: ItemId, tool: string,
/**
 * The arguments if they are JSON, else the raw text.
 */
arguments: JsonValue, status: WorkStatus, output?: string | null, };

/**
 * Which tools one role allows. Deny beats allow; no allow list allows everything.
 */
export type ToolLists = { allow?: Array<string> | null, deny?: Array<string>,
/**
 * The MCP servers whose tools may be used; all if absent.
 */
mcp_servers?: Array<string> | null, };

/**
 * What several tools of a client have in common.
 */
export type ToolNamespace = { name: string, description: string, };

/**
 * What a tool answers to the model: text, or parts when there is an image among them.
 */
export type ToolOutputBody = string | Array<ContentItem>;

/**
 * What the model is told about one tool.
 */
export type ToolSpec =
  /**
   * Takes a JSON object.
   */
  | { "type": "function", name: string, description: string,
/**
 * JSON Schema of the arguments.
 */
parameters: JsonValue, }
  /**
   * Takes plain text that follows a grammar. Providers without such tools offer it as
   * a function with one text argument `input`.
   */
  | { "type": "freeform", name: string, description: string,
/**
 * A grammar in Lark syntax.
 */
grammar: string, };

/**
 * The agents below a root, counted.
 */
export type TreeCount = {
/**
 * Below the root.
 */
agents: number,
/**
 * Those whose last task was stopped before its end.
 */
stopped: number,
/**
 * What they and the root ask, and nobody has answered.
 */
questions: number,
/**
 * Some process works with the session.
 */
is_open: boolean, };

export type TurnAborted = { turn_id: SubmissionId, reason: AbortReason,
/**
 * What the model had said last.
 */
last_agent_message?: string | null,
/**
 * The last bookmark of the task.
 */
response_id?: ResponseId | null, };

export type TurnComplete = { turn_id: SubmissionId, last_agent_message?: string | null,
/**
 * The last bookmark of the task.
 */
response_id?: ResponseId | null, duration_ms: number, };

/**
 * Everything that may differ from one task to the next.
 */
export type TurnContext = { cwd: string, approval_policy: ApprovalPolicy, sandbox_policy: SandboxPolicy, model: string, effort?: ReasoningEffort | null, summary: ReasoningSummary, collaboration_mode: CollaborationMode,
/**
 * What the model is told of the mode; the mode's own instructions if absent.
 */
mode_instructions?: string | null,
/**
 * Whether a turn that plans may write what the sandbox lets be written. Else it can only
 * read.
 */
plan_writes?: boolean, personality?: Personality | null,
/**
 * What the model is told as a developer, in the place of what the session was opened with.
 */
developer_instructions?: string | null, };

export type TurnItem = { "type": "UserMessage" } & UserMessageItem
  | { "type": "AgentMessage" } & AgentMessageItem
  /**
   * EXPERIMENTAL: a plan proposed in plan mode. The completed text is authoritative; the deltas
   * together may differ from it. A plan of nothing is not completed.
   */
  | { "type": "Plan" } & PlanItem
  | { "type": "Reasoning" } & ReasoningItem
  | { "type": "CommandExecution" } & CommandExecutionItem
  | { "type": "FileChange" } & FileChangeItem
  | { "type": "McpToolCall" } & McpToolCallItem
  /**
   * A call of any other tool of the engine.
   */
  | { "type": "ToolCall" } & ToolCallItem
  | { "type": "ImageView" } & ImageViewItem
  /**
   * A skill that the user chose; its text was put before the message.
   */
  | { "type": "Skill" } & SkillItem
  | { "type": "ContextCompaction" } & ContextCompactionItem;

export type TurnStarted = { turn_id: SubmissionId, started_at_ms: number, model_context_window?: number | null, collaboration_mode_kind: CollaborationMode, };

/**
 * What became of an `undo`.
 */
export type UndoCompleted = {
/**
 * Whether anything was, or would be, taken back.
 */
success: boolean, message?: string | null, dry_run?: boolean,
/**
 * The turns that it was about, newest first.
 */
turns?: Array<SubmissionId>,
/**
 * Files that have their earlier contents again.
 */
restored?: Array<string>,
/**
 * Files and directories that are gone again.
 */
removed?: Array<string>,
/**
 * Files that were left as they are.
 */
conflicts?: Array<UndoConflict>,
/**
 * What the turns may have changed besides, and nobody saw.
 */
notes?: Array<string>, };

export type UndoConflict = { path: string, reason: string, };

/**
 * What is to be taken back. The conversation stays as it is; `thread_rollback` is for that.
 */
export type UndoRequest = {
/**
 * How many turns that changed files; the last one if absent.
 */
num_turns?: number | null,
/**
 * Only tell what would happen.
 */
dry_run?: boolean,
/**
 * Take back what can be, and leave the files that are not as the turns left them. Else
 * one such file is enough for nothing to be touched.
 */
partly?: boolean,
/**
 * Take back the last undo instead.
 */
redo?: boolean, };

export type UserInput = { "type": "text", text: string,
/**
 * Parts of the text that the UI shows in another way, such as a pasted block.
 */
text_elements?: Array<TextElement>, }
  | { "type": "image", image_url: string, detail?: ImageDetail | null, }
  | { "type": "local_image", path: string, detail?: ImageDetail | null, }
  /**
   * A skill chosen by the user; `path` leads to its `SKILL.md`.
   */
  | { "type": "skill", name: string, path: string, }
  /**
   * An app or connector chosen by the user; `path` has the form `app://{connector_id}`.
   */
  | { "type": "mention", name: string, path: string, };

export type UserInputRequest = {
/**
 * Answer with this id.
 */
call_id: CallId, turn_id: SubmissionId, questions: Array<Question>,
/**
 * Absent for the session's own.
 */
agent?: AgentLabel | null, };

export type UserInputResponse = {
/**
 * By the id of the question. Questions may be left out; without any answer the model is
 * told that none was given.
 */
answers: { [key in string]: Answer }, };

export type UserMessageItem = { id: ItemId, content: Array<UserInput>,
/**
 * The client's own name for the message.
 */
client_id?: string | null,
/**
 * Set if the engine wrote the message, as for a child that ended.
 */
metadata?: MessageMetadata | null, };

/**
 * What a running task waits on.
 */
export type WaitingOn = "model" | "tool" | "rate_limit" | "approval" | "user" | "child" | "slot";

export type Welcome = { version: number,
/**
 * The client's name, for its next `hello`.
 */
client: ClientId,
/**
 * What proves that a later connection is the same client. Nobody else is told.
 */
secret: Secret,
/**
 * The newest event: a client that has seen it has caught up.
 */
seq: number,
/**
 * What this client is.
 */
role: ClientRole, driver?: ClientId | null,
/**
 * Who wants to drive next, in this order.
 */
asking?: Array<ClientId>, };

/**
 * How a command or a patch stands.
 */
export type WorkStatus = "in_progress" | "completed" | "failed" | "declined";
