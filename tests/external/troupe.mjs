// Our program as its clients see it: one task, or a session over the queue pair.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";

function start(program, folder, settings, command, stdin) {
  const configuration = Object.entries(settings).flatMap(([key, value]) => [
    "-c",
    `${key}=${JSON.stringify(value)}`,
  ]);
  return spawn(program, [...command, ...configuration], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, "home") },
    stdio: [stdin, "pipe", "inherit"],
  });
}

// `troupe exec --json`: `ended` is its exit code with all that it told.
export class Exec {
  #child;

  constructor(program, folder, settings, command) {
    const options = ["exec", "--json", "--skip-git-repo-check"];
    this.#child = start(program, folder, settings, [...options, ...command], "ignore");
    this.ended = this.#read();
  }

  kill() {
    this.#child.kill("SIGKILL");
  }

  async #read() {
    const exited = once(this.#child, "exit");
    const events = [];
    for await (const line of readline.createInterface({ input: this.#child.stdout })) {
      events.push(JSON.parse(line));
    }
    const [code] = await exited;
    return { code, events };
  }
}

// A session of `troupe proto`.
export class Proto {
  #child;
  #exited;
  #heard = [];
  // How many events `next` has passed by.
  #passed = 0;
  #arrived = () => {};
  #submissions = 0;

  constructor(program, folder, settings) {
    this.#child = start(program, folder, settings, ["proto"], "pipe");
    this.#exited = once(this.#child, "exit");
    const lines = readline.createInterface({ input: this.#child.stdout });
    lines.on("line", (line) => {
      this.#heard.push({ ...JSON.parse(line).msg, heardAt: performance.now() });
      this.#arrived();
    });
    lines.on("close", () => {
      this.#heard.push({ type: "end of output" });
      this.#arrived();
    });
  }

  // Opens the session, as the first submission must.
  async configure() {
    this.submit({ type: "configure_session" });
    this.id = (await this.next("session_configured")).session_id;
  }

  submit(op) {
    this.#submissions += 1;
    this.#child.stdin.write(`${JSON.stringify({ id: `${this.#submissions}`, op })}\n`);
  }

  say(text) {
    this.submit({ type: "user_input", items: [{ type: "text", text }] });
  }

  // The next event of a type. It is an error if the task or the program ends without it.
  async next(type) {
    for (;;) {
      while (this.#passed < this.#heard.length) {
        const event = this.#heard[this.#passed];
        this.#passed += 1;
        if (event.type === type) return event;
        if (["task_complete", "turn_aborted", "end of output"].includes(event.type)) {
          throw new Error(`${type} did not come: ${JSON.stringify(this.#heard.slice(-5))}`);
        }
      }
      await new Promise((resolve) => (this.#arrived = resolve));
    }
  }

  // All events of a type so far.
  all(type) {
    return this.#heard.filter((event) => event.type === type);
  }

  types() {
    return this.#heard.map(({ type }) => type);
  }

  // Ends the input, and with it the session and the program.
  async end() {
    this.#child.stdin.end();
    await this.next("shutdown_complete");
    const [code] = await this.#exited;
    assert.equal(code, 0);
  }

  kill() {
    this.#child.kill("SIGKILL");
  }
}
