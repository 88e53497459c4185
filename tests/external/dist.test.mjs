// What is installed without a toolchain: packages of this program, into empty directories, and the
// action that runs it on a pull request.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/dist.test.mjs

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

import { validateAction, validateWorkflow } from "@action-validator/core";
import { parse } from "yaml";

import { askModel, here, program, startModel } from "./scripted.mjs";

const run = promisify(execFile);
const root = path.join(here, "../..");
const action = path.join(root, "action");

let folder;
let packages;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-dist-"));
  packages = path.join(folder, "packages");
  await run("cargo", ["xtask", "dist", "--program", program, "--out", packages], { cwd: root });
});

after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
});

test("the checksums are those of the packages", async () => {
  const { stdout } = await run("sha256sum", ["--check", "SHA256SUMS"], { cwd: packages });
  const checked = stdout.trim().split("\n");
  assert.equal(checked.length, 3);
  assert.deepEqual((await readdir(packages)).length, 4, "nothing else is left there");
});

test("the archive runs the demo where it is unpacked", async () => {
  const there = await empty("archive");
  const archive = await packageWith(".tar.gz");
  await run("tar", ["--extract", "--strip-components=1", "--file", archive], { cwd: there });
  await demo(path.join(there, "troupe"), there);
});

test("the npm package runs the demo", async () => {
  await demo(await installedByNpm(), folder);
});

test("the wheel runs the demo", async () => {
  const there = await empty("wheel");
  await run("python3", ["-m", "venv", there]);
  const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-index"];
  await run(path.join(there, "bin/python"), [...pip, await packageWith(".whl")]);
  await demo(path.join(there, "bin/troupe"), there);
});

test("the action is one by the schema, and so is the workflow that its page shows", async () => {
  const definition = await readFile(path.join(action, "action.yml"), "utf8");
  assert.deepEqual(validateAction(definition).errors, []);
  const page = await readFile(path.join(root, "docs/github-action.md"), "utf8");
  const [, workflow] = page.match(/```yaml\n([^]*?)```/);
  assert.deepEqual(validateWorkflow(workflow).errors, []);
  const [job] = Object.values(parse(workflow).jobs);
  const used = job.steps.find((step) => step.with?.prompt).with;
  for (const name of Object.keys(used)) assert(name in parse(definition).inputs, name);
  // A schema that lets everything pass would prove nothing.
  assert.notDeepEqual(validateAction("name: nothing to run").errors, []);
});

test("no script of the action has an expression in it", async () => {
  const { runs } = parse(await readFile(path.join(action, "action.yml"), "utf8"));
  for (const step of runs.steps) assert.doesNotMatch(step.run, /\$\{\{/, step.name);
});

test("the action's task hands its last message on", async (t) => {
  const model = await startModel("sdk.toml");
  t.after(() => model.close());
  const there = await empty("checkout");
  await run("git", ["init", "--quiet"], { cwd: there });
  const done = await task(there, model, 'greet me; $(touch "$HOME/planted")');
  assert.equal(done.code, 0);
  assert.match(done.outputs, /^result<<(end-\w{32})\nHello from the script\.\n+\1\n$/);
  assert.match(done.summary, /Hello from the script/);
  await assert.rejects(readFile(path.join(there, "planted")), { code: "ENOENT" });
});

test("the action fails as its task does", async () => {
  const there = await empty("unreachable");
  await run("git", ["init", "--quiet"], { cwd: there });
  const done = await task(there, { url: "http://127.0.0.1:9/v1" }, "greet me");
  assert.notEqual(done.code, 0);
  assert.equal(done.outputs, "");
});

// Does the action's step in a checkout, as a runner would.
async function task(checkout, model, prompt) {
  const home = path.join(checkout, ".home");
  const temporary = path.join(checkout, ".runner");
  await mkdir(home);
  await mkdir(temporary);
  const settings = Object.entries(askModel(model)).map(([key, value]) => [key, JSON.stringify(value)]);
  const lines = settings.map(([key, value]) => `${key} = ${value}\n`);
  const retries = "model_providers.scripted.request_max_retries = 0\n";
  await writeFile(path.join(home, "config.toml"), lines.join("") + retries);
  const [outputs, summary] = ["outputs", "summary"].map((name) => path.join(temporary, name));
  await writeFile(outputs, "");
  await writeFile(summary, "");
  const env = {
    PATH: `${path.dirname(await installedByNpm())}:${process.env.PATH}`,
    HOME: checkout,
    TROUPE_HOME: home,
    TROUPE_PROMPT: prompt,
    TROUPE_MODEL: "",
    TROUPE_SANDBOX: "read-only",
    RUNNER_TEMP: temporary,
    GITHUB_OUTPUT: outputs,
    GITHUB_STEP_SUMMARY: summary,
  };
  const ended = await run(path.join(action, "task.sh"), [], { cwd: checkout, env }).catch((error) => error);
  return {
    code: ended.code ?? 0,
    outputs: await readFile(outputs, "utf8"),
    summary: await readFile(summary, "utf8"),
  };
}

let npm;

// Installs the npm package once. Returns the command that it brings.
function installedByNpm() {
  npm ??= (async () => {
    const there = await empty("npm");
    const options = ["install", "--offline", "--no-audit", "--no-fund", "--prefix", there];
    await run("npm", [...options, await packageWith(".tgz")]);
    return path.join(there, "node_modules/.bin/troupe");
  })();
  return npm;
}

async function demo(command, there) {
  const home = await mkdtemp(path.join(folder, "home-"));
  const env = { PATH: process.env.PATH, HOME: home };
  const { stdout, stderr } = await run(command, ["demo"], { cwd: there, env });
  assert.match(stdout + stderr, /All five tests pass/);
}

async function packageWith(ending) {
  const [name] = (await readdir(packages)).filter((it) => it.endsWith(ending));
  return path.join(packages, name);
}

async function empty(name) {
  const there = path.join(folder, name);
  await mkdir(there);
  return there;
}
