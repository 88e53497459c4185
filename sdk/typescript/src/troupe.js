// The server and its threads.

import { Connection } from "./connection.js";
import { Events } from "./events.js";
import { Questions } from "./questions.js";
import { Thread } from "./thread.js";

const CLIENT = { name: "troupe-sdk-typescript", version: "0.1.0" };

export class Troupe {
  #connection;

  // Starts `troupe app-server` and introduces itself.
  static async start(options = {}) {
    const { program = "troupe", cwd, env, config = {}, clientInfo = CLIENT } = options;
    const questions = new Questions(options);
    const settings = Object.entries(config).flatMap(([key, value]) => ["-c", `${key}=${toml(value)}`]);
    const connection = await Connection.open({
      program,
      args: ["app-server", ...settings],
      cwd,
      env,
      answer: (method, params, id) => questions.answer(method, params, id),
    });
    connection.follow((event) => questions.hear(event), () => {});
    const troupe = new Troupe();
    troupe.#connection = connection;
    try {
      const capabilities = { experimentalApi: true };
      troupe.server = await connection.request("initialize", { clientInfo, capabilities });
      connection.notify("initialized");
    } catch (error) {
      await connection.close();
      throw error;
    }
    return troupe;
  }

  async startThread(options = {}) {
    return this.#open("thread/start", options);
  }

  async resumeThread(threadId, options = {}) {
    return this.#open("thread/resume", { excludeTurns: true, ...options, threadId });
  }

  // A copy of a thread, which goes its own way.
  async forkThread(threadId, options = {}) {
    return this.#open("thread/fork", { excludeTurns: true, ...options, threadId });
  }

  // Stored threads, page by page.
  listThreads(params = {}) {
    return this.request("thread/list", params);
  }

  // Any method of the protocol.
  request(method, params = {}) {
    return this.#connection.request(method, params);
  }

  // Everything that the server tells, or what it tells of one thread, from now on.
  events(threadId) {
    return this.follow(({ params }) => threadId === undefined || params.threadId === threadId);
  }

  // What the server tells and `wanted` picks, from now on.
  follow(wanted) {
    let stop = () => {};
    const events = new Events(() => stop());
    stop = this.#connection.follow(
      (event) => wanted(event) && events.push(event),
      (reason) => events.fail(reason),
    );
    return events;
  }

  // Ends the server in order. What runs is interrupted and can be resumed.
  close() {
    return this.#connection.close();
  }

  async #open(method, params) {
    const opened = await this.request(method, params);
    return new Thread(this, opened);
  }
}

if (Symbol.asyncDispose) {
  Troupe.prototype[Symbol.asyncDispose] = function dispose() {
    return this.close();
  };
}

// JSON is TOML for texts, numbers, booleans and lists of them; tables are written differently.
function toml(value) {
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, inner]) => `${JSON.stringify(key)} = ${toml(inner)}`);
  return `{ ${entries.join(", ")} }`;
}
