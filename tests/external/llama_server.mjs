// Starts llama.cpp's server; see llama_server.py for its arguments.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import path from "node:path";
import readline from "node:readline";

const folder = path.dirname(new URL(import.meta.url).pathname);
const python = path.join(folder, ".venv/bin/python");

export async function startServer(...options) {
  assert(existsSync(python), "the server is not installed: run tests/external/setup.sh");
  const child = spawn(python, [path.join(folder, "llama_server.py"), ...options], {
    // Its standard input is ours to close: it ends with us, however that happens.
    stdio: ["pipe", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  for await (const line of readline.createInterface({ input: child.stdout })) {
    return {
      url: line,
      // Tells whether a request is being answered.
      isBusy: async () => {
        const slots = await (await fetch(new URL("/slots", line))).json();
        return slots.some(({ is_processing }) => is_processing);
      },
      kill: async () => {
        child.kill("SIGKILL");
        await exited;
      },
    };
  }
  throw new Error(`llama_server.py ended without a URL: ${await exited}`);
}
