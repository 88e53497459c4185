// Our own client for Node, `sdk/typescript`, as programs use it.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/sdk_typescript.test.mjs

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import {
  ProgramNotFound,
  RequestFailed,
  ServerEnded,
  Troupe,
  TurnFailed,
} from "../../sdk/typescript/src/index.js";
import { askModel, here, program, startModel } from "./scripted.mjs";

const run = promisify(execFile);
const sdk = path.join(here, "../../sdk/typescript");

let folder;
let model;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-sdk-"));
  model = await startModel("sdk.toml");
});

after(async () => {
  await model?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("a turn has a text, items and usage", async (t) => {
  const troupe = await start(t);
  assert.match(troupe.server.userAgent, /^troupe/);
  const thread = await troupe.startThread();
  const result = await thread.run("greet me");
  assert.equal(result.status, "completed");
  assert.equal(result.text, "Hello from the script.");
  assert.deepEqual(types(result.items), ["userMessage", "agentMessage"]);
  assert.equal(result.usage.total.inputTokens, 120);
});

test("a turn is streamed", async (t) => {
  const thread = await (await start(t)).startThread();
  const deltas = [];
  let last;
  for await (const event of thread.stream("greet me")) {
    if (event.method === "item/agentMessage/delta") deltas.push(event.params.delta);
    last = event.method;
  }
  assert.equal(deltas.join(""), "Hello from the script.");
  assert.equal(last, "turn/completed");
});

test("an answer under a schema is read", async (t) => {
  const thread = await (await start(t)).startThread();
  const outputSchema = {
    type: "object",
    properties: { colour: { type: "string" } },
    required: ["colour"],
    additionalProperties: false,
  };
  const { output } = await thread.run("answer in JSON", { outputSchema });
  assert.deepEqual(output, { colour: "red" });
});

test("threads go on in another process, and fork", async (t) => {
  const first = await start(t, { home: "kept" });
  const thread = await first.startThread();
  await thread.run("greet me");
  await thread.setName("my work");
  await first.close();

  const second = await start(t, { home: "kept" });
  const { data } = await second.listThreads();
  assert.deepEqual(
    data.map(({ id, name }) => [id, name]),
    [[thread.id, "my work"]],
  );
  const fork = await second.forkThread(thread.id);
  assert.notEqual(fork.id, thread.id);
  const resumed = await second.resumeThread(thread.id);
  assert.equal((await resumed.run("greet me again")).text, "Hello again.");
  assert.equal((await resumed.read()).turns.length, 2);
  assert.equal((await fork.read()).turns.length, 1);
});

test("approvals are put to the callback", async (t) => {
  const asked = [];
  const decisions = ["decline", "accept"];
  const troupe = await start(t, {
    onApproval: (approval) => {
      assert.match(approval.command, /touch made/);
      asked.push(approval.kind);
      return decisions.shift();
    },
  });
  const options = { approvalPolicy: "untrusted", sandbox: "workspace-write" };
  const declined = await (await troupe.startThread(options)).run("make a file");
  assert.equal(commands(declined)[0].status, "declined");
  const accepted = await (await troupe.startThread(options)).run("make a file");
  assert.equal(commands(accepted)[0].exitCode, 0);
  assert.deepEqual(asked, ["command", "command"]);
});

test("what no callback answers is declined", async (t) => {
  const troupe = await start(t);
  const thread = await troupe.startThread({ approvalPolicy: "untrusted" });
  const result = await thread.run("make a file");
  assert.equal(commands(result)[0].status, "declined");
});

test("questions are put to the callback", async (t) => {
  const troupe = await start(t, {
    onQuestion: ({ questions: [question] }) => ({ [question.id]: question.options[1].label }),
  });
  const result = await (await troupe.startThread()).run("ask me");
  assert.match(result.text, /blue/);
});

test("a turn is steered", async (t) => {
  const { thread, directory } = await threadIn(t);
  const turn = await thread.turn("wait for me");
  await started(turn, "commandExecution");
  await turn.steer("be quick");
  await writeFile(path.join(directory, "go"), "");
  assert.equal((await turn.result()).text, "I was quick.");
});

test("a turn is aborted by its signal", async (t) => {
  const { thread } = await threadIn(t);
  const controller = new AbortController();
  const turn = await thread.turn("wait for me", { signal: controller.signal });
  await started(turn, "commandExecution");
  controller.abort();
  await assert.rejects(turn.result(), { name: "AbortError" });
  const { turns } = await thread.read();
  assert.equal(turns[0].status, "interrupted");
});

test("who leaves a stream interrupts its turn", async (t) => {
  const { thread } = await threadIn(t);
  for await (const event of thread.stream("wait for me")) {
    if (event.method === "item/started" && event.params.item.type === "commandExecution") break;
  }
  const { turns } = await thread.read();
  assert.equal(turns[0].status, "interrupted");
});

test("a tree is spawned, steered, waited for and stopped", async (t) => {
  const { troupe, thread, directory } = await threadIn(t);
  const events = troupe.events();
  const waiting = await thread.spawn("wait for me", { name: "waiting" });
  assert.equal(waiting.path, "/root/waiting");
  for await (const { method, params } of events) {
    if (method !== "item/started" || params.threadId !== waiting.id) continue;
    if (params.item.type === "commandExecution") break;
  }
  assert.equal(await waiting.wait({ timeoutMs: 1 }), null);
  const { receipt } = await waiting.send("be quick");
  assert.equal(receipt.type, "queued");
  await writeFile(path.join(directory, "go"), "");
  const result = await waiting.wait();
  assert.deepEqual([result.completed, result.text], [true, "I was quick."]);
  assert.equal(result.evidence.commands.length, 1);
  assert.deepEqual(await waiting.result(), result);

  const stopped = await waiting.stop("close", { dryRun: true });
  assert.deepEqual(
    stopped.touched.map(({ agent, action }) => [agent.path, action]),
    [["/root/waiting", "close"]],
  );
  await waiting.stop("close");
  assert.deepEqual(paths(await thread.agents()), ["/root"]);
  assert.deepEqual(paths(await thread.agents({ includeClosed: true })), ["/root", "/root/waiting"]);
});

test("one of several agents is waited for", async (t) => {
  const { thread } = await threadIn(t);
  const slow = await thread.spawn("wait for me", { name: "slow" });
  const quick = await thread.spawn("greet me", { name: "quick" });
  const { finished, unfinished } = await thread.wait([slow, quick]);
  assert.deepEqual(
    finished.map(({ agent }) => agent.path),
    ["/root/quick"],
  );
  assert.deepEqual(
    unfinished.map(({ path }) => path),
    ["/root/slow"],
  );
  await slow.stop("cancel");
  assert.equal((await slow.wait()).completed, false);
});

test("errors say what to do", async (t) => {
  await assert.rejects(Troupe.start({ program: path.join(folder, "absent") }), (error) => {
    assert(error instanceof ProgramNotFound);
    assert.match(error.message, /absent could not be started \(ENOENT\): install Troupe, or name/);
    return true;
  });
  await assert.rejects(start(t, { config: { "model providers": 1 } }), (error) => {
    assert(error instanceof ServerEnded);
    assert.match(error.message, /^the app-server ended with exit code 2; the last that it wrote:\n./);
    assert.match(error.stderr, /model providers/);
    return true;
  });
  const troupe = await start(t);
  await assert.rejects(troupe.resumeThread("no-thread"), RequestFailed);
  const thread = await troupe.startThread();
  await assert.rejects(thread.run("fail"), (error) => {
    assert(error instanceof TurnFailed);
    assert.match(error.message, /no such key/);
    assert.equal(error.result.status, "failed");
    return true;
  });
  await troupe.close();
  await assert.rejects(thread.run("greet me"), ServerEnded);
});

test("the example runs", async () => {
  const { stdout } = await run(process.execPath, [path.join(sdk, "examples/tree.mjs")], {
    cwd: await mkdtemp(path.join(folder, "work-")),
    env: { ...environment(), TROUPE_BIN: program, TROUPE_CONFIG: JSON.stringify(askModel(model)) },
  });
  assert.match(stdout, /^\/root\/tests completed after 1 commands: All tests passed\.$/m);
  assert.match(stdout, /^\/root\/docs completed after 0 commands: /m);
  assert.match(stdout, /Nothing is broken, and nothing is written\.\n$/);
});

test("the types are those of the code, and the example keeps to them", async () => {
  const compiler = path.join(here, "node_modules/typescript/bin/tsc");
  await run(process.execPath, [compiler, "--project", sdk]).catch(({ stdout }) => assert.fail(stdout));
});

test("the package can be packed, and has no dependencies", async () => {
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], { cwd: sdk });
  const [{ filename, files }] = JSON.parse(stdout);
  await access(path.join(folder, filename));
  const packed = files.map(({ path }) => path);
  for (const file of ["README.md", "src/index.js", "src/index.d.ts", "src/protocol.d.ts"]) {
    assert(packed.includes(file), `${file} in ${packed}`);
  }
});

async function start(t, { home = `home-${t.name}`, config = {}, ...options } = {}) {
  const troupe = await Troupe.start({
    program,
    cwd: folder,
    env: environment(home),
    config: { ...askModel(model), ...config },
    ...options,
  });
  t.after(() => troupe.close());
  return troupe;
}

function environment(home = "home") {
  return { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, home) };
}

// A thread with a directory of its own, in which commands may do what they want.
async function threadIn(t) {
  const directory = await mkdtemp(path.join(folder, "work-"));
  const troupe = await start(t);
  const thread = await troupe.startThread({ cwd: directory, sandbox: "danger-full-access" });
  return { troupe, thread, directory };
}

// Reads a turn until an item of a type has begun.
async function started(turn, type) {
  for await (const { method, params } of turn) {
    if (method === "item/started" && params.item.type === type) return;
  }
  assert.fail(`no ${type} began`);
}

function types(items) {
  return items.map(({ type }) => type);
}

function commands({ items }) {
  return items.filter(({ type }) => type === "commandExecution");
}

function paths(agents) {
  return agents.map(({ path }) => path);
}
