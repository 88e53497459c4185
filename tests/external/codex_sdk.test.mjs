// An SDK that we did not write drives our program, unchanged, over a scripted model.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/codex_sdk.test.mjs
//
// Between the program and the model stands a relay that keeps what was asked, so that the
// tests see what really went over the wire.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, test } from "node:test";

import { Codex } from "@openai/codex-sdk";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

let folder;
let model;
let relay;
let codex;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-codex-sdk-"));
  model = await startModel();
  relay = await startRelay(model.url);
  codex = new Codex({
    codexPathOverride: program,
    baseUrl: relay.url,
    apiKey: "the-key",
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TROUPE_HOME: path.join(folder, "home"),
    },
  });
});

after(async () => {
  relay?.close();
  await model?.close();
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("run returns the items, the answer and the usage", async () => {
  const thread = codex.startThread(options());
  const turn = await thread.run("greet me");
  assert.equal(turn.finalResponse, "Hello from the script.");
  assert.deepEqual(
    turn.items.map(({ type }) => type),
    ["agent_message"],
  );
  assert.deepEqual(turn.usage, {
    input_tokens: 120,
    cached_input_tokens: 20,
    cache_write_input_tokens: 0,
    output_tokens: 8,
    reasoning_output_tokens: 3,
  });
  assert.match(thread.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4/);
  assert.equal(relay.last().headers.authorization, "Bearer the-key");
});

test("runStreamed tells what happens in order", async () => {
  const directory = await mkdtemp(path.join(folder, "work-"));
  const thread = codex.startThread({ ...options(), workingDirectory: directory });
  const { events } = await thread.runStreamed("do some work");
  const told = [];
  const items = new Map();
  for await (const event of events) {
    told.push(event.item ? `${event.type} ${event.item.type}` : event.type);
    if (event.item) items.set(event.item.type, event.item);
  }

  assert.equal(told[0], "thread.started");
  assert.equal(told[1], "turn.started");
  assert.equal(told.at(-1), "turn.completed");
  const inOrder = [
    "item.completed reasoning",
    "item.started todo_list",
    "item.started command_execution",
    "item.completed command_execution",
    "item.started file_change",
    "item.completed file_change",
    "item.completed agent_message",
  ];
  const places = inOrder.map((name) => told.indexOf(name));
  assert(!places.includes(-1), `all of ${inOrder} in ${told}`);
  assert.deepEqual(places, [...places].sort((a, b) => a - b), `the order of ${told}`);

  const command = items.get("command_execution");
  assert.equal(command.aggregated_output, "one\ntwo\n");
  assert.equal(command.exit_code, 0);
  assert.equal(command.status, "completed");
  const change = items.get("file_change");
  assert.equal(change.status, "completed");
  assert.deepEqual(
    change.changes.map(({ path: file, kind }) => [path.basename(file), kind]),
    [["note.txt", "add"]],
  );
  assert.deepEqual(items.get("todo_list").items, [
    { text: "look", completed: false },
    { text: "write", completed: false },
  ]);
  assert.equal(await readFile(path.join(directory, "note.txt"), "utf8"), "written by a patch\n");
});

test("a thread goes on in another process, also from its id alone", async () => {
  const first = codex.startThread(options());
  await first.run("my word is plover");

  const again = codex.resumeThread(first.id, options());
  const turn = await again.run("which word?");
  assert.equal(turn.finalResponse, "It was plover.");
  assert.equal(again.id, first.id);
  const asked = JSON.stringify(relay.last().body.input);
  for (const text of ["my word is plover", "Noted.", "which word?"]) {
    assert(asked.includes(text), `the request tells ${text}`);
  }
});

test("the answer follows an output schema", async () => {
  const outputSchema = {
    type: "object",
    properties: { apples: { type: "integer" } },
    required: ["apples"],
    additionalProperties: false,
  };
  const turn = await codex.startThread(options()).run("count the apples", { outputSchema });
  assert.deepEqual(JSON.parse(turn.finalResponse), { apples: 3 });
  const { format } = relay.last().body.text;
  assert.equal(format.type, "json_schema");
  assert.deepEqual(format.schema, outputSchema);
});

test("a local image reaches the model", async () => {
  const pixel =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const image = path.join(folder, "pixel.png");
  await writeFile(image, Buffer.from(pixel, "base64"));

  const turn = await codex.startThread(options()).run([
    { type: "text", text: "describe the picture" },
    { type: "local_image", path: image },
  ]);
  assert.equal(turn.finalResponse, "A single pixel.");
  const parts = relay.last().body.input.flatMap((item) => item.content ?? []);
  const sent = parts.filter(({ type }) => type === "input_image");
  assert.equal(sent.length, 1);
  assert.match(sent[0].image_url, /^data:image\/png;base64,/);
});

test("an abort ends the turn, the process and its connection; the thread can go on", async () => {
  const abort = new AbortController();
  const thread = codex.startThread(options());
  const connection = relay.next();
  const { events } = await thread.runStreamed("take your time", { signal: abort.signal });
  const told = [];
  const reading = (async () => {
    for await (const event of events) told.push(event.type);
  })();
  const { closed } = await connection;
  abort.abort();
  await assert.rejects(reading, { name: "AbortError" });
  await closed;
  assert(!told.includes("turn.completed"), `${told}`);

  const turn = await codex.resumeThread(thread.id, options()).run("go on");
  assert.equal(turn.finalResponse, "Here I am again.");
});

test("a turn that fails says why", async () => {
  const thread = codex.startThread(options());
  await assert.rejects(thread.run("break"), /that cannot be answered/);
});

function options() {
  return {
    workingDirectory: folder,
    skipGitRepoCheck: true,
    sandboxMode: "workspace-write",
    approvalPolicy: "never",
  };
}

// Starts `troupe mock-model`, which prints the URL that it answers on.
async function startModel() {
  const screenplay = new URL("codex_sdk.toml", import.meta.url).pathname;
  const child = spawn(program, ["mock-model", screenplay], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) {
      return {
        url: url.replace(/\/v1\/?$/, ""),
        close: async () => {
          child.kill();
          await exited;
        },
      };
    }
  }
  throw new Error("mock-model ended without a URL");
}

// Passes requests on to `target` and keeps them. `next()` is the next one that asks the model, as it
// comes in, with a promise of the end of its connection. (The list of models is asked for too.)
async function startRelay(target) {
  const requests = [];
  let waiting = [];
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    requests.push({ headers: request.headers, body: body.length ? JSON.parse(body) : null });

    const onwards = http.request(target + request.url, {
      method: request.method,
      headers: { ...request.headers, host: new URL(target).host },
    });
    const closed = new Promise((resolve) => response.once("close", resolve));
    closed.then(() => onwards.destroy());
    onwards.once("error", () => response.destroy());
    onwards.once("response", (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
      if (request.method !== "POST") return;
      waiting.forEach((resolve) => resolve({ closed }));
      waiting = [];
    });
    onwards.end(body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    last: () => requests.at(-1),
    next: () => new Promise((resolve) => waiting.push(resolve)),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
