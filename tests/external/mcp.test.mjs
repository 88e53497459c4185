// A server of the Model Context Protocol that we did not write brings its tools to our program,
// on a pipe and over HTTP.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/mcp.test.mjs

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, describe, test } from "node:test";

import { Proto } from "./troupe.mjs";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const everything = new URL(
  "node_modules/@modelcontextprotocol/server-everything/dist/index.js",
  import.meta.url,
).pathname;
const timeout = 60_000;

let folder;
let model;
let remote;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-mcp-"));
  model = await startModel();
  remote = await startRemote();
});

after(async () => {
  model?.kill();
  remote?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const doors = {
  stdio: () => ({ command: process.execPath, args: [everything, "stdio"] }),
  http: () => ({ url: remote.url }),
};

for (const [name, door] of Object.entries(doors)) {
  describe(name, () => {
    test("tools and resources are used", { timeout }, async (t) => {
      const session = await proto(t, door());
      session.say("use everything");
      const { ready } = await session.next("mcp_startup_complete");
      assert.deepEqual(ready, ["everything"]);
      await session.next("task_complete");

      const items = new Map(
        session.all("item_completed").map(({ item }) => [item.id, item]),
      );
      const text = (id) => JSON.stringify(items.get(id)?.result ?? items.get(id));
      for (const [id, item] of items) {
        if (item.type === "McpToolCall" || item.type === "ToolCall") {
          assert.equal(item.status, "completed", `${id}: ${JSON.stringify(item)}`);
        }
      }
      assert.match(text("echo"), /Echo: hello/);
      assert.match(text("sum"), /The sum of 2 and 3 is 5/);
      assert.equal(items.get("structured").result.structuredContent.conditions, "Cloudy");
      assert.match(text("image"), /image\/png/);
      assert.match(text("links"), /resource_link/);
      assert.match(text("resources"), /demo:\/\/resource/);
      assert.match(text("templates"), /uriTemplate/);
      assert.match(text("read"), /demo:\/\/resource\/dynamic\/text\/1/);

      const steps = session.all("mcp_tool_call_progress");
      assert(steps.length > 0, "progress is told");
      assert(steps.every(({ call_id, total }) => call_id === "long" && total === 4));
      await session.end();
    });

    test("a question of the server is answered", { timeout }, async (t) => {
      const session = await proto(t, door());
      // The server offers its questions only once it knows its client.
      session.say("ask me");
      await session.next("task_complete");
      session.say("ask me");
      const { id, server_name, request } = await session.next("elicitation_request");
      assert.equal(server_name, "everything");
      assert.equal(request.requestedSchema.type, "object");
      session.submit({
        type: "resolve_elicitation",
        server_name,
        request_id: id,
        decision: "accept",
        content: { name: "Ada", check: true },
      });
      await session.next("task_complete");
      const asked = session.all("item_completed").find(({ item }) => item.id === "ask");
      assert.match(JSON.stringify(asked.item.result), /Ada/);
      await session.end();
    });
  });
}

async function proto(t, door) {
  const settings = {
    model: "scripted-1",
    model_provider: "script",
    "model_providers.script.base_url": model.url,
    "model_providers.script.wire_api": "responses",
    sandbox_mode: "danger-full-access",
    approval_policy: "never",
  };
  for (const [key, value] of Object.entries(door)) {
    settings[`mcp_servers.everything.${key}`] = value;
  }
  const session = new Proto(program, folder, settings);
  t.after(() => session.kill());
  await session.configure();
  return session;
}

async function startModel() {
  const screenplay = new URL("mcp.toml", import.meta.url).pathname;
  const child = spawn(program, ["mock-model", screenplay], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return { url, kill: () => child.kill() };
  }
  throw new Error("mock-model ended without a URL");
}

// The same server behind an address.
async function startRemote() {
  const port = await freePort();
  const child = spawn(process.execPath, [everything, "streamableHttp"], {
    env: { PATH: process.env.PATH, PORT: `${port}` },
    stdio: ["ignore", "ignore", "pipe"],
  });
  for await (const line of readline.createInterface({ input: child.stderr })) {
    if (line.includes("listening")) {
      child.stderr.resume();
      return { url: `http://127.0.0.1:${port}/mcp`, kill: () => child.kill() };
    }
  }
  throw new Error("the server ended before it listened");
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address();
  server.close();
  await once(server, "close");
  return port;
}
