// Generated from the Rust types; do not edit.

export type ActiveFlag = "waitingOnApproval" | "waitingOnUserInput";

export type AgentState = { status: AgentStatus, message: string | null, };

export type AgentStatus = "pendingInit" | "running" | "interrupted" | "completed" | "errored" | "shutdown" | "notFound";

export type ApprovalDecision = "accept" | "acceptForSession"
  | { "acceptWithExecpolicyAmendment": JsonValue } | "decline" | "cancel";

/**
 * The answer to both.
 */
export type ApprovalResponse = { decision: ApprovalDecision, };

/**
 * Who answers approvals. Here it is always a person, through a client.
 */
export type ApprovalsReviewer = "user" | "auto_review" | "guardian_subagent";

export type AskForApproval = "untrusted" | "on-failure" | "on-request" | "never";

export type ByteRange = { start: number, end: number, };

export type ClientCapabilities = {
/**
 * Lets the client use methods and fields that may still change.
 */
experimentalApi: boolean,
/**
 * Exact names of notifications that the client does not want.
 */
optOutNotificationMethods: Array<string> | null, };

export type ClientInfo = { name: string, title: string | null, version: string, };

export type CodexErrorInfo = "contextWindowExceeded" | "usageLimitExceeded" | "serverOverloaded"
  | { "httpConnectionFailed": { httpStatusCode: number | null, } }
  | { "responseStreamConnectionFailed": { httpStatusCode: number | null, } }
  | { "responseStreamDisconnected": { httpStatusCode: number | null, } }
  | { "responseTooManyFailedAttempts": { httpStatusCode: number | null, } } | "internalServerError" | "unauthorized" | "badRequest" | "threadRollbackFailed" | "sandboxError" | "other";

export type CollabTool = "spawnAgent" | "sendInput" | "resumeAgent" | "wait" | "closeAgent";

/**
 * The way of working together, with the settings that go with it.
 */
export type CollaborationMode = JsonValue;

/**
 * What a command does, as far as its words tell.
 */
export type CommandAction = { "type": "read", command: string, name: string, path: string, }
  | { "type": "listFiles", command: string, path: string | null, }
  | { "type": "search", command: string, query: string | null, path: string | null, }
  | { "type": "unknown", command: string, };

export type CommandApprovalParams = { threadId: string, turnId: string, itemId: string, startedAtMs: number, reason: string | null, command: string | null, cwd: string | null, commandActions: Array<CommandAction> | null,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, };

export type CommandSource = "agent" | "userShell" | "unifiedExecStartup" | "unifiedExecInteraction";

export type ContentDeltaNotification = { threadId: string, turnId: string, itemId: string, delta: string, contentIndex: number, };

export type ContentItem = { "type": "inputText", text: string, };

/**
 * One directory or several.
 */
export type CwdFilter = string | Array<string>;

export type DeprecationNotification = { summary: string, details: string | null, };

export type ElicitationAction = "accept" | "decline" | "cancel";

/**
 * An MCP server asks something while it runs a call.
 */
export type ElicitationParams = { threadId: string, turnId: string | null, serverName: string,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, } & ({ [key in string]: number | string | boolean | Array<JsonValue>
  | { [key in string]: JsonValue } | null });

export type ElicitationResponse = { action: ElicitationAction, content: JsonValue | null, };

/**
 * An answer without content.
 */
export type Empty = Record<symbol, never>;

export type ErrorNotification = { threadId: string, turnId: string, error: TurnError, willRetry: boolean, };

export type FileChangeApprovalParams = { threadId: string, turnId: string, itemId: string, startedAtMs: number, reason: string | null, grantRoot: string | null,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, };

export type FileUpdateChange = { path: string, kind: PatchChangeKind,
/**
 * Of an added or deleted file its contents.
 */
diff: string, };

export type GitInfo = { sha: string | null, branch: string | null, originUrl: string | null, };

/**
 * `auto`, `low`, `high` or `original`.
 */
export type ImageDetail = string;

export type InitializeParams = { clientInfo: ClientInfo, capabilities: ClientCapabilities | null, };

export type InitializeResponse = { userAgent: string,
/**
 * The directory that everything is kept in.
 */
codexHome: string, platformFamily: string, platformOs: string, };

export type ItemCompletedNotification = { threadId: string, turnId: string, item: ThreadItem, completedAtMs: number, };

export type ItemStartedNotification = { threadId: string, turnId: string, item: ThreadItem, startedAtMs: number, };

/**
 * How much of a turn's items is there.
 */
export type ItemsView = "notLoaded" | "summary" | "full";

export type JsonValue = number | string | boolean | Array<JsonValue>
  | { [key in string]: JsonValue } | null;

export type McpServerStatus = "starting" | "ready" | "failed" | "cancelled";

export type McpServerStatusNotification = { threadId: string | null, name: string, status: McpServerStatus, error: string | null, };

export type PatchChangeKind = { "type": "add" }
  | { "type": "delete" }
  | { "type": "update", move_path: string | null, };

/**
 * `friendly`, `pragmatic` or `none`.
 */
export type Personality = string;

export type ProgressNotification = { threadId: string, turnId: string, itemId: string, message: string, };

export type Question = { id: string, header: string, question: string, isOther: boolean, isSecret: boolean, options: Array<QuestionOption> | null, };

export type QuestionOption = { label: string, description: string, };

/**
 * How hard the model thinks: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max` or
 * `ultra`, as far as the model takes it.
 */
export type ReasoningEffort = string;

/**
 * `auto`, `concise`, `detailed` or `none`.
 */
export type ReasoningSummary = string;

/**
 * A request of the server needs no answer any more.
 */
export type ResolvedNotification = { threadId: string, requestId: number, };

export type SandboxMode = "read-only" | "workspace-write" | "danger-full-access";

export type SandboxPolicy = { "type": "dangerFullAccess" }
  | { "type": "readOnly", networkAccess: boolean, }
  | { "type": "workspaceWrite", writableRoots: Array<string>, networkAccess: boolean, excludeTmpdirEnvVar: boolean, excludeSlashTmp: boolean, };

export type ServerNotification = { "method": "error", "params": ErrorNotification }
  | { "method": "warning", "params": WarningNotification }
  | { "method": "deprecationNotice", "params": DeprecationNotification }
  | { "method": "thread/started", "params": ThreadStartedNotification }
  | { "method": "thread/status/changed", "params": ThreadStatusChangedNotification }
  | { "method": "thread/archived", "params": ThreadIdNotification }
  | { "method": "thread/unarchived", "params": ThreadIdNotification }
  | { "method": "thread/closed", "params": ThreadIdNotification }
  | { "method": "thread/name/updated", "params": ThreadNameUpdatedNotification }
  | { "method": "thread/note/updated", "params": ThreadNoteUpdatedNotification }
  | { "method": "thread/tokenUsage/updated", "params": TokenUsageUpdatedNotification }
  | { "method": "turn/started", "params": TurnNotification }
  | { "method": "turn/completed", "params": TurnNotification }
  | { "method": "turn/diff/updated", "params": TurnDiffUpdatedNotification }
  | { "method": "turn/plan/updated", "params": TurnPlanUpdatedNotification }
  | { "method": "item/started", "params": ItemStartedNotification }
  | { "method": "item/completed", "params": ItemCompletedNotification }
  | { "method": "item/agentMessage/delta", "params": TextDeltaNotification }
  | { "method": "item/plan/delta", "params": TextDeltaNotification }
  | { "method": "item/reasoning/summaryTextDelta", "params": SummaryDeltaNotification }
  | { "method": "item/reasoning/summaryPartAdded", "params": SummaryPartNotification }
  | { "method": "item/reasoning/textDelta", "params": ContentDeltaNotification }
  | { "method": "item/commandExecution/outputDelta", "params": TextDeltaNotification }
  | { "method": "item/commandExecution/terminalInteraction", "params": TerminalNotification }
  | { "method": "item/mcpToolCall/progress", "params": ProgressNotification }
  | { "method": "mcpServer/startupStatus/updated", "params": McpServerStatusNotification }
  | { "method": "serverRequest/resolved", "params": ResolvedNotification };

export type SortDirection = "asc" | "desc";

export type SubAgentSource = { thread_spawn: ThreadSpawn, };

export type SummaryDeltaNotification = { threadId: string, turnId: string, itemId: string, delta: string, summaryIndex: number, };

export type SummaryPartNotification = { threadId: string, turnId: string, itemId: string, summaryIndex: number, };

export type TerminalNotification = { threadId: string, turnId: string, itemId: string, processId: string, stdin: string, };

/**
 * A piece of a text; all pieces together are the text.
 */
export type TextDeltaNotification = { threadId: string, turnId: string, itemId: string, delta: string, };

export type TextElement = { byteRange: ByteRange, placeholder?: string | null, };

export type Thread = { id: string,
/**
 * The root of the tree that the thread belongs to, as far as it is known.
 */
sessionId: string, forkedFromId: string | null, parentThreadId: string | null,
/**
 * The beginning of the first thing that the user said.
 */
preview: string, ephemeral: boolean, modelProvider: string, model: string | null,
/**
 * Unix seconds.
 */
createdAt: number,
/**
 * Unix seconds.
 */
updatedAt: number, status: ThreadStatus, path: string | null, cwd: string, cliVersion: string, source: ThreadSource, agentNickname: string | null, agentRole: string | null,
/**
 * Its place in the tree, such as `/root/tests`. Ours.
 */
agentPath: string | null, gitInfo: GitInfo | null, name: string | null,
/**
 * What was noted of the thread. Ours.
 */
note: string | null, turns: Array<Turn>, };

export type ThreadForkParams = { threadId: string,
/**
 * The last turn that the new thread has; all if absent.
 */
lastTurnId: string | null, ephemeral: boolean | null,
/**
 * Leaves the turns out of the answer.
 */
excludeTurns: boolean | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort` and `model_reasoning_summary` count.
 */
config: { [key in string]: JsonValue } | null, baseInstructions: string | null, developerInstructions: string | null, personality: Personality | null, };

export type ThreadIdNotification = { threadId: string, };

/**
 * The parameters of what concerns one thread and says nothing more.
 */
export type ThreadIdParams = { threadId: string, };

export type ThreadItem = { "type": "userMessage", id: string, content: Array<UserInput>, }
  | { "type": "agentMessage", id: string, text: string, }
  | { "type": "plan", id: string, text: string, }
  | { "type": "reasoning", id: string, summary: Array<string>, content: Array<string>, }
  | { "type": "commandExecution", id: string, command: string, cwd: string, processId: string | null, source: CommandSource, status: WorkStatus, commandActions: Array<CommandAction>, aggregatedOutput: string | null, exitCode: number | null, durationMs: number | null, }
  | { "type": "fileChange", id: string, changes: Array<FileUpdateChange>, status: WorkStatus, }
  | { "type": "mcpToolCall", id: string, server: string, tool: string, status: ToolStatus, arguments: JsonValue, result: JsonValue | null, error: ToolError | null, durationMs: number | null, }
  | { "type": "dynamicToolCall", id: string, tool: string, arguments: JsonValue, status: ToolStatus, contentItems: Array<ContentItem> | null, success: boolean | null, }
  | { "type": "collabAgentToolCall", id: string, tool: CollabTool, status: ToolStatus, senderThreadId: string, receiverThreadIds: Array<string>, prompt: string | null, model: string | null, reasoningEffort: ReasoningEffort | null, agentsStates: { [key in string]: AgentState }, }
  | { "type": "imageView", id: string, path: string, }
  | { "type": "enteredReviewMode", id: string, review: string, }
  | { "type": "exitedReviewMode", id: string, review: string, }
  | { "type": "contextCompaction", id: string, };

export type ThreadListParams = { cursor: string | null, limit: number | null, sortKey: ThreadSortKey | null, sortDirection: SortDirection | null, modelProviders: Array<string> | null,
/**
 * `cli`, `vscode`, `exec`, `appServer`, `subAgent…`, `unknown`.
 */
sourceKinds: Array<string> | null, archived: boolean | null, cwd: CwdFilter | null, searchTerm: string | null, };

export type ThreadListResponse = { data: Array<Thread>, nextCursor: string | null, backwardsCursor: string | null, };

export type ThreadLoadedListParams = { cursor: string | null, limit: number | null, };

export type ThreadLoadedListResponse = { data: Array<string>, nextCursor: string | null, };

export type ThreadNameUpdatedNotification = { threadId: string, threadName: string | null, };

/**
 * Ours.
 */
export type ThreadNoteUpdatedNotification = { threadId: string, threadNote: string | null, };

/**
 * The answer to `thread/start`, `thread/resume` and `thread/fork`.
 */
export type ThreadOpenResponse = { thread: Thread, model: string, modelProvider: string, serviceTier: string | null, cwd: string, instructionSources: Array<string>, approvalPolicy: AskForApproval, approvalsReviewer: ApprovalsReviewer, sandbox: SandboxPolicy, reasoningEffort: ReasoningEffort | null, };

export type ThreadReadParams = { threadId: string, includeTurns: boolean, };

export type ThreadResponse = { thread: Thread, };

export type ThreadResumeParams = { threadId: string,
/**
 * Leaves the turns out of the answer.
 */
excludeTurns: boolean | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort` and `model_reasoning_summary` count.
 */
config: { [key in string]: JsonValue } | null, baseInstructions: string | null, developerInstructions: string | null, personality: Personality | null, };

export type ThreadRollbackParams = { threadId: string,
/**
 * At least one.
 */
numTurns: number, };

export type ThreadSetNameParams = { threadId: string, name: string, };

/**
 * An empty note clears it. Ours.
 */
export type ThreadSetNoteParams = { threadId: string, note: string, };

export type ThreadSortKey = "created_at" | "updated_at" | "recency_at";

/**
 * Who opened a thread.
 */
export type ThreadSource = "cli" | "exec" | "appServer" | "unknown"
  | { "custom": string }
  | { "subAgent": SubAgentSource };

export type ThreadSpawn = { parent_thread_id: string, depth: number, };

export type ThreadStartParams = {
/**
 * Nothing is written to disk.
 */
ephemeral: boolean | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort` and `model_reasoning_summary` count.
 */
config: { [key in string]: JsonValue } | null, baseInstructions: string | null, developerInstructions: string | null, personality: Personality | null, };

export type ThreadStartedNotification = { thread: Thread, };

export type ThreadStatus = { "type": "notLoaded" }
  | { "type": "idle" }
  | { "type": "active", activeFlags: Array<ActiveFlag>, };

export type ThreadStatusChangedNotification = { threadId: string, status: ThreadStatus, };

export type ThreadTokenUsage = { total: TokenUsageBreakdown, last: TokenUsageBreakdown, modelContextWindow: number | null, };

export type ThreadUnsubscribeResponse = { status: UnsubscribeStatus, };

export type TokenUsageBreakdown = { totalTokens: number, inputTokens: number, cachedInputTokens: number, cacheWriteInputTokens: number, outputTokens: number, reasoningOutputTokens: number, };

export type TokenUsageUpdatedNotification = { threadId: string, turnId: string, tokenUsage: ThreadTokenUsage, };

export type ToolError = { message: string, };

export type ToolStatus = "inProgress" | "completed" | "failed";

export type Turn = { id: string, items: Array<ThreadItem>, itemsView: ItemsView, status: TurnStatus, error: TurnError | null,
/**
 * Unix seconds.
 */
startedAt: number | null,
/**
 * Unix seconds.
 */
completedAt: number | null, durationMs: number | null, };

export type TurnDiffUpdatedNotification = { threadId: string, turnId: string,
/**
 * Of the whole turn.
 */
diff: string, };

export type TurnError = { message: string, codexErrorInfo: CodexErrorInfo | null, additionalDetails: string | null, };

export type TurnInterruptParams = { threadId: string, turnId: string, };

export type TurnNotification = { threadId: string, turn: Turn, };

export type TurnPlanStep = { step: string, status: TurnPlanStepStatus, };

export type TurnPlanStepStatus = "pending" | "inProgress" | "completed";

export type TurnPlanUpdatedNotification = { threadId: string, turnId: string, explanation: string | null, plan: Array<TurnPlanStep>, };

/**
 * What begins a turn. What is given beside the input becomes the thread's setting.
 */
export type TurnStartParams = { threadId: string, input: Array<UserInput>, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandboxPolicy: SandboxPolicy | null, model: string | null, effort: ReasoningEffort | null, summary: ReasoningSummary | null, personality: Personality | null,
/**
 * The JSON Schema that the last answer must fit.
 */
outputSchema: JsonValue | null,
/**
 * Experimental.
 */
collaborationMode: CollaborationMode | null, };

export type TurnStartResponse = { turn: Turn, };

export type TurnStatus = "inProgress" | "completed" | "interrupted" | "failed";

export type TurnSteerParams = { threadId: string, input: Array<UserInput>,
/**
 * The turn that the input is meant for; another one is not touched.
 */
expectedTurnId: string, };

export type TurnSteerResponse = { turnId: string, };

export type UnsubscribeStatus = "notLoaded" | "notSubscribed" | "unsubscribed";

export type UserInput = { "type": "text", text: string,
/**
 * Parts of the text that the client shows in another way.
 */
text_elements: Array<TextElement>, }
  | { "type": "image",
/**
 * A `data:` URL.
 */
url: string, detail?: ImageDetail | null, }
  | { "type": "localImage", path: string, detail?: ImageDetail | null, }
  | { "type": "skill", name: string, path: string, }
  | { "type": "mention", name: string, path: string, };

export type UserInputAnswer = { answers: Array<string>, };

export type UserInputParams = { threadId: string, turnId: string, itemId: string, questions: Array<Question>, isBlocking: boolean,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, };

export type UserInputResponse = {
/**
 * By the id of the question; labels of options, or free text.
 */
answers: { [key in string]: UserInputAnswer }, };

export type WarningNotification = { threadId: string | null, message: string, };

export type WorkStatus = "inProgress" | "completed" | "failed" | "declined";
