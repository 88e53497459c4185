// A model server that we did not write answers our program over all of its wires.
//
//   TROUPE_BIN=target/debug/troupe node --test tests/external/llama.test.mjs
//
// It is llama.cpp's own server, once with real weights and a single slot, and else with
// weights of noise, which read a long prompt fast. What a model says is never looked at, only
// how it arrives.

import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";

import { startServer } from "./llama_server.mjs";
import { Exec, Proto, Terminal } from "./troupe.mjs";

const program = process.env.TROUPE_BIN && path.resolve(process.env.TROUPE_BIN);
assert(program, "set TROUPE_BIN to the troupe program");

const WIRES = ["responses", "chat", "messages"];
const timeout = 60_000;
// The real model answers the first with a sentence, and the second for minutes.
const SHORT = "What is the capital of France? Answer with one word.";
const LONG = "Write a very long story about a lighthouse keeper.";

let folder;

before(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "troupe-llama-"));
  // The built-in instructions are long for a model that reads some tokens per second.
  await writeFile(path.join(folder, "instructions.md"), "Be brief.");
});

after(async () => {
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe("real weights", () => {
  let server;
  before(async () => {
    server = await startServer("--parallel", "1");
  });
  after(() => server?.kill());

  for (const wire of WIRES) {
    test(`exec streams a turn over ${wire}`, { timeout }, async (t) => {
      const { code, events } = await exec(t, at(server, wire), SHORT);
      assert.deepEqual(
        events.map(({ type, item }) => item?.type ?? type),
        ["thread.started", "turn.started", "agent_message", "turn.completed"],
      );
      const [, , { item }, { usage }] = events;
      assert(item.text.trim(), "the model says something");
      assert(usage.input_tokens > 0 && usage.output_tokens > 0, JSON.stringify(usage));
      assert.equal(code, 0);
    });

    test(`proto tells the text of a turn piece by piece over ${wire}`, { timeout }, async (t) => {
      const session = await proto(t, at(server, wire));
      session.say(SHORT);
      const done = await session.next("task_complete");
      await session.end();

      const deltas = session.all("agent_message_content_delta").map(({ delta }) => delta);
      assert(deltas.length > 1, `more than one piece: ${JSON.stringify(deltas)}`);
      assert.equal(deltas.join(""), done.last_agent_message);
      const [{ usage, response_id }] = session.all("response_completed");
      assert(usage.input_tokens > 0 && usage.output_tokens > 0, JSON.stringify(usage));
      assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
      assert.equal(response_id, done.response_id);
      inOrder(session, [
        "task_started",
        "user_message",
        "agent_message_content_delta",
        "agent_message",
        "response_completed",
        "task_complete",
      ]);
    });

    test(`an interrupt ends a stream over ${wire} and frees the server`, { timeout }, async (t) => {
      const session = await proto(t, at(server, wire));
      session.say(LONG);
      for (let heard = 0; heard < 3; heard++) await session.next("agent_message_content_delta");
      assert(await server.isBusy(), "the answer is still being made");

      const asked = performance.now();
      session.submit({ type: "interrupt" });
      const { reason, last_agent_message: kept } = await session.next("turn_aborted");
      const tookMs = performance.now() - asked;
      assert.equal(reason, "interrupted");
      assert(kept.trim(), "what was heard is kept");
      assert(tookMs < 2_000, `ended after ${tookMs} ms`);
      assert.deepEqual(session.all("response_completed"), []);

      // There is one slot: nobody is answered while it writes the story.
      const { code, events } = await exec(t, at(server, wire), SHORT);
      assert.equal(events.at(-1).type, "turn.completed");
      assert.equal(code, 0);
      await session.end();
      assert(!(await server.isBusy()), "the server has nothing left to do");
    });
  }

  test("a server that dies while it answers is told, and ends the task", { timeout }, async (t) => {
    const session = await proto(t, at(server, "responses"));
    session.say(LONG);
    await session.next("agent_message_content_delta");
    await server.kill();
    const broken = await session.next("stream_error");
    assert("response_stream_disconnected" in broken.error_info, broken.message);
    assert((await session.next("error")).fatal);
    assert.equal((await session.next("turn_aborted")).reason, "error");
    await session.end();
  });
});

describe("several at once", () => {
  let server;
  before(async () => {
    server = await startServer("--tiny", "--parallel", "4", "--context-tokens", "8192");
  });
  after(() => server?.kill());

  test("four sessions are answered side by side", { timeout }, async (t) => {
    const sessions = await Promise.all(
      [...WIRES, WIRES[0]].map((wire) => proto(t, at(server, wire))),
    );
    assert.equal(new Set(sessions.map(({ id }) => id)).size, 4);

    // Long enough that none is over before the last has begun.
    sessions.forEach((session, at) => session.say(words(1_000 * (at + 1))));
    await Promise.all(sessions.map((session) => session.next("task_complete")));
    const begun = sessions.map((session) => session.all("task_started")[0].heardAt);
    const over = sessions.map((session) => session.all("task_complete")[0].heardAt);
    assert(Math.max(...begun) < Math.min(...over), `begun ${begun}, over ${over}`);

    sessions.forEach((session) => session.say("And now?"));
    await Promise.all(sessions.map((session) => session.next("task_complete")));
    sessions.forEach((session, at) => {
      const [first, second] = session.all("response_completed").map(({ usage }) => usage);
      const own = 1_000 * (at + 1);
      assert(Math.abs(first.input_tokens - own) < 500, `${own}: ${first.input_tokens}`);
      assert(second.input_tokens > first.input_tokens, "the second request tells the first");
    });
    await Promise.all(sessions.map((session) => session.end()));
  });

  for (const wire of WIRES) {
    test(`a session goes on in another process over ${wire}`, { timeout }, async (t) => {
      const first = await exec(t, at(server, wire), words(500));
      const { thread_id: id } = first.events[0];
      const again = await exec(t, at(server, wire), "resume", id, "And now?");
      assert.equal(again.events[0].thread_id, id);
      assert.equal(again.code, 0);
      const [before, since] = [first, again].map(({ events }) => events.at(-1));
      assert(
        since.turn_usage.input_tokens > before.turn_usage.input_tokens,
        "the request tells the first turn",
      );
    });
  }
});

describe("a small context", () => {
  let server;
  before(async () => {
    server = await startServer("--tiny", "--parallel", "2", "--context-tokens", "1024");
  });
  after(() => server?.kill());

  for (const wire of WIRES) {
    test(`a history that no longer fits is compacted over ${wire}`, { timeout }, async (t) => {
      const session = await proto(t, at(server, wire));
      // The server refuses the request in the end; nobody told the program where that is.
      for (let turn = 0; session.all("context_compacted").length === 0; turn++) {
        assert(turn < 8, "the context is full by now");
        session.say(words(300));
        await session.next("task_complete");
      }
      const types = session.types();
      const compacted = types.indexOf("context_compacted");
      assert(compacted < types.lastIndexOf("response_completed"), "it was answered after that");
      assert.deepEqual(session.all("error"), []);
      assert.deepEqual(session.all("stream_error"), []);
      const sizes = session.all("response_completed").map(({ usage }) => usage.input_tokens);
      assert(sizes.at(-1) < sizes.at(-2), `smaller than before: ${sizes}`);

      session.say("And now?");
      await session.next("task_complete");
      await session.end();
    });

    test(`a request that can never fit says so over ${wire}`, { timeout }, async (t) => {
      const instructions = path.join(folder, "too-long.md");
      await writeFile(instructions, words(1_500));
      const settings = { ...at(server, wire), model_instructions_file: instructions };

      const session = await proto(t, settings);
      session.say("Hello");
      const error = await session.next("error");
      assert.equal(error.error_info, "context_window_exceeded");
      assert(error.fatal);
      assert.equal((await session.next("turn_aborted")).reason, "error");
      // The session is there for whatever may help, such as another model.
      session.submit({ type: "set_thread_name", name: "too long" });
      assert.equal((await session.next("thread_name_updated")).thread_name, "too long");
      await session.end();

      const { code, events } = await exec(t, settings, "Hello");
      assert.equal(events.at(-1).type, "turn.failed");
      assert.match(events.at(-1).error.message, /context/);
      assert.equal(code, 1);
    });
  }
});

describe("the server's own window", () => {
  const TOKENS = 8192;
  let server;
  before(async () => {
    server = await startServer("--tiny", "--parallel", "1", "--context-tokens", `${TOKENS}`);
  });
  after(() => server?.kill());

  test("is used, and what does not fit is told with both numbers", { timeout }, async (t) => {
    const session = await proto(t, asItIs(server, "chat"));
    session.say("Hello");
    await session.next("task_complete");
    const windows = session.all("token_count").map(({ info }) => info?.model_context_window);
    assert.equal(windows.at(-1), TOKENS);

    session.say(words(TOKENS + 2_000));
    const error = await session.next("error");
    assert.equal(error.error_info, "context_window_exceeded");
    const numbers = error.message.replaceAll(/(\d),(?=\d)/g, "$1").match(/\d{4,}/g)?.map(Number) ?? [];
    assert(numbers.includes(TOKENS), error.message);
    assert(numbers.some((number) => number > TOKENS), error.message);
    await session.end();
  });
});

describe("a person at a terminal", () => {
  let server;
  let terminal;
  before(async () => {
    server = await startServer("--parallel", "1");
  });
  after(async () => {
    await terminal?.kill();
    await server?.kill();
  });

  // A busy machine makes a token in seconds.
  const patience = { timeout: 3 * timeout };
  test("reads a long answer while it comes, and stops it with Ctrl-C", patience, async () => {
    terminal = new Terminal(program, folder, at(server, "chat"), ["exec", "--skip-git-repo-check", LONG]);
    // What a real model says is not known: there is more of it from look to look.
    const first = await terminal.until((screen) => tokens(screen) > 2);
    const more = await terminal.until((screen) => tokens(screen) > tokens(first) + 2);
    assert(letters(more) > letters(first), more);
    assert(await server.isBusy(), "the answer is still being made");
    terminal.press("C-c");
    const screen = await terminal.until((screen) => /exit \d+/.test(screen));
    assert.match(screen, /Stopped\. .*troupe undo.*troupe exec resume/s);
    assert.match(screen, /exit 1$/m);
    // The server notices between two tokens that nobody reads any more; else the test times out.
    while (await server.isBusy());
  });
});

describe("errors", () => {
  let server;
  before(async () => {
    server = await startServer("--tiny", "--parallel", "2");
  });
  after(() => server?.kill());

  for (const wire of WIRES) {
    test(`a wrong address fails with what the server said over ${wire}`, { timeout }, async (t) => {
      const elsewhere = at({ url: `${server.url}/nowhere` }, wire);
      const { code, events } = await exec(t, elsewhere, "Hello");
      assert.deepEqual(
        events.map(({ type }) => type),
        ["thread.started", "turn.started", "error", "turn.failed"],
      );
      assert.match(events.at(-1).error.message, /404.*File Not Found/);
      assert.equal(code, 1);
    });
  }

  test("a server of this machine that is gone is not waited for", { timeout }, async (t) => {
    const sessions = await Promise.all(WIRES.map((wire) => proto(t, at(server, wire))));
    for (const session of sessions) {
      session.say("Hello");
      await session.next("task_complete");
    }
    await server.kill();
    for (const session of sessions) {
      session.say("Are you there?");
      const error = await session.next("error");
      assert(error.fatal);
      assert.match(error.message, /the connection was refused.*start it/);
      assert.equal((await session.next("turn_aborted")).reason, "error");
      assert.deepEqual(session.all("stream_error"), []);
      await session.end();
    }
  });
});

// The settings for one server and wire.
function at({ url }, wire) {
  return {
    model: "smollm2",
    // No catalogue knows it. What the server really has is told by its refusals.
    model_context_window: 128_000,
    model_provider: "llama",
    model_instructions_file: path.join(folder, "instructions.md"),
    "model_providers.llama.base_url": url,
    "model_providers.llama.wire_api": wire,
    "model_providers.llama.freeform_tools": false,
    "model_providers.llama.request_max_retries": 2,
  };
}

// The same, for somebody who set no window: the server is asked for it.
function asItIs(server, wire) {
  const { model_context_window, ...settings } = at(server, wire);
  return settings;
}

// Runs `troupe exec` to its end.
function exec(t, settings, ...command) {
  const run = new Exec(program, folder, settings, command);
  t.after(() => run.kill());
  return run.ended;
}

// Opens a session of `troupe proto`.
async function proto(t, settings) {
  const session = new Proto(program, folder, settings);
  t.after(() => session.kill());
  await session.configure();
  return session;
}

// Counts what is written on a screen.
function letters(screen) {
  return screen.replaceAll(/\s/g, "").length;
}

// Returns how many tokens of the answer the status line has counted.
function tokens(screen) {
  return Number(/about (\d+) tokens/.exec(screen)?.[1] ?? 0);
}

// A text of about so many tokens.
function words(tokens) {
  return Array(tokens).fill("word").join(" ");
}

// Checks that the first events of these types came in this order.
function inOrder(session, types) {
  const places = types.map((type) => session.types().indexOf(type));
  const told = `${types} in ${session.types()}`;
  assert(!places.includes(-1), told);
  assert.deepEqual(places, [...places].sort((a, b) => a - b), told);
}
