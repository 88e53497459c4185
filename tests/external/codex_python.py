"""The Python client of the app-server protocol drives our program, unchanged.

    TROUPE_BIN=target/debug/troupe MODEL_URL=http://127.0.0.1:PORT/v1 python codex_python.py
"""

import asyncio
import os
import tempfile
import unittest
from pathlib import Path

from openai_codex import (
    ApprovalMode,
    AsyncCodex,
    Codex,
    CodexConfig,
    InvalidRequestError,
    MethodNotFoundError,
    Sandbox,
)
from openai_codex.generated import v2_all as v2

PROGRAM = os.environ["TROUPE_BIN"]
MODEL = os.environ["MODEL_URL"]


class Client(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="troupe-codex-python-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "work").mkdir()

    def config(self):
        return CodexConfig(
            codex_bin=PROGRAM,
            config_overrides=(
                'model_provider="scripted"',
                f'model_providers.scripted.base_url="{MODEL}"',
                'model="scripted-1"',
                "model_context_window=200000",
            ),
            cwd=str(self.folder / "work"),
            env={"HOME": str(self.folder), "TROUPE_HOME": str(self.folder / "home")},
        )

    def test_the_server_says_who_it_is(self):
        with Codex(self.config()) as codex:
            self.assertIn("troupe/", codex.metadata.userAgent)
            self.assertEqual(codex.metadata.serverInfo.name, "codex_python_sdk")

    def test_a_turn_has_a_result(self):
        with Codex(self.config()) as codex:
            result = codex.thread_start().run("greet me")
            self.assertEqual(result.final_response, "Hello from the script.")
            self.assertEqual(result.status.value, "completed")
            self.assertEqual(result.usage.total.input_tokens, 120)
            self.assertIsNotNone(result.duration_ms)
            kinds = [item.root.type for item in result.items]
            self.assertEqual(kinds, ["userMessage", "agentMessage"])

    def test_a_turn_can_be_streamed(self):
        with Codex(self.config()) as codex:
            turn = codex.thread_start().turn("greet me")
            events = list(turn.stream())
            deltas = [e.payload.delta for e in events if e.method == "item/agentMessage/delta"]
            self.assertEqual("".join(deltas), "Hello from the script.")
            self.assertEqual(events[-1].method, "turn/completed")

    def test_a_turn_that_fails_raises(self):
        with Codex(self.config()) as codex:
            with self.assertRaisesRegex(RuntimeError, "no such key"):
                codex.thread_start().run("fail")

    def test_commands_run_in_a_sandbox_of_choice(self):
        with Codex(self.config()) as codex:
            thread = codex.thread_start(
                sandbox=Sandbox.full_access, approval_mode=ApprovalMode.deny_all
            )
            result = thread.run("make a file")
            self.assertEqual(result.final_response, "made")
            self.assertTrue((self.folder / "work" / "made").exists())

    def test_a_turn_is_steered_and_interrupted(self):
        with Codex(self.config()) as codex:
            thread = codex.thread_start(sandbox=Sandbox.full_access)
            turn = thread.turn("wait for me")
            self.assertEqual(turn.steer("and be quick").turn_id, turn.id)
            turn.interrupt()
            self.assertEqual(turn.run().status.value, "interrupted")

    def test_threads_are_found_again(self):
        with Codex(self.config()) as codex:
            thread = codex.thread_start()
            thread.run("greet me")
            thread.set_name("my work")
            id = thread.id
        with Codex(self.config()) as codex:
            listed = codex.thread_list()
            self.assertEqual([(t.id, t.name) for t in listed.data], [(id, "my work")])
            thread = codex.thread_resume(id)
            self.assertEqual(thread.run("greet me").final_response, "Hello again.")
            read = thread.read(include_turns=True)
            self.assertEqual(len(read.thread.turns), 2)
            fork = codex.thread_fork(id)
            self.assertNotEqual(fork.id, id)
            codex.thread_archive(id)
            self.assertNotIn(id, [t.id for t in codex.thread_list().data])
            self.assertEqual(codex.thread_unarchive(id).id, id)

    def test_a_thread_is_compacted(self):
        with Codex(self.config()) as codex:
            thread = codex.thread_start()
            thread.run("greet me")
            thread.compact()
            while codex._client.next_notification().method != "thread/closed":
                kinds = self.items(thread)
                if "contextCompaction" in kinds:
                    break
            self.assertEqual(thread.run("greet me").final_response, "And again.")

    def items(self, thread):
        turns = thread.read(include_turns=True).thread.turns
        return [item.root.type for turn in turns for item in turn.items]

    def test_answers_fit_the_types_of_the_client(self):
        with Codex(self.config()) as codex:
            def call(method, params, model):
                return codex._client.request(method, params, response_model=model)

            done = call("command/exec", {"command": ["echo", "hi"]}, v2.CommandExecResponse)
            self.assertEqual((done.exit_code, done.stdout), (0, "hi\n"))
            edit = {"keyPath": "personality", "value": "friendly", "mergeStrategy": "replace"}
            written = call("config/value/write", edit, v2.ConfigWriteResponse)
            self.assertEqual(written.status.value, "ok")
            read = call("config/read", {"includeLayers": True}, v2.ConfigReadResponse)
            self.assertEqual(read.origins["personality"].version, written.version)
            (self.folder / "work" / "parser.rs").touch()
            watch = {"watchId": "w", "path": str(self.folder / "work")}
            call("fs/watch", watch, v2.FsWatchResponse)
            call("account/rateLimits/read", None, v2.GetAccountRateLimitsResponse)
            thread = codex.thread_start()
            thread.run("greet me")
            usage = call("account/usage/read", None, v2.GetAccountTokenUsageResponse)
            self.assertEqual(usage.summary.lifetime_tokens, 128)
            call("thread/delete", {"threadId": thread.id}, v2.ThreadDeleteResponse)
            with self.assertRaises(InvalidRequestError):
                codex.thread_resume(thread.id)

    def test_a_review_is_a_turn(self):
        with Codex(self.config()) as codex:
            thread = codex.thread_start()
            target = {"type": "custom", "instructions": "look for typos"}
            params = {"threadId": thread.id, "target": target}
            begun = codex._client.request(
                "review/start", params, response_model=v2.ReviewStartResponse
            )
            self.assertEqual(begun.review_thread_id, thread.id)
            self.assertEqual(begun.turn.status.value, "inProgress")

    def test_errors_have_their_classes(self):
        with Codex(self.config()) as codex:
            with self.assertRaises(InvalidRequestError):
                codex.thread_resume("00000000-0000-4000-8000-000000000000")
            with self.assertRaises(MethodNotFoundError):
                codex._client._request_raw("no/such/method", {})

    def test_the_asynchronous_client(self):
        async def run():
            async with AsyncCodex(self.config()) as codex:
                one, two = await asyncio.gather(codex.thread_start(), codex.thread_start())
                results = await asyncio.gather(one.run("greet me"), two.run("greet me"))
                return [result.final_response for result in results]

        self.assertEqual(asyncio.run(run()), ["Hello from the script."] * 2)


if __name__ == "__main__":
    unittest.main(warnings="ignore")
