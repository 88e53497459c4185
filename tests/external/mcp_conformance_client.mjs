// Our client, as the conformance suite starts it: the last argument is the address of a server.
// A session has that server configured, and its model does what the scenario is about.

import path from "node:path";
import { tmpdir } from "node:os";
import { mkdtemp, rm } from "node:fs/promises";

import { Proto } from "./troupe.mjs";

const scenario = process.env.MCP_CONFORMANCE_SCENARIO;
const folder = await mkdtemp(path.join(tmpdir(), "troupe-conformance-client-"));
const session = new Proto(process.env.TROUPE_BIN, folder, {
  model: "scripted-1",
  model_provider: "script",
  "model_providers.script.base_url": process.env.MODEL_URL,
  "model_providers.script.wire_api": "responses",
  sandbox_mode: "danger-full-access",
  approval_policy: "never",
  "mcp_servers.suite.url": process.argv.at(-1),
});
await session.configure();
session.say(`look at ${scenario}`);
if (scenario.startsWith("elicitation")) {
  const { id, server_name, request } = await session.next("elicitation_request");
  // A person who accepts a form as it is shown, with what it is filled with from the start.
  const fields = Object.entries(request.requestedSchema.properties);
  const content = Object.fromEntries(fields.map(([name, field]) => [name, field.default]));
  session.submit({ type: "resolve_elicitation", server_name, request_id: id, decision: "accept", content });
}
await session.next("task_complete");
await session.end();
await rm(folder, { recursive: true, force: true });
