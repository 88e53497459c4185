// The scripted model, for the tests of clients: `troupe mock-model` with a screenplay.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));

export const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

// Returns where the model is, and how it ends.
export async function startModel(screenplay) {
  const child = spawn(program, ["mock-model", path.join(here, screenplay)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return { url, close: () => (child.kill(), exited) };
  }
  throw new Error("mock-model ended without a URL");
}

// Settings that make a program ask that model.
export function askModel({ url }) {
  return {
    model: "scripted-1",
    model_context_window: 200000,
    model_provider: "scripted",
    "model_providers.scripted.base_url": url,
  };
}

// Runs a suite that is written in Python, against a model that plays a screenplay.
export async function runSuite(suite, screenplay) {
  const model = await startModel(screenplay);
  try {
    const child = spawn(path.join(here, ".venv/bin/python"), [path.join(here, suite)], {
      stdio: "inherit",
      env: {
        ...process.env,
        TROUPE_BIN: program,
        MODEL_URL: model.url,
        TROUPE_CONFIG: JSON.stringify(askModel(model)),
      },
    });
    const [code] = await once(child, "exit");
    assert.equal(code, 0);
  } finally {
    await model.close();
  }
}
