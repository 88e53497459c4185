"""Our own client for Python, `sdk/python`, as programs use it.

    TROUPE_BIN=target/debug/troupe TROUPE_CONFIG='{…}' python sdk_python.py
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import unittest
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

SDK = Path(__file__).parents[2] / "sdk" / "python"
sys.path.insert(0, str(SDK))

from troupe_sdk import (  # noqa: E402
    ProgramNotFound,
    RequestFailed,
    ServerEnded,
    Troupe,
    TurnFailed,
    options,
    protocol,
)

PROGRAM = os.environ["TROUPE_BIN"]
CONFIG = json.loads(os.environ["TROUPE_CONFIG"])


class Client(unittest.IsolatedAsyncioTestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-sdk-python-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.work = self.folder / "work"
        self.work.mkdir()

    def environment(self):
        home = {"HOME": str(self.folder), "TROUPE_HOME": str(self.folder / "home")}
        return {"PATH": os.environ["PATH"], **home}

    def troupe(self, config=None, **options):
        settings = {**CONFIG, **(config or {})}
        return Troupe(
            program=PROGRAM, cwd=self.work, env=self.environment(), config=settings, **options
        )

    @asynccontextmanager
    async def thread(self, **options):
        async with self.troupe() as troupe:
            yield await troupe.start_thread(sandbox="danger-full-access", **options)

    async def test_a_turn_has_a_text_items_and_usage(self):
        async with self.troupe() as troupe:
            self.assertTrue(troupe.server["userAgent"].startswith("troupe"))
            thread = await troupe.start_thread()
            result = await thread.run("greet me")
            self.assertEqual(result.status, "completed")
            self.assertEqual(result.text, "Hello from the script.")
            kinds = [item["type"] for item in result.items]
            self.assertEqual(kinds, ["userMessage", "agentMessage"])
            self.assertEqual(result.usage["total"]["inputTokens"], 120)

    async def test_a_turn_is_streamed(self):
        async with self.thread() as thread:
            events = [event async for event in thread.stream("greet me")]
            deltas = [
                event["params"]["delta"]
                for event in events
                if event["method"] == "item/agentMessage/delta"
            ]
            self.assertEqual("".join(deltas), "Hello from the script.")
            self.assertEqual(events[-1]["method"], "turn/completed")

    async def test_an_answer_under_a_schema_is_read(self):
        schema = {
            "type": "object",
            "properties": {"colour": {"type": "string"}},
            "required": ["colour"],
            "additionalProperties": False,
        }
        async with self.thread() as thread:
            result = await thread.run("answer in JSON", output_schema=schema)
            self.assertEqual(result.output, {"colour": "red"})

    async def test_threads_go_on_in_another_process_and_fork(self):
        async with self.troupe() as troupe:
            thread = await troupe.start_thread()
            await thread.run("greet me")
            await thread.set_name("my work")
        async with self.troupe() as troupe:
            listed = await troupe.list_threads(limit=5)
            found = [(it["id"], it["name"]) for it in listed["data"]]
            self.assertEqual(found, [(thread.id, "my work")])
            fork = await troupe.fork_thread(thread.id)
            self.assertNotEqual(fork.id, thread.id)
            resumed = await troupe.resume_thread(thread.id)
            self.assertEqual((await resumed.run("greet me again")).text, "Hello again.")
            self.assertEqual(len((await resumed.read())["turns"]), 2)
            self.assertEqual(len((await fork.read())["turns"]), 1)

    async def test_approvals_are_put_to_the_callback(self):
        decisions = ["decline", "accept"]

        async def decide(approval):
            self.assertIn("touch made", approval["command"])
            return decisions.pop(0)

        async with self.troupe(on_approval=decide) as troupe:
            outcomes = []
            for _ in range(2):
                thread = await troupe.start_thread(
                    approval_policy="untrusted", sandbox="workspace-write"
                )
                result = await thread.run("make a file")
                outcomes += [it["status"] for it in result.items if it["type"] == "commandExecution"]
            self.assertEqual(outcomes, ["declined", "completed"])

    async def test_what_no_callback_answers_is_declined(self):
        async with self.troupe() as troupe:
            thread = await troupe.start_thread(approval_policy="untrusted")
            await thread.run("make a file")
            self.assertFalse((self.work / "made").exists())

    async def test_questions_are_put_to_the_callback(self):
        def choose(asked):
            [question] = asked["questions"]
            return {question["id"]: question["options"][1]["label"]}

        async with self.troupe(on_question=choose) as troupe:
            result = await (await troupe.start_thread()).run("ask me")
            self.assertIn("blue", result.text)

    async def test_a_turn_is_steered(self):
        async with self.thread() as thread:
            turn = await thread.turn("wait for me")
            await command_began(turn)
            await turn.steer("be quick")
            (self.work / "go").touch()
            self.assertEqual((await turn.result()).text, "I was quick.")

    async def test_cancelling_a_run_interrupts_its_turn(self):
        async with self.thread() as thread:
            events = thread.events()
            running = asyncio.create_task(thread.run("wait for me"))
            await command_began(events)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            [turn] = (await thread.read())["turns"]
            self.assertEqual(turn["status"], "interrupted")

    async def test_who_leaves_a_stream_interrupts_its_turn(self):
        async with self.thread() as thread:
            async with aclosing(thread.stream("wait for me")) as events:
                await command_began(events)
            [turn] = (await thread.read())["turns"]
            self.assertEqual(turn["status"], "interrupted")

    async def test_a_tree_is_spawned_steered_waited_for_and_stopped(self):
        async with self.troupe() as troupe:
            thread = await troupe.start_thread(sandbox="danger-full-access")
            events = troupe.events()
            agent = await thread.spawn("wait for me", name="waiting")
            self.assertEqual(agent.path, "/root/waiting")
            await command_began(events, agent.id)
            waited = await thread.wait([agent], timeout=0.001)
            self.assertTrue(waited["timedOut"])
            sent = await agent.send("be quick")
            self.assertEqual(sent["receipt"]["type"], "queued")
            (self.work / "go").touch()
            result = await agent.wait()
            self.assertEqual((result["completed"], result["text"]), (True, "I was quick."))
            self.assertEqual(await agent.result(), result)

            stopped = await agent.stop("close", dry_run=True)
            self.assertEqual(
                [(it["agent"]["path"], it["action"]) for it in stopped["touched"]],
                [("/root/waiting", "close")],
            )
            await agent.stop("close")
            self.assertEqual([it.path for it in await thread.agents()], ["/root"])

    async def test_one_of_several_agents_is_waited_for(self):
        async with self.thread() as thread:
            slow = await thread.spawn("wait for me", name="slow")
            quick = await thread.spawn("greet me", name="quick")
            waited = await thread.wait([slow, quick])
            self.assertEqual([it["agent"]["path"] for it in waited["finished"]], [quick.path])
            self.assertEqual([it["path"] for it in waited["unfinished"]], [slow.path])
            await slow.stop("cancel")
            self.assertFalse((await slow.wait())["completed"])

    async def test_errors_say_what_to_do(self):
        with self.assertRaisesRegex(ProgramNotFound, "could not be started .*: install Troupe"):
            async with Troupe(program=self.folder / "absent"):
                pass
        with self.assertRaisesRegex(ServerEnded, "(?s)exit code 2; the last.*model providers"):
            async with self.troupe(config={"model providers": 1}):
                pass
        async with self.troupe() as troupe:
            with self.assertRaises(RequestFailed):
                await troupe.resume_thread("no-thread")
            thread = await troupe.start_thread()
            with self.assertRaisesRegex(TurnFailed, "no such key"):
                await thread.run("fail")
        with self.assertRaises(ServerEnded):
            await thread.run("greet me")

    def test_options_are_those_of_the_wire(self):
        for ours, theirs in [
            (options.ThreadOptions, protocol.ThreadStartParams),
            (options.ResumeOptions, protocol.ThreadResumeParams),
            (options.ForkOptions, protocol.ThreadForkParams),
            (options.TurnOptions, protocol.TurnStartParams),
            (options.SpawnOptions, protocol.AgentSpawnParams),
        ]:
            arguments = {"threadId", "rootThreadId", "input"}
            # Tools of a client need somebody who runs them, and this client calls nobody. It knows
            # threads by their ids, not by files.
            not_offered = {"dynamicTools", "path"}
            expected = set(theirs.__annotations__) - arguments - not_offered
            self.assertEqual({options.camel(name) for name in ours.__annotations__}, expected)

    def test_the_example_runs(self):
        example = subprocess.run(
            [sys.executable, str(SDK / "examples" / "tree.py")],
            cwd=self.work,
            env={
                **self.environment(),
                "PYTHONPATH": str(SDK),
                "TROUPE_BIN": PROGRAM,
                "TROUPE_CONFIG": json.dumps(CONFIG),
            },
            capture_output=True,
            text=True,
        )
        self.assertEqual(example.returncode, 0, example.stderr)
        self.assertIn("/root/tests completed after 1 commands: All tests passed.", example.stdout)
        self.assertIn("/root/docs completed after 0 commands: ", example.stdout)
        self.assertIn("Nothing is broken, and nothing is written.", example.stdout)

    def test_the_types_are_right(self):
        checked = subprocess.run(
            [sys.executable, "-m", "mypy", "--cache-dir", str(self.folder / "mypy")],
            cwd=SDK,
            capture_output=True,
            text=True,
        )
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


async def command_began(events, thread_id=None):
    async for event in events:
        params = event["params"]
        if event["method"] != "item/started" or thread_id not in (None, params["threadId"]):
            continue
        if params["item"]["type"] == "commandExecution":
            return
    raise AssertionError("no command began")


if __name__ == "__main__":
    unittest.main()
