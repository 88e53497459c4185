// Our program as its clients see it: one task, or a session over the queue pair.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";

function configuration(settings) {
  return Object.entries(settings).flatMap(([key, value]) => [
    "-c",
    `${key}=${JSON.stringify(value)}`,
  ]);
}

function environment(folder) {
  return { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, "home") };
}

function start(program, folder, settings, command, stdin) {
  return spawn(program, [...command, ...configuration(settings)], {
    cwd: folder,
    env: environment(folder),
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

// Our program at a real terminal (tmux), as a person sees it.
export class Terminal {
  #socket;

  constructor(program, folder, settings, command) {
    this.#socket = path.join(folder, "tmux.sock");
    const words = [program, ...command, ...configuration(settings)];
    const line = words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
    const variables = Object.entries(environment(folder)).flatMap(([name, value]) => [
      "-e",
      `${name}=${value}`,
    ]);
    // The screen stays to be read after the run.
    const shell = `trap : INT; ${line}; echo exit $?; cat`;
    const window = ["new-session", "-d", "-x", "100", "-y", "40", "-c", folder];
    this.#tmux("-f", "/dev/null", ...window, ...variables, shell);
  }

  // Returns the screen as soon as it is as wanted.
  async until(isWanted) {
    const since = performance.now();
    for (;;) {
      const screen = this.#tmux("capture-pane", "-p");
      if (isWanted(screen)) return screen;
      assert(performance.now() - since < 50_000, `it never came:\n${screen}`);
      // A terminal has no event that could be waited for.
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  press(key) {
    this.#tmux("send-keys", key);
  }

  kill() {
    this.#tmux("kill-server");
  }

  #tmux(...words) {
    const environment = { ...process.env, TERM: "xterm-256color" };
    return execFileSync("tmux", ["-S", this.#socket, ...words], { encoding: "utf8", env: environment });
  }
}
