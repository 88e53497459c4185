// The Python client of the app-server protocol, which we did not write, drives our program.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/codex_python.test.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");
const here = path.dirname(fileURLToPath(import.meta.url));

test("the Python client works unchanged", async () => {
  const model = spawn(program, ["mock-model", path.join(here, "codex_python.toml")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const modelExited = once(model, "exit");
  try {
    const url = await modelUrl(model.stdout);
    const python = path.join(here, ".venv/bin/python");
    const suite = spawn(python, [path.join(here, "codex_python.py")], {
      stdio: "inherit",
      env: { ...process.env, TROUPE_BIN: program, MODEL_URL: url },
    });
    const [code] = await once(suite, "exit");
    assert.equal(code, 0);
  } finally {
    model.kill();
    await modelExited;
  }
});

async function modelUrl(output) {
  for await (const line of readline.createInterface({ input: output })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return url;
  }
  throw new Error("mock-model ended without a URL");
}
