// The process, and the JSON-RPC on its standard input and output: one message per line, without
// the member `jsonrpc`.

import { spawn } from "node:child_process";
import readline from "node:readline";

import { ProgramNotFound, RequestFailed, ServerEnded } from "./errors.js";

// Of what the server writes to its standard error, these are kept for who asks why it ended.
const STDERR_LINES_MAX = 20;
const STDERR_LINE_CHARACTERS_MAX = 2_000;
// An orderly end takes this long at most; then the server is killed.
const CLOSING_MS_MAX = 10_000;
const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

export class Connection {
  #child;
  #requests = new Map();
  #lastId = 0;
  #listeners = new Set();
  #stderr = [];
  // Why nothing more can be asked, once that is so.
  #ended = null;
  // Answers the requests of the server: (method, params, id) → result.
  #answer;

  // Resolves when the program runs.
  static async open({ program, args, cwd, env, answer }) {
    const connection = new Connection();
    connection.#answer = answer;
    connection.#child = spawn(program, args, { cwd, env, stdio: ["pipe", "pipe", "pipe"] });
    await connection.#started(program);
    connection.#listen();
    return connection;
  }

  #started(program) {
    return new Promise((resolve, reject) => {
      this.#child.once("spawn", resolve);
      this.#child.once("error", (error) => reject(new ProgramNotFound(program, error)));
    });
  }

  #listen() {
    const child = this.#child;
    // A write to a server that is gone: its end says why.
    child.stdin.on("error", () => {});
    readline.createInterface({ input: child.stdout }).on("line", (line) => this.#hear(line));
    readline.createInterface({ input: child.stderr }).on("line", (line) => {
      this.#stderr.push(line.slice(0, STDERR_LINE_CHARACTERS_MAX));
      if (this.#stderr.length > STDERR_LINES_MAX) this.#stderr.shift();
    });
    this.exited = new Promise((resolve) => {
      // Not `exit`: what it wrote last is still to be read then.
      child.once("close", (code, signal) => {
        this.#end(new ServerEnded({ code, signal, stderr: this.#stderr.join("\n") }));
        resolve({ code, signal });
      });
    });
  }

  request(method, params) {
    if (this.#ended) return Promise.reject(this.#ended);
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#requests.set(id, { method, resolve, reject });
      this.#send({ id, method, params });
    });
  }

  notify(method, params) {
    this.#send({ method, params });
  }

  // Calls `listener` with each notification, at once and in order, until the returned function
  // is called. `ended` is called with the reason if the server ends before.
  follow(listener, ended) {
    const entry = { listener, ended };
    if (this.#ended) ended(this.#ended);
    else this.#listeners.add(entry);
    return () => this.#listeners.delete(entry);
  }

  // Ends the server in order: its threads can be resumed.
  async close() {
    this.#child.stdin.end();
    const late = setTimeout(() => this.#child.kill("SIGKILL"), CLOSING_MS_MAX);
    await this.exited;
    clearTimeout(late);
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #hear(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      // Not the server's word: something else writes to its output. It is shown if it ends.
      this.#stderr.push(line.slice(0, STDERR_LINE_CHARACTERS_MAX));
      return;
    }
    if (message.method === undefined) this.#settle(message);
    else if (message.id === undefined) this.#tell(message);
    else this.#asked(message);
  }

  #settle({ id, result, error }) {
    const request = this.#requests.get(id);
    if (!request) return;
    this.#requests.delete(id);
    if (error) request.reject(new RequestFailed(request.method, error));
    else request.resolve(result);
  }

  #tell(notification) {
    for (const { listener } of [...this.#listeners]) listener(notification);
  }

  async #asked({ id, method, params }) {
    try {
      const result = await this.#answer(method, params, id);
      if (result === undefined) {
        const message = `this client has no answer to ${method}`;
        this.#send({ id, error: { code: METHOD_NOT_FOUND, message } });
      } else {
        this.#send({ id, result });
      }
    } catch (error) {
      this.#send({ id, error: { code: INTERNAL_ERROR, message: String(error?.message ?? error) } });
    }
  }

  #end(reason) {
    this.#ended = reason;
    for (const { reject } of this.#requests.values()) reject(reason);
    this.#requests.clear();
    for (const { ended } of [...this.#listeners]) ended(reason);
    this.#listeners.clear();
  }
}
