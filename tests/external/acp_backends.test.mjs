// Other agents as children: one that we did not write, our own program, and one that crashes.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/acp_backends.test.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, test } from "node:test";

import { Proto } from "./troupe.mjs";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const codex = new URL(
  "node_modules/@zed-industries/codex-acp-linux-x64/bin/codex-acp",
  import.meta.url,
).pathname;
const timeout = 120_000;

let folder;
let model;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-backends-"));
  model = await startModel();
});

after(async () => {
  model?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("three children, three results with the right reasons", { timeout }, async (t) => {
  const home = path.join(folder, "codex");
  await mkdir(home);
  await writeFile(
    path.join(home, "config.toml"),
    `model = "scripted-1"
model_provider = "script"
[model_providers.script]
name = "script"
base_url = ${JSON.stringify(model.url)}
wire_api = "responses"
`,
  );
  const session = await open(t, {
    "backends.codex.command": codex,
    "backends.codex.env.CODEX_HOME": home,
    "backends.codex.env.OPENAI_API_KEY": "none",
    "backends.crash.command": "sh",
    "backends.crash.args": ["-c", "echo out of luck >&2; exit 3"],
  });
  session.say("gather three");
  await session.next("task_complete");
  const ends = statuses(session);
  assert.deepEqual(ends.get("/root/own"), { completed: "Eleven letters." });
  // It begins with a word about a model that it does not know.
  assert.match(ends.get("/root/codex").completed, /Codex was here\.$/);
  assert.match(ends.get("/root/crash").errored, /exited with code 3.*out of luck/s);
  await session.end();
});

test("our own program is a child through the protocol", { timeout }, async (t) => {
  const args = ["acp", ...configuration(settings())];
  const session = await open(t, {
    "backends.troupe.command": program,
    "backends.troupe.args": args,
    "backends.troupe.env.TROUPE_HOME": path.join(folder, "inner"),
  });
  session.say("have it done by ourselves");
  await session.next("task_complete");
  assert.deepEqual(statuses(session).get("/root/self"), { completed: "Done." });
  assert.equal(await readFile(path.join(folder, "made.txt"), "utf8"), "changed\n");
  await session.end();
});

// The last status of each child, by its path.
function statuses(session) {
  const paths = new Map();
  const last = new Map();
  for (const change of session.all("subagent_lifecycle")) {
    if (change.event === "created") paths.set(change.subagent.session_id, change.subagent.path);
    if (change.event === "status") last.set(paths.get(change.session_id), change.status);
  }
  return last;
}

async function open(t, backends) {
  const session = new Proto(program, folder, { ...settings(), ...backends });
  t.after(() => session.kill());
  await session.configure();
  return session;
}

function settings() {
  return {
    model: "scripted-1",
    model_provider: "script",
    "model_providers.script.base_url": model.url,
    "model_providers.script.wire_api": "responses",
    sandbox_mode: "danger-full-access",
    approval_policy: "never",
  };
}

function configuration(settings) {
  return Object.entries(settings).flatMap(([key, value]) => [
    "-c",
    `${key}=${JSON.stringify(value)}`,
  ]);
}

async function startModel() {
  const screenplay = new URL("acp.toml", import.meta.url).pathname;
  const child = spawn(program, ["mock-model", screenplay], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return { url, kill: () => child.kill() };
  }
  throw new Error("mock-model ended without a URL");
}
