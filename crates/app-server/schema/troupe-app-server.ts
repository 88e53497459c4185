// Generated from the Rust types; do not edit.

export type Account = { "type": "apiKey" };

export type AccountRateLimitsUpdatedNotification = { rateLimits: RateLimits, };

export type AccountReadResponse = { account: Account | null, requiresOpenaiAuth: boolean, };

/**
 * The tokens of all conversations that are kept on this machine.
 */
export type AccountUsageResponse = { summary: UsageSummary,
/**
 * The days on which there were any, the oldest first.
 */
dailyUsageBuckets: Array<DailyUsage>, };

export type ActiveFlag = "waitingOnApproval" | "waitingOnUserInput";

/**
 * How an agent stands.
 */
export type Agent = { agentId: string, threadId: string,
/**
 * Null for the root and for the released.
 */
parentThreadId: string | null, path: string, depth: number, role: string | null, model: string | null, note: string | null, status: AgentStanding,
/**
 * The beginning of the last message or the error.
 */
preview: string | null,
/**
 * The tools that run now.
 */
currentTools: Array<string>, inbox: InboxDepth, lastTaskId: string | null, bornAtMs: number,
/**
 * When the status changed last.
 */
sinceMs: number, totalTokens: number,
/**
 * With everybody below.
 */
subtreeTokens: number,
/**
 * Only its results are left.
 */
pruned: boolean, };

/**
 * How much mail waits for an agent has changed.
 */
export type AgentInboxNotification = { rootThreadId: string, agentId: string,
/**
 * Of the agent.
 */
threadId: string, inbox: InboxDepth, };

export type AgentNoteSetParams = { rootThreadId: string, agent: string,
/**
 * An empty one clears it.
 */
note: string, };

/**
 * What a task came to.
 */
export type AgentResult = { threadId: string, taskId: string, completed: boolean,
/**
 * The last message, or what went wrong.
 */
text: string | null,
/**
 * The answer under the schema that was asked for, if it fits.
 */
output: JsonValue | null, evidence: Evidence, };

export type AgentResultParams = { rootThreadId: string, agent: string,
/**
 * Its last task if absent.
 */
taskId: string | null, };

export type AgentResultResponse = { result: AgentResult, };

export type AgentSendParams = { rootThreadId: string, agent: string, input: Array<UserInput>,
/**
 * Takes the place of the running task.
 */
interrupt: boolean, };

export type AgentSendResponse = { messageId: string, receipt: Receipt,
/**
 * The recipient, afterwards.
 */
agent: Agent, };

/**
 * A child of the root. What is absent is the role's, or the root's.
 */
export type AgentSpawnParams = { rootThreadId: string, input: Array<UserInput>,
/**
 * `default` if absent.
 */
role: string | null,
/**
 * A wish for the last part of the path.
 */
name: string | null, model: string | null, effort: ReasoningEffort | null,
/**
 * At most what the root may.
 */
sandbox: SandboxMode | null,
/**
 * The JSON Schema that the answer must fit.
 */
outputSchema: JsonValue | null, note: string | null,
/**
 * Whether the root is told when the child has ended.
 */
callBack: boolean, };

export type AgentSpawnResponse = { agent: Agent,
/**
 * One sentence for each wish that was not granted as it was.
 */
why: Array<string>, };

export type AgentStanding = { "type": "pendingInit" }
  /**
   * Never ran, and was given nothing to do yet.
   */
  | { "type": "ready" }
  /**
   * Starts when a slot is free; 1 is next.
   */
  | { "type": "queued", position: number, }
  | { "type": "running" }
  | { "type": "completed" }
  | { "type": "errored" }
  | { "type": "interrupted" }
  | { "type": "cancelled" }
  | { "type": "budgetExceeded" }
  | { "type": "shutdown" }
  /**
   * Its log is gone: it ran once, and cannot run again.
   */
  | { "type": "lost" }
  | { "type": "notFound" };

export type AgentState = { status: AgentStatus, message: string | null, };

export type AgentStatus = "pendingInit" | "running" | "interrupted" | "completed" | "errored" | "shutdown" | "notFound";

export type AgentStopParams = { rootThreadId: string, agents: Array<string>, verb: StopVerb,
/**
 * Only tell what would be touched.
 */
dryRun: boolean,
/**
 * Why, for the record.
 */
note: string | null, };

export type AgentStopResponse = { touched: Array<TouchedAgent>, skipped: Array<SkippedAgent>,
/**
 * Addresses that mean nobody.
 */
unknown: Array<string>, };

export type AgentWaitParams = { rootThreadId: string,
/**
 * Any of these; any child of the root if there is none.
 */
agents: Array<string>, timeoutMs: number | null, };

export type AgentWaitResponse = { timedOut: boolean,
/**
 * Who had ended at that moment.
 */
finished: Array<FinishedAgent>, unfinished: Array<Agent>, };

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

export type AuthMethod = "apikey";

export type AuthStatusResponse = { authMethod: AuthMethod | null,
/**
 * Never given: a key is not handed to clients.
 */
authToken: string | null, requiresOpenaiAuth: boolean | null, };

export type ByteRange = { start: number, end: number, };

/**
 * The child whose end a message tells of.
 */
export type CallbackOrigin = { isCallback: boolean, source: string, childSessionId: string, childTaskId: string, };

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
 * A way of working together. What is null stays as it is when the mode is chosen.
 */
export type CollaborationModeEntry = { name: string, mode: string, model: string | null, reasoning_effort: ReasoningEffort | null, };

export type CollaborationModeListResponse = { data: Array<CollaborationModeEntry>, };

/**
 * What a command does, as far as its words tell.
 */
export type CommandAction = { "type": "read", command: string, name: string, path: string, }
  | { "type": "listFiles", command: string, path: string | null, }
  | { "type": "search", command: string, query: string | null, path: string | null, }
  | { "type": "unknown", command: string, };

export type CommandApprovalParams = { threadId: string, turnId: string, itemId: string, startedAtMs: number, reason: string | null, command: string | null, cwd: string | null, commandActions: Array<CommandAction> | null,
/**
 * What can be answered. An approval for the session is missing where nobody can say what
 * the same words will run next time.
 */
availableDecisions: Array<ApprovalDecision> | null,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, };

export type CommandEvidence = { command: string, exitCode: number | null,
/**
 * A person or a policy said no, and it did not run.
 */
refused: boolean, };

export type CommandExecOutputDeltaNotification = { processId: string, stream: CommandExecOutputStream, deltaBase64: string,
/**
 * This is the last of the stream that counts, and more was said.
 */
capReached: boolean, };

/**
 * Where output came from. All output of a terminal is `stdout`.
 */
export type CommandExecOutputStream = "stdout" | "stderr";

export type CommandExecParams = {
/**
 * The program and its arguments. No shell is in between.
 */
command: Array<string>,
/**
 * The client's name for the command. Whoever wants to write to it, or to hear of its
 * output while it runs, needs one.
 */
processId: string | null,
/**
 * Gives it a terminal; its input and its output are streamed then.
 */
tty: boolean | null, streamStdin: boolean | null,
/**
 * Tells the output as it comes, and not at the end.
 */
streamStdoutStderr: boolean | null,
/**
 * How much of each stream counts. What comes behind it is thrown away.
 */
outputBytesCap: number | null, disableOutputCap: boolean | null, disableTimeout: boolean | null, timeoutMs: number | null,
/**
 * Absolute, or relative to the directory that the server was started in.
 */
cwd: string | null,
/**
 * Changes to the environment; `null` takes a variable away.
 */
env: { [key in string]: string | null } | null,
/**
 * The size of the terminal.
 */
size: CommandExecTerminalSize | null,
/**
 * The configured one if absent.
 */
sandboxPolicy: SandboxPolicy | null,
/**
 * Experimental, and refused: a policy says what a command may do.
 */
permissionProfile: JsonValue | null, };

export type CommandExecResizeParams = { processId: string, size: CommandExecTerminalSize, };

export type CommandExecResponse = {
/**
 * 124 if its time was up, 128 and the signal's number if a signal ended it.
 */
exitCode: number,
/**
 * Empty if it was streamed.
 */
stdout: string, stderr: string, };

export type CommandExecTerminalSize = { rows: number, cols: number, };

export type CommandExecTerminateParams = { processId: string, };

export type CommandExecWriteParams = { processId: string, deltaBase64: string | null, closeStdin: boolean | null, };

export type CommandSource = "agent" | "userShell" | "unifiedExecStartup" | "unifiedExecInteraction";

/**
 * Several changes, all or none.
 */
export type ConfigBatchWriteParams = { edits: Array<ConfigEdit>, filePath: string | null, expectedVersion: string | null, };

export type ConfigEdit = { keyPath: string, value: JsonValue, mergeStrategy: MergeStrategy, };

export type ConfigLayer = { name: ConfigLayerSource, version: string, config: JsonValue, };

export type ConfigLayerSource = { "type": "user", file: string, }
  /**
   * The directory that holds the project's `config.toml`.
   */
  | { "type": "project", dotCodexFolder: string, }
  /**
   * Ours. A table `[profiles.NAME]` of this file.
   */
  | { "type": "profile", file: string, }
  /**
   * What the server was started with.
   */
  | { "type": "sessionFlags" };

export type ConfigOrigin = { name: ConfigLayerSource,
/**
 * Tells the content of the layer from any other.
 */
version: string, };

export type ConfigReadParams = { includeLayers: boolean,
/**
 * The server's own directory if absent.
 */
cwd: string | null, };

export type ConfigReadResponse = {
/**
 * Every effective value, by the names of `config.toml`. Secrets are blotted out.
 */
config: JsonValue,
/**
 * Who decided a value, by its dotted key. What is built in has no origin.
 */
origins: { [key in string]: ConfigOrigin },
/**
 * What each layer decided, the strongest first.
 */
layers: Array<ConfigLayer> | null, };

export type ConfigValueWriteParams = {
/**
 * Dotted; a part that holds dots is quoted.
 */
keyPath: string,
/**
 * Null takes the key away.
 */
value: JsonValue, mergeStrategy: MergeStrategy,
/**
 * The user's file, which is the only one that is written.
 */
filePath: string | null,
/**
 * The `version` of the user's layer as it was read. Nothing is written if it is another by
 * now.
 */
expectedVersion: string | null, };

export type ConfigWriteResponse = { status: WriteStatus, version: string, filePath: string, overriddenMetadata: OverriddenMetadata | null, };

export type ContentDeltaNotification = { threadId: string, turnId: string, itemId: string, delta: string, contentIndex: number, };

export type ContentItem = { "type": "inputText", text: string, };

/**
 * One directory or several.
 */
export type CwdFilter = string | Array<string>;

/**
 * A conversation counts for the day of its last line.
 */
export type DailyUsage = {
/**
 * In UTC, as in 2026-11-16.
 */
startDate: string, tokens: number, };

export type DeprecationNotification = { summary: string, details: string | null, };

export type DynamicNamespaceKind = "namespace";

export type DynamicToolCallOutputContentItem = { "type": "inputText", text: string, }
  /**
   * A data URL. An address is left out, and the model is told so.
   */
  | { "type": "inputImage", imageUrl: string, }
  /**
   * Left out, and the model is told so.
   */
  | { "type": "inputAudio", audioUrl: string, };

/**
 * `item/tool/call`: the model called a tool of the client's.
 */
export type DynamicToolCallParams = { threadId: string, turnId: string, callId: string,
/**
 * Of a tool that was brought in one.
 */
namespace: string | null, tool: string, arguments: { [key in string]: JsonValue }, };

/**
 * The answer to it.
 */
export type DynamicToolCallResponse = { contentItems: Array<DynamicToolCallOutputContentItem>, success: boolean, };

export type DynamicToolFunctionSpec = {
/**
 * A function, also if absent.
 */
type: DynamicToolKind | null, name: string, description: string,
/**
 * JSON Schema of the arguments, which are an object.
 */
inputSchema: JsonValue,
/**
 * There is no search for tools: one that could be loaded later is offered from the start, and
 * a warning says so.
 */
deferLoading: boolean | null, };

export type DynamicToolKind = "function";

export type DynamicToolNamespaceSpec = { type: DynamicNamespaceKind,
/**
 * Stands before the names of its tools where the model reads them.
 */
name: string, description: string, tools: Array<DynamicToolFunctionSpec>, };

/**
 * Tools of the client's, as `thread/start` takes them: a function, or several under one name.
 */
export type DynamicToolSpec = DynamicToolNamespaceSpec | DynamicToolFunctionSpec;

export type EffortOption = { reasoningEffort: ReasoningEffort, description: string, };

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

/**
 * What the engine saw, whatever the model says.
 */
export type Evidence = { startedAtMs: number, endedAtMs: number, totalTokens: number, toolCalls: { [key in string]: number }, commands: Array<CommandEvidence>, files: Array<FileEvidence>,
/**
 * Entries left out of the two lists.
 */
omitted: number,
/**
 * Threads of children that the task made.
 */
children: Array<string>, };

export type FileChangeApprovalParams = { threadId: string, turnId: string, itemId: string, startedAtMs: number, reason: string | null, grantRoot: string | null,
/**
 * The agent that asks, by its place in the tree, if it is not the root. Ours.
 */
agentPath: string | null, };

/**
 * A file that the task changed, by SHA-256; null where there was or is none.
 */
export type FileEvidence = { path: string, before: string | null, after: string | null, };

export type FileUpdateChange = { path: string, kind: PatchChangeKind,
/**
 * Of an added or deleted file its contents.
 */
diff: string, };

export type FinishedAgent = {
/**
 * As it was asked for.
 */
asked: string,
/**
 * Null for one that never was.
 */
agent: Agent | null, result: AgentResult | null, };

export type FsChangedNotification = { watchId: string, changedPaths: Array<string>, };

export type FsCopyParams = { sourcePath: string, destinationPath: string,
/**
 * A directory is copied only if this is set, and then with all that is in it.
 */
recursive: boolean | null, };

export type FsCreateDirectoryParams = { path: string,
/**
 * With those above it; that is so if absent.
 */
recursive: boolean | null, };

export type FsDirectoryEntry = { fileName: string, isDirectory: boolean, isFile: boolean, };

/**
 * What a path leads to; of a link, what the link leads to.
 */
export type FsGetMetadataResponse = { isDirectory: boolean, isFile: boolean, isSymlink: boolean,
/**
 * 0 where the file system does not know it.
 */
createdAtMs: number, modifiedAtMs: number, };

export type FsPathParams = { path: string, };

export type FsReadDirectoryResponse = {
/**
 * By name.
 */
entries: Array<FsDirectoryEntry>, };

export type FsReadFileResponse = { dataBase64: string, };

export type FsRemoveParams = { path: string,
/**
 * A directory with all that is in it; that is so if absent.
 */
recursive: boolean | null,
/**
 * What is not there is removed already; that is so if absent.
 */
force: boolean | null, };

export type FsUnwatchParams = { watchId: string, };

export type FsWatchParams = {
/**
 * The client's own name for the watch.
 */
watchId: string,
/**
 * A file, or a directory: then what lies directly in it.
 */
path: string, };

export type FsWatchResponse = {
/**
 * Without links on the way.
 */
path: string, };

export type FsWriteFileParams = { path: string, dataBase64: string, };

export type FuzzyFileSearchMatchType = "file" | "directory";

export type FuzzyFileSearchParams = { query: string,
/**
 * Directories, by absolute paths.
 */
roots: Array<string>,
/**
 * A search with the same token ends the one before it.
 */
cancellationToken: string | null, };

export type FuzzyFileSearchResponse = {
/**
 * The best first.
 */
files: Array<FuzzyFileSearchResult>, };

export type FuzzyFileSearchResult = { root: string,
/**
 * Relative to the root.
 */
path: string, match_type: FuzzyFileSearchMatchType, file_name: string, score: number,
/**
 * The characters of the path that the query met.
 */
indices: Array<number> | null, };

export type FuzzyFileSearchSessionCompletedNotification = { sessionId: string, };

export type FuzzyFileSearchSessionStartParams = {
/**
 * The client's own name for the session.
 */
sessionId: string, roots: Array<string>, };

export type FuzzyFileSearchSessionStopParams = { sessionId: string, };

export type FuzzyFileSearchSessionUpdateParams = { sessionId: string, query: string, };

export type FuzzyFileSearchSessionUpdatedNotification = { sessionId: string, query: string, files: Array<FuzzyFileSearchResult>, };

export type GitDiffToRemoteParams = { cwd: string, };

export type GitDiffToRemoteResponse = {
/**
 * The newest commit that the remote has too.
 */
sha: string,
/**
 * From there to the files as they are, those that git does not know yet among them.
 */
diff: string, };

export type GitInfo = { sha: string | null, branch: string | null, originUrl: string | null, };

/**
 * `auto`, `low`, `high` or `original`.
 */
export type ImageDetail = string;

/**
 * What waits to be read.
 */
export type InboxDepth = { messages: number, interrupts: number, };

export type InitializeParams = { clientInfo: ClientInfo, capabilities: ClientCapabilities | null, };

export type InitializeResponse = { userAgent: string,
/**
 * The directory that everything is kept in.
 */
codexHome: string, platformFamily: string, platformOs: string, };

export type InputModality = "text" | "image";

export type ItemCompletedNotification = { threadId: string, turnId: string, item: ThreadItem, completedAtMs: number, };

export type ItemStartedNotification = { threadId: string, turnId: string, item: ThreadItem, startedAtMs: number, };

/**
 * How much of a turn's items is there.
 */
export type ItemsView = "notLoaded" | "summary" | "full";

export type JsonValue = number | string | boolean | Array<JsonValue>
  | { [key in string]: JsonValue } | null;

export type McpResourceReadParams = {
/**
 * The thread whose servers are meant; those of the configuration if absent.
 */
threadId: string | null, server: string, uri: string, };

export type McpResourceReadResponse = {
/**
 * As the server wrote them.
 */
contents: Array<JsonValue>, };

export type McpServerStatus = "starting" | "ready" | "failed" | "cancelled";

export type McpServerStatusListParams = {
/**
 * `nextCursor` of the part before.
 */
cursor: string | null, limit: number | null,
/**
 * The servers of this thread; those of the server's own directory if absent.
 */
threadId: string | null, };

export type McpServerStatusListResponse = { data: Array<McpServerStatus>, nextCursor: string | null, };

export type McpServerStatusNotification = { threadId: string | null, name: string, status: McpServerStatus, error: string | null, };

export type McpServerToolCallParams = { threadId: string, server: string, tool: string, arguments: { [key in string]: JsonValue } | null, };

/**
 * What the tool came to, as the server wrote it.
 */
export type McpServerToolCallResponse = { content: Array<JsonValue>, structuredContent: JsonValue | null, isError: boolean | null, _meta: JsonValue | null, };

/**
 * What becomes of a table that is there already.
 */
export type MergeStrategy = "replace" | "upsert";

export type Model = { id: string,
/**
 * As `model` of a turn takes it.
 */
model: string, displayName: string, description: string, hidden: boolean, supportedReasoningEfforts: Array<EffortOption>, defaultReasoningEffort: ReasoningEffort, inputModalities: Array<InputModality>, supportsPersonality: boolean,
/**
 * Turns use it unless they say otherwise.
 */
isDefault: boolean, };

/**
 * Part of a list.
 */
export type ModelListParams = {
/**
 * `nextCursor` of the part before.
 */
cursor: string | null, limit: number | null, };

export type ModelListResponse = { data: Array<Model>, nextCursor: string | null, };

export type ModelProviderCapabilitiesResponse = { namespaceTools: boolean, imageGeneration: boolean, webSearch: boolean, };

export type OverriddenMetadata = { message: string, overridingLayer: ConfigOrigin, effectiveValue: JsonValue, };

export type PatchChangeKind = { "type": "add" }
  | { "type": "delete" }
  | { "type": "update", move_path: string | null, };

/**
 * `friendly`, `pragmatic` or `none`.
 */
export type Personality = string;

/**
 * EXPERIMENTAL: a piece of a proposed plan. All pieces together may differ from the text of the
 * completed plan item, which counts.
 */
export type PlanDeltaNotification = { threadId: string, turnId: string, itemId: string, delta: string, };

export type ProgressNotification = { threadId: string, turnId: string, itemId: string, message: string, };

export type Question = { id: string, header: string, question: string, isOther: boolean, isSecret: boolean, options: Array<QuestionOption> | null, };

export type QuestionOption = { label: string, description: string, };

export type RateLimitWindow = { usedPercent: number, windowDurationMins: number | null,
/**
 * Unix seconds.
 */
resetsAt: number | null, };

/**
 * What the provider said of its limits with the last response; all null before there is one, or
 * if it says nothing of them.
 */
export type RateLimits = { limitId: string | null, limitName: string | null, primary: RateLimitWindow | null, secondary: RateLimitWindow | null, };

export type RateLimitsResponse = { rateLimits: RateLimits, };

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
 * What became of a message.
 */
export type Receipt =
  /**
   * It starts a task now.
   */
  | { "type": "delivered" }
  /**
   * It will be taken; 1 is next.
   */
  | { "type": "queued", position: number, }
  /**
   * It is in the inbox, from which nothing is taken at present.
   */
  | { "type": "held" }
  /**
   * The agent takes nothing any more.
   */
  | { "type": "dead" };

/**
 * A request of the server needs no answer any more.
 */
export type ResolvedNotification = { threadId: string, requestId: number, };

/**
 * Where a review is told.
 */
export type ReviewDelivery = "inline" | "detached";

export type ReviewStartParams = { threadId: string, target: ReviewTarget,
/**
 * In the thread itself if absent.
 */
delivery: ReviewDelivery | null, };

export type ReviewStartResponse = { turn: Turn,
/**
 * The thread that the turn belongs to.
 */
reviewThreadId: string, };

export type ReviewTarget =
  /**
   * What is staged, unstaged and untracked.
   */
  | { "type": "uncommittedChanges" }
  /**
   * What the current branch adds to this one.
   */
  | { "type": "baseBranch", branch: string, }
  | { "type": "commit", sha: string, title: string | null, }
  | { "type": "custom", instructions: string, };

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
  | { "method": "thread/deleted", "params": ThreadIdNotification }
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
  | { "method": "item/plan/delta", "params": PlanDeltaNotification }
  | { "method": "item/reasoning/summaryTextDelta", "params": SummaryDeltaNotification }
  | { "method": "item/reasoning/summaryPartAdded", "params": SummaryPartNotification }
  | { "method": "item/reasoning/textDelta", "params": ContentDeltaNotification }
  | { "method": "item/commandExecution/outputDelta", "params": TextDeltaNotification }
  | { "method": "item/commandExecution/terminalInteraction", "params": TerminalNotification }
  | { "method": "item/mcpToolCall/progress", "params": ProgressNotification }
  | { "method": "mcpServer/startupStatus/updated", "params": McpServerStatusNotification }
  | { "method": "command/exec/outputDelta", "params": CommandExecOutputDeltaNotification }
  | { "method": "fs/changed", "params": FsChangedNotification }
  | { "method": "fuzzyFileSearch/sessionUpdated", "params": FuzzyFileSearchSessionUpdatedNotification }
  | { "method": "fuzzyFileSearch/sessionCompleted", "params": FuzzyFileSearchSessionCompletedNotification }
  | { "method": "account/rateLimits/updated", "params": AccountRateLimitsUpdatedNotification }
  | { "method": "tree/changed", "params": TreeChangedNotification }
  | { "method": "agent/inbox", "params": AgentInboxNotification }
  | { "method": "serverRequest/resolved", "params": ResolvedNotification };

export type SkillErrorInfo = { path: string, message: string, };

export type SkillMetadata = { name: string, description: string, shortDescription: string | null,
/**
 * Its `SKILL.md`.
 */
path: string,
/**
 * `repo`, `user` or `system`.
 */
scope: SkillScope, enabled: boolean, };

export type SkillScope = "repo" | "user" | "system";

export type SkillsListEntry = { cwd: string, skills: Array<SkillMetadata>,
/**
 * Skill files that cannot be used.
 */
errors: Array<SkillErrorInfo>, };

export type SkillsListParams = {
/**
 * The server's own directory if there is none.
 */
cwds: Array<string>, forceReload: boolean, };

export type SkillsListResponse = {
/**
 * One entry per directory.
 */
data: Array<SkillsListEntry>, };

export type SkipReason = "idle" | "active" | "alreadyDone" | "unknown";

export type SkippedAgent = { agent: Agent, why: SkipReason, };

export type SortDirection = "asc" | "desc";

export type StopVerb = "interrupt" | "cancel" | "close" | "release" | "prune";

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
preview: string, ephemeral: boolean,
/**
 * Always null: there are no projects.
 */
projectId: string | null, modelProvider: string, model: string | null,
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
 * As of `thread/resume`. Experimental.
 */
path: string | null,
/**
 * The last turn that the new thread has; all if absent. It must have ended.
 */
lastTurnId: string | null,
/**
 * The first turn that the new thread does not have. Experimental.
 */
beforeTurnId: string | null, ephemeral: boolean | null,
/**
 * Leaves the turns out of the answer.
 */
excludeTurns: boolean | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort`, `model_reasoning_summary` and those
 * of `agents` count.
 */
config: { [key in string]: JsonValue } | null, baseInstructions: string | null, developerInstructions: string | null, personality: Personality | null, };

export type ThreadIdNotification = { threadId: string, };

/**
 * The parameters of what concerns one thread and says nothing more.
 */
export type ThreadIdParams = { threadId: string, };

export type ThreadItem = { "type": "userMessage", id: string,
/**
 * The name that the client gave to its message.
 */
clientId: string | null, content: Array<UserInput>,
/**
 * Whose end it tells of, if the engine wrote it. Ours.
 */
callback: CallbackOrigin | null, }
  | { "type": "agentMessage", id: string, text: string, }
  /**
   * EXPERIMENTAL: a plan proposed in plan mode. The completed text counts; the deltas together
   * may differ from it.
   */
  | { "type": "plan", id: string, text: string, }
  | { "type": "reasoning", id: string, summary: Array<string>, content: Array<string>, }
  | { "type": "commandExecution", id: string, command: string, cwd: string, processId: string | null, source: CommandSource, status: WorkStatus, commandActions: Array<CommandAction>, aggregatedOutput: string | null, exitCode: number | null, durationMs: number | null, }
  | { "type": "fileChange", id: string, changes: Array<FileUpdateChange>, status: WorkStatus, }
  | { "type": "mcpToolCall", id: string, server: string, tool: string, status: ToolStatus, arguments: JsonValue, result: JsonValue | null, error: ToolError | null, durationMs: number | null, }
  /**
   * A call of any other tool.
   */
  | { "type": "dynamicToolCall", id: string,
/**
 * Always absent: tools have no namespaces.
 */
namespace: string | null, tool: string, arguments: JsonValue, status: ToolStatus, contentItems: Array<ContentItem> | null, success: boolean | null, }
  /**
   * Work with another agent, which is a thread of its own.
   */
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
 * A log of ours, or a file of another agent's, of which a thread is made. It counts before the
 * id, unless that is of a thread in memory. Experimental.
 */
path: string | null,
/**
 * Leaves the turns out of the answer.
 */
excludeTurns: boolean | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort`, `model_reasoning_summary` and those
 * of `agents` count.
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
ephemeral: boolean | null,
/**
 * Tools that the client runs itself when the model calls them. Experimental.
 */
dynamicTools: Array<DynamicToolSpec> | null, model: string | null, modelProvider: string | null, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandbox: SandboxMode | null,
/**
 * Of the configuration's keys, `model_reasoning_effort`, `model_reasoning_summary` and those
 * of `agents` count.
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

export type TouchedAgent = {
/**
 * As it was before.
 */
agent: Agent, action: StopVerb, };

export type TreeChange = { "type": "created", parentThreadId: string | null, path: string | null, status: AgentStanding, }
  /**
   * It was there before: told of every agent when the tree is taken up again, or followed by
   * one more client, so that a client can draw the tree from what it is told.
   */
  | { "type": "restored", parentThreadId: string | null, path: string | null, status: AgentStanding,
/**
 * The beginning of the last message or the error.
 */
preview: string | null, }
  | { "type": "status", status: AgentStanding,
/**
 * The beginning of the last message or the error.
 */
preview: string | null, }
  /**
   * What it thinks about now.
   */
  | { "type": "thinking", header: string, }
  /**
   * Only its results are left.
   */
  | { "type": "pruned" };

/**
 * The life of an agent below a thread has changed.
 */
export type TreeChangedNotification = { rootThreadId: string, agentId: string,
/**
 * Of the agent.
 */
threadId: string, change: TreeChange, };

/**
 * The trees that are in memory.
 */
export type TreeListResponse = { data: Array<TreeSummary>, };

export type TreeReadParams = { rootThreadId: string,
/**
 * Closed and pruned agents too.
 */
includeClosed: boolean, };

export type TreeReadResponse = {
/**
 * The root first, then by number.
 */
agents: Array<Agent>, };

export type TreeSummary = { rootThreadId: string,
/**
 * Agents below the root that were not closed.
 */
agents: number, };

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
export type TurnStartParams = { threadId: string,
/**
 * The client's own name for the message, which its item repeats as `clientId`.
 */
clientUserMessageId: string | null,
/**
 * Nothing has the model go on with what it was not answered to, such as injected items.
 */
input: Array<UserInput>, cwd: string | null, approvalPolicy: AskForApproval | null, approvalsReviewer: ApprovalsReviewer | null, sandboxPolicy: SandboxPolicy | null, model: string | null, effort: ReasoningEffort | null, summary: ReasoningSummary | null, personality: Personality | null,
/**
 * Told to the model as a developer's message, in the place of those that the thread was opened
 * with. Ours.
 */
developerInstructions: string | null,
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

export type TurnSteerParams = { threadId: string,
/**
 * The client's own name for the message, which its item repeats as `clientId`.
 */
clientUserMessageId: string | null, input: Array<UserInput>,
/**
 * The turn that the input is meant for; another one is not touched.
 */
expectedTurnId: string, };

export type TurnSteerResponse = { turnId: string, };

export type UnsubscribeStatus = "notLoaded" | "notSubscribed" | "unsubscribed";

export type UsageSummary = { lifetimeTokens: number, peakDailyTokens: number, currentStreakDays: number, longestStreakDays: number, };

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

export type WriteStatus = "ok" | "okOverridden";
