// The types of this package. What crosses the wire is in `protocol.d.ts`, which is generated.

import type {
  Agent as AgentView,
  AgentResult,
  AgentSendResponse,
  AgentSpawnParams,
  AgentStopResponse,
  AgentWaitResponse,
  ApprovalDecision,
  ClientInfo,
  CommandApprovalParams,
  ElicitationParams,
  ElicitationResponse,
  FileChangeApprovalParams,
  InitializeResponse,
  JsonValue,
  ServerNotification,
  StopVerb,
  Thread as ThreadView,
  ThreadForkParams,
  ThreadItem,
  ThreadListParams,
  ThreadListResponse,
  ThreadOpenResponse,
  ThreadResumeParams,
  ThreadStartParams,
  ThreadTokenUsage,
  TurnStartParams,
  TurnStatus,
  CodexErrorInfo,
  UserInput,
  UserInputParams,
} from "./protocol.js";

export type * as protocol from "./protocol.js";

/** Something that the server tells. `method` says what it is. */
export type Event = ServerNotification;

/** A text, or items: text, images, skills, mentions. */
export type Input = string | UserInput[];

/** What an agent must be allowed before it does it. `agentPath` names an agent below the root. */
export type Approval =
  | ({ kind: "command" } & CommandApprovalParams)
  | ({ kind: "fileChange" } & FileChangeApprovalParams);

export interface Asked {
  /** Aborted when the question needs no answer any more. */
  signal: AbortSignal;
}

type Answer<T> = T | Promise<T>;

/** What only a person can decide. Without a callback it is declined; so it is if one throws. */
export interface Callbacks {
  onApproval?(approval: Approval, asked: Asked): Answer<ApprovalDecision>;
  /** Answers by the id of the question: labels of options, or words of one's own. */
  onQuestion?(question: UserInputParams, asked: Asked): Answer<Record<string, string | string[]>>;
  onElicitation?(request: ElicitationParams, asked: Asked): Answer<ElicitationResponse>;
}

export interface StartOptions extends Callbacks {
  /** The program; `troupe` of the `PATH` if absent. */
  program?: string;
  /** Where it is started, and where threads work that do not say it. */
  cwd?: string;
  /** Its environment; that of this process if absent. */
  env?: Record<string, string | undefined>;
  /** Settings as in `config.toml`, by their dotted keys. */
  config?: Record<string, JsonValue>;
  clientInfo?: ClientInfo;
}

export class Troupe {
  private constructor();
  /** Starts `troupe app-server` and introduces itself. */
  static start(options?: StartOptions): Promise<Troupe>;
  readonly server: InitializeResponse;
  /** Tools of a client (`dynamicTools`) need somebody who runs them; this client calls nobody. */
  startThread(options?: Omit<ThreadStartParams, "dynamicTools">): Promise<Thread>;
  resumeThread(threadId: string, options?: Omit<ThreadResumeParams, "threadId">): Promise<Thread>;
  /** A copy of a thread, which goes its own way. */
  forkThread(threadId: string, options?: Omit<ThreadForkParams, "threadId">): Promise<Thread>;
  /** Stored threads, page by page. */
  listThreads(params?: ThreadListParams): Promise<ThreadListResponse>;
  /** Any method of the protocol (docs/app-server.md). */
  request<Result = JsonValue>(method: string, params?: object): Promise<Result>;
  /** Everything that the server tells, or what it tells of one thread, from now on. */
  events(threadId?: string): AsyncIterableIterator<Event>;
  /** What the server tells and `wanted` picks, from now on. */
  follow(wanted: (event: Event) => boolean): AsyncIterableIterator<Event>;
  /** Ends the server in order. What runs is interrupted and can be resumed. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export interface TurnOptions extends Omit<TurnStartParams, "threadId" | "input"> {
  /** Interrupts the turn; `run` and `stream` then fail with its reason. */
  signal?: AbortSignal;
}

export interface TurnResult {
  id: string;
  status: TurnStatus;
  /** The last message. */
  text: string;
  /** Everything that was said and done, in order. */
  items: ThreadItem[];
  usage: ThreadTokenUsage | null;
  /** The answer under `outputSchema`, if that was given. */
  output?: JsonValue;
}

export class Thread {
  private constructor();
  readonly id: string;
  /** The answer to the request that opened it: model, policy, sandbox and the like. */
  readonly opened: ThreadOpenResponse;
  /** A turn from its beginning to its end. */
  run(input: Input, options?: TurnOptions): Promise<TurnResult>;
  /** The events of a turn as they come. Who leaves the loop early interrupts the turn. */
  stream(input: Input, options?: TurnOptions): AsyncGenerator<Event, void, void>;
  /** Begins a turn, to be read, steered and interrupted. If one runs, the input joins it. */
  turn(input: Input, options?: TurnOptions): Promise<Turn>;
  /** What happens in the thread, from now on, also between turns. */
  events(): AsyncIterableIterator<Event>;
  read(options?: { includeTurns?: boolean }): Promise<ThreadView>;
  fork(options?: Omit<ThreadForkParams, "threadId">): Promise<Thread>;
  setName(name: string): Promise<void>;
  /** An empty note clears it. */
  setNote(note: string): Promise<void>;
  /** Starts an agent below this thread and returns while it works. */
  spawn(input: Input, options?: SpawnOptions): Promise<Agent>;
  /** Every agent of the tree, the root first. */
  agents(options?: { includeClosed?: boolean }): Promise<Agent[]>;
  /** Waits until one of `agents` has ended; until any child has, if there are none. */
  wait(agents?: Address[], options?: { timeoutMs?: number }): Promise<AgentWaitResponse>;
  /** Stops several agents at once. */
  stop(agents: Address[], verb: StopVerb, options?: StopOptions): Promise<AgentStopResponse>;
  /** No events of the thread any more; what runs goes on. */
  unsubscribe(): Promise<void>;
}

/** A turn that was begun. Its events are read once: by iterating, or by `result`. */
export class Turn implements AsyncIterable<Event> {
  private constructor();
  readonly id: string;
  [Symbol.asyncIterator](): AsyncIterator<Event>;
  /** What the turn came to. Fails if the turn did, or was aborted. */
  result(): Promise<TurnResult>;
  /** Tells the model something while it works. */
  steer(input: Input): Promise<void>;
  /** Resolves when the turn has ended. */
  interrupt(): Promise<void>;
  /** Reads no more of its events; what runs goes on. */
  leave(): void;
}

export type SpawnOptions = Omit<AgentSpawnParams, "rootThreadId" | "input">;

/** An agent, or its path, name, number or thread id. */
export type Address = Agent | string;

export interface StopOptions {
  /** Only tell what would be touched. */
  dryRun?: boolean;
  /** Why, for the record. */
  note?: string;
}

/** An agent of a tree, at work below a thread. */
export class Agent {
  private constructor();
  /** The id of its thread. */
  readonly id: string;
  /** Its place in the tree, such as `/root/tests`. */
  readonly path: string;
  /** How it stood when this object was made. */
  readonly view: AgentView;
  /** One sentence for each wish that was not granted as it was. */
  readonly why: string[];
  /** Steers it: the input joins its task, or takes the task's place. */
  send(input: Input, options?: { interrupt?: boolean }): Promise<AgentSendResponse>;
  /** Its result when its task has ended; null if the time is up before. */
  wait(options: { timeoutMs: number; signal?: AbortSignal }): Promise<AgentResult | null>;
  wait(options?: { signal?: AbortSignal }): Promise<AgentResult>;
  /** The result of a task that has ended; of the last one, if none is named. */
  result(taskId?: string): Promise<AgentResult>;
  /** `cancel` if no verb is named: its task and all below it. */
  stop(verb?: StopVerb, options?: StopOptions): Promise<AgentStopResponse>;
  setNote(note: string): Promise<void>;
  /** What happens in its thread, from now on. */
  events(): AsyncIterableIterator<Event>;
}

export class TroupeError extends Error {}

/** The program could not be started. */
export class ProgramNotFound extends TroupeError {
  readonly program: string;
}

/** The server is gone, and with it every request that it had not answered. */
export class ServerEnded extends TroupeError {
  readonly code: number | null;
  readonly signal: string | null;
  /** The last that it wrote to its standard error. */
  readonly stderr: string;
}

/** The server answered a request with an error. */
export class RequestFailed extends TroupeError {
  readonly method: string;
  readonly code: number;
  readonly data?: JsonValue;
}

/** A turn ended with an error. `result` is what it came to before. */
export class TurnFailed extends TroupeError {
  readonly result: TurnResult;
  readonly info: CodexErrorInfo | null;
}

/** A reader of events was so slow that they would have filled the memory. */
export class EventsLost extends TroupeError {}
