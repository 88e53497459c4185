"""The process, and the JSON-RPC on its standard input and output: one message per line,
without the member ``jsonrpc``."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any, Awaitable, Callable, Mapping, Sequence

from .errors import ProgramNotFound, RequestFailed, ServerEnded

LINE_BYTES_MAX = 256 * 1024 * 1024
"""A message is one line, and a file can be in it."""

STDERR_LINES_MAX = 20
"""Of what the server writes to its standard error, these are kept for who asks why it ended."""

STDERR_LINE_CHARACTERS_MAX = 2_000

CLOSING_SECONDS_MAX = 10
"""An orderly end takes this long at most; then the server is killed."""

METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603

Answer = Callable[[str, Any, int], Awaitable[Any]]
"""Answers requests of the server: (method, params, id) → result, or None if it cannot."""


class Connection:
    def __init__(self, process: asyncio.subprocess.Process, answer: Answer):
        self._process = process
        self._answer = answer
        self._requests: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._last_id = 0
        self._listeners: list[tuple[Callable[[Any], None], Callable[[Exception], None]]] = []
        self._stderr: deque[str] = deque(maxlen=STDERR_LINES_MAX)
        self._ended: Exception | None = None
        self._answering: set[asyncio.Task[None]] = set()
        self._life = asyncio.create_task(self._live())

    @classmethod
    async def open(
        cls,
        program: str,
        args: Sequence[str],
        cwd: str | None,
        env: Mapping[str, str] | None,
        answer: Answer,
    ) -> Connection:
        """Returns when the program runs."""
        try:
            process = await asyncio.create_subprocess_exec(
                program,
                *args,
                cwd=cwd,
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LINE_BYTES_MAX,
            )
        except OSError as error:
            raise ProgramNotFound(program, error) from error
        return cls(process, answer)

    async def request(self, method: str, params: Any) -> Any:
        if self._ended:
            raise self._ended
        self._last_id += 1
        id = self._last_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._requests[id] = (method, answer)
        try:
            await self._send({"id": id, "method": method, "params": params})
            return await answer
        finally:
            self._requests.pop(id, None)

    async def notify(self, method: str) -> None:
        await self._send({"method": method})

    def follow(
        self, listener: Callable[[Any], None], ended: Callable[[Exception], None]
    ) -> Callable[[], None]:
        """Calls ``listener`` with each notification, at once and in order, until the returned
        function is called; ``ended`` with the reason, if the server ends before."""
        entry = (listener, ended)
        if self._ended:
            ended(self._ended)
        else:
            self._listeners.append(entry)

        def stop() -> None:
            if entry in self._listeners:
                self._listeners.remove(entry)

        return stop

    async def close(self) -> None:
        """Ends the server in order: its threads can be resumed."""
        assert self._process.stdin
        self._process.stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._life), CLOSING_SECONDS_MAX)
        except asyncio.TimeoutError:
            self._process.kill()
            await self._life

    async def _live(self) -> None:
        """Reads until the server has ended."""
        try:
            await asyncio.gather(self._read(), self._read_stderr())
        except ValueError:
            # A line beyond the bound: nothing behind it can be understood.
            self._process.kill()
        code = await self._process.wait()
        for task in self._answering:
            task.cancel()
        reason = ServerEnded(code, "\n".join(self._stderr))
        self._ended = reason
        for _, answer in self._requests.values():
            if not answer.done():
                answer.set_exception(reason)
        for _, ended in list(self._listeners):
            ended(reason)
        self._listeners.clear()

    async def _read(self) -> None:
        assert self._process.stdout
        async for line in self._process.stdout:
            try:
                message = json.loads(line)
            except ValueError:
                # Not the server's word: something else writes to its output. It is shown if
                # the server ends.
                self._keep(line)
                continue
            self._hear(message)

    async def _read_stderr(self) -> None:
        assert self._process.stderr
        async for line in self._process.stderr:
            self._keep(line)

    def _keep(self, line: bytes) -> None:
        self._stderr.append(line.decode(errors="replace").rstrip()[:STDERR_LINE_CHARACTERS_MAX])

    def _hear(self, message: Any) -> None:
        if "method" not in message:
            self._settle(message)
        elif "id" not in message:
            for listener, _ in list(self._listeners):
                listener(message)
        else:
            task = asyncio.create_task(self._asked(message))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    def _settle(self, message: Any) -> None:
        method, answer = self._requests.get(message["id"], (None, None))
        if method is None or answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(RequestFailed(method, message["error"]))
        else:
            answer.set_result(message.get("result"))

    async def _asked(self, message: Any) -> None:
        id, method = message["id"], message["method"]
        answer: dict[str, Any]
        try:
            result = await self._answer(method, message.get("params"), id)
            if result is None:
                text = f"this client has no answer to {method}"
                answer = {"error": {"code": METHOD_NOT_FOUND, "message": text}}
            else:
                answer = {"result": result}
        except Exception as error:
            # Of the callback. It declines, and the server is told why.
            answer = {"error": {"code": INTERNAL_ERROR, "message": str(error)}}
        await self._send({"id": id, **answer})

    async def _send(self, message: Any) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            await self._process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            # The server is gone; its end says why.
            pass
