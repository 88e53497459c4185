// A conversation, and one turn of it.

import { Agent } from "./agent.js";
import { TurnFailed } from "./errors.js";
import { items } from "./input.js";

export class Thread {
  #troupe;

  // `opened` is the answer to the request that opened it.
  constructor(troupe, opened) {
    this.#troupe = troupe;
    this.id = opened.thread.id;
    this.opened = opened;
  }

  // Begins a turn. If one runs, the input joins it.
  async turn(input, { signal, ...params } = {}) {
    signal?.throwIfAborted();
    // Before the request: events may come in the same read as its answer.
    const events = this.events();
    try {
      const request = { ...params, threadId: this.id, input: items(input) };
      const { turn } = await this.#troupe.request("turn/start", request);
      return new Turn(this.#troupe, { threadId: this.id, id: turn.id, events, params, signal });
    } catch (error) {
      events.return();
      throw error;
    }
  }

  // A turn from its beginning to its end.
  async run(input, options = {}) {
    const turn = await this.turn(input, options);
    return turn.result();
  }

  // The events of a turn as they come. Who leaves the loop early interrupts the turn.
  async *stream(input, options = {}) {
    const turn = await this.turn(input, options);
    let over = false;
    try {
      yield* turn;
      over = true;
      await turn.result();
    } finally {
      if (!over) {
        // It may have ended meanwhile, or the server has: then there is nothing to interrupt.
        await turn.interrupt().catch(() => {});
        turn.leave();
      }
    }
  }

  // What happens in the thread, from now on, also between turns.
  events() {
    return this.#troupe.events(this.id);
  }

  async read({ includeTurns = true } = {}) {
    const { thread } = await this.#troupe.request("thread/read", { threadId: this.id, includeTurns });
    return thread;
  }

  fork(options = {}) {
    return this.#troupe.forkThread(this.id, options);
  }

  async setName(name) {
    await this.#troupe.request("thread/name/set", { threadId: this.id, name });
  }

  async setNote(note) {
    await this.#troupe.request("thread/note/set", { threadId: this.id, note });
  }

  // Starts an agent below this thread and returns while it works.
  async spawn(input, options = {}) {
    const request = { ...options, rootThreadId: this.id, input: items(input) };
    const { agent, why } = await this.#troupe.request("agent/spawn", request);
    return new Agent(this.#troupe, this.id, agent, why);
  }

  // Every agent of the tree, the root first.
  async agents({ includeClosed = false } = {}) {
    const params = { rootThreadId: this.id, includeClosed };
    const { agents } = await this.#troupe.request("tree/read", params);
    return agents.map((agent) => new Agent(this.#troupe, this.id, agent));
  }

  // Waits until one of `agents` has ended; until any child has, if there are none.
  wait(agents = [], { timeoutMs } = {}) {
    const addresses = agents.map((agent) => agent.id ?? agent);
    return this.#troupe.request("agent/wait", { rootThreadId: this.id, agents: addresses, timeoutMs });
  }

  // Stops several agents at once: `interrupt`, `cancel`, `close`, `release` or `prune`.
  stop(agents, verb, { dryRun = false, note } = {}) {
    const addresses = agents.map((agent) => agent.id ?? agent);
    const params = { rootThreadId: this.id, agents: addresses, verb, dryRun, note };
    return this.#troupe.request("agent/stop", params);
  }

  // No events of the thread any more; what runs goes on.
  async unsubscribe() {
    await this.#troupe.request("thread/unsubscribe", { threadId: this.id });
  }
}

// A turn that was begun. Its events are read once: by iterating, or by `result`.
export class Turn {
  #troupe;
  #events;
  #threadId;
  #wantsOutput;
  #signal;
  #abort;
  #gathered = { items: [], usage: null, last: null };

  constructor(troupe, { threadId, id, events, params, signal }) {
    this.#troupe = troupe;
    this.#events = events;
    this.#threadId = threadId;
    this.id = id;
    this.#wantsOutput = params.outputSchema != null;
    this.#signal = signal;
    this.#abort = () => {
      // A turn that is over cannot be interrupted, and need not be.
      this.interrupt().catch(() => {});
    };
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener("abort", this.#abort, { once: true });
  }

  async *[Symbol.asyncIterator]() {
    while (!this.#gathered.last) {
      const { value: event, done } = await this.#events.next();
      if (done) return;
      if (!this.#isOurs(event)) continue;
      this.#gather(event);
      yield event;
    }
  }

  // What the turn came to. Reads what was not read; fails if the turn did or was aborted.
  async result() {
    for await (const _ of this);
    const { items, usage, last } = this.#gathered;
    this.#signal?.throwIfAborted();
    const messages = items.filter(({ type }) => type === "agentMessage");
    const text = messages.at(-1)?.text ?? "";
    const result = { id: this.id, status: last?.status ?? "interrupted", text, items, usage };
    if (last?.status === "failed") throw new TurnFailed(result, last.error);
    if (this.#wantsOutput && last?.status === "completed") result.output = JSON.parse(text);
    return result;
  }

  // Reads no more of its events; what runs goes on.
  leave() {
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#events.return();
  }

  // Tells the model something while it works.
  async steer(input) {
    const params = { threadId: this.#threadId, expectedTurnId: this.id, input: items(input) };
    await this.#troupe.request("turn/steer", params);
  }

  // Resolves when the turn has ended.
  async interrupt() {
    await this.#troupe.request("turn/interrupt", { threadId: this.#threadId, turnId: this.id });
  }

  #isOurs({ params }) {
    const id = params.turnId ?? params.turn?.id;
    return id === undefined || id === null || id === this.id;
  }

  #gather({ method, params }) {
    if (method === "item/completed") this.#gathered.items.push(params.item);
    if (method === "thread/tokenUsage/updated") this.#gathered.usage = params.tokenUsage;
    if (method !== "turn/completed") return;
    this.#gathered.last = params.turn;
    this.leave();
  }
}
