// An agent of a tree, at work below a thread.

import { TroupeError } from "./errors.js";
import { items } from "./input.js";

export class Agent {
  #troupe;
  #root;

  constructor(troupe, rootThreadId, view, why = []) {
    this.#troupe = troupe;
    this.#root = rootThreadId;
    this.id = view.threadId;
    this.path = view.path;
    // How it stood when this object was made.
    this.view = view;
    // One sentence for each wish that was not granted as it was.
    this.why = why;
  }

  // Steers it: the input joins its task at the next request, or takes the task's place.
  send(input, { interrupt = false } = {}) {
    return this.#request("agent/send", { agent: this.id, input: items(input), interrupt });
  }

  // Returns its result when its task has ended, or null if the time is up before. Aborting ends
  // the wait alone, not the agent.
  async wait({ timeoutMs, signal } = {}) {
    const until = timeoutMs === undefined ? Infinity : Date.now() + timeoutMs;
    for (;;) {
      signal?.throwIfAborted();
      const left = until === Infinity ? undefined : Math.max(0, until - Date.now());
      const waiting = this.#request("agent/wait", { agents: [this.id], timeoutMs: left });
      const { finished } = await aborted(waiting, signal);
      if (finished.length > 0) return this.#resultOf(finished[0]);
      if (Date.now() >= until) return null;
    }
  }

  #resultOf({ agent, result }) {
    if (result) return result;
    const status = agent?.status.type ?? "notFound";
    throw new TroupeError(`${this.path} has no result: its status is ${status}`);
  }

  // The result of a task that has ended; of the last one, if none is named.
  async result(taskId) {
    const { result } = await this.#request("agent/result", { agent: this.id, taskId });
    return result;
  }

  // `interrupt`, `cancel`, `close`, `release` or `prune`. `dryRun` only tells what it would touch.
  stop(verb = "cancel", { dryRun = false, note } = {}) {
    return this.#request("agent/stop", { agents: [this.id], verb, dryRun, note });
  }

  async setNote(note) {
    await this.#request("agent/note/set", { agent: this.id, note });
  }

  // What happens in its thread, from now on.
  events() {
    return this.#troupe.events(this.id);
  }

  #request(method, params) {
    return this.#troupe.request(method, { rootThreadId: this.#root, ...params });
  }
}

// Fails with the signal's reason as soon as it is aborted.
function aborted(promise, signal) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
