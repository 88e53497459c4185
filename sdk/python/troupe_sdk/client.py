"""The server and its threads."""

from __future__ import annotations

import json
import os
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Mapping

from .connection import Connection
from .events import Events
from .options import ForkOptions, ResumeOptions, ThreadOptions, to_wire
from .protocol import (
    ClientInfo,
    InitializeResponse,
    ServerNotification,
    ThreadListResponse,
)
from .questions import OnApproval, OnElicitation, OnQuestion, Questions
from .thread import Thread

if TYPE_CHECKING:
    from typing_extensions import Unpack

CLIENT: ClientInfo = {"name": "troupe-sdk-python", "version": "0.1.0"}


class Troupe:
    """``troupe app-server``, started with ``async with`` and ended with it.

    ``config`` has settings as in ``config.toml``, by their dotted keys. What only a person can
    decide is put to the callbacks, which may be coroutines; without one it is declined, and so
    it is if one raises. A callback is cancelled if its question needs no answer any more.
    """

    server: InitializeResponse

    def __init__(
        self,
        *,
        program: str | os.PathLike[str] = "troupe",
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        config: Mapping[str, Any] | None = None,
        on_approval: OnApproval | None = None,
        on_question: OnQuestion | None = None,
        on_elicitation: OnElicitation | None = None,
        client_info: ClientInfo = CLIENT,
    ):
        self._program = os.fspath(program)
        self._cwd = os.fspath(cwd) if cwd is not None else None
        self._env = env
        self._config = config or {}
        self._questions = Questions(on_approval, on_question, on_elicitation)
        self._client_info = client_info
        self._connection: Connection | None = None

    async def __aenter__(self) -> Troupe:
        settings = [f"-c{key}={toml(value)}" for key, value in self._config.items()]
        connection = await Connection.open(
            self._program, ["app-server", *settings], self._cwd, self._env, self._questions.answer
        )
        try:
            connection.follow(self._questions.hear, lambda reason: None)
            params = {"clientInfo": self._client_info, "capabilities": {"experimentalApi": True}}
            self.server = await connection.request("initialize", params)
            await connection.notify("initialized")
        except BaseException:
            await connection.close()
            raise
        self._connection = connection
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the server in order. What runs is interrupted and can be resumed."""
        if self._connection:
            await self._connection.close()

    async def start_thread(self, **options: Unpack[ThreadOptions]) -> Thread:
        return Thread(self, await self.request("thread/start", to_wire(options)))

    async def resume_thread(self, thread_id: str, **options: Unpack[ResumeOptions]) -> Thread:
        params = {"excludeTurns": True, **to_wire(options), "threadId": thread_id}
        return Thread(self, await self.request("thread/resume", params))

    async def fork_thread(self, thread_id: str, **options: Unpack[ForkOptions]) -> Thread:
        """A copy of a thread, which goes its own way."""
        params = {"excludeTurns": True, **to_wire(options), "threadId": thread_id}
        return Thread(self, await self.request("thread/fork", params))

    async def list_threads(self, **params: Any) -> ThreadListResponse:
        """Stored threads, page by page. Takes the fields of ``ThreadListParams``."""
        listed: ThreadListResponse = await self.request("thread/list", to_wire(params))
        return listed

    async def request(self, method: str, params: Any = None) -> Any:
        """Any method of the protocol (docs/app-server.md)."""
        return await self._connected().request(method, params or {})

    def events(self, thread_id: str | None = None) -> Events:
        """Everything that the server tells, or what it tells of one thread, from now on."""

        def wanted(event: Any) -> bool:
            return thread_id is None or event["params"].get("threadId") == thread_id

        return self.follow(wanted)

    def follow(self, wanted: Callable[[ServerNotification], bool]) -> Events:
        """What the server tells and ``wanted`` picks, from now on."""
        events = Events()

        def hear(event: ServerNotification) -> None:
            if wanted(event):
                events.push(event)

        events.when_left(self._connected().follow(hear, events.end))
        return events

    def _connected(self) -> Connection:
        if self._connection is None:
            raise RuntimeError("the server is not started: use `async with Troupe() as troupe`")
        return self._connection


def toml(value: Any) -> str:
    """JSON is TOML for texts, numbers, booleans and lists of them; tables are written
    differently."""
    if isinstance(value, Mapping):
        entries = (f"{json.dumps(key)} = {toml(inner)}" for key, inner in value.items())
        return f"{{ {', '.join(entries)} }}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml, value))}]"
    return json.dumps(value)
