"""A conversation, and one turn of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, AsyncIterator, Sequence

from .agent import Agent, address
from .errors import TroupeError, TurnFailed
from .events import Events
from .input import Input, to_items
from .options import ForkOptions, SpawnOptions, TurnOptions, to_wire
from .protocol import (
    AgentStopResponse,
    AgentWaitResponse,
    ServerNotification,
    StopVerb,
    ThreadItem,
    ThreadOpenResponse,
    ThreadTokenUsage,
    TurnStatus,
)
from .protocol import Thread as ThreadView
from .protocol import Turn as TurnView

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .client import Troupe


@dataclass
class TurnResult:
    id: str
    status: TurnStatus
    text: str
    """The last message."""
    items: list[ThreadItem]
    """Everything that was said and done, in order."""
    usage: ThreadTokenUsage | None
    output: Any = None
    """The answer under ``output_schema``, if that was given."""


class Thread:
    def __init__(self, troupe: Troupe, opened: ThreadOpenResponse):
        self._troupe = troupe
        self.id = opened["thread"]["id"]
        self.opened = opened
        """The answer to the request that opened it: model, policy, sandbox and the like."""

    async def run(self, input: Input, **options: Unpack[TurnOptions]) -> TurnResult:
        """A turn from its beginning to its end. Cancelling it interrupts the turn."""
        turn = await self.turn(input, **options)
        try:
            return await turn.result()
        except asyncio.CancelledError:
            await turn.abandon()
            raise

    async def stream(
        self, input: Input, **options: Unpack[TurnOptions]
    ) -> AsyncIterator[ServerNotification]:
        """The events of a turn as they come. Who leaves the loop early interrupts the turn."""
        turn = await self.turn(input, **options)
        over = False
        try:
            async for event in turn:
                yield event
            over = True
            await turn.result()
        finally:
            if not over:
                await turn.abandon()

    async def turn(self, input: Input, **options: Unpack[TurnOptions]) -> Turn:
        """Begins a turn, to be read, steered and interrupted. If one runs, the input joins it."""
        # Before the request: events may come in the same read as its answer.
        events = self.events()
        try:
            params = {**to_wire(options), "threadId": self.id, "input": to_items(input)}
            begun = await self._troupe.request("turn/start", params)
        except BaseException:
            events.close()
            raise
        wants_output = options.get("output_schema") is not None
        return Turn(self._troupe, self.id, begun["turn"]["id"], events, wants_output)

    def events(self) -> Events:
        """What happens in the thread, from now on, also between turns."""
        return self._troupe.events(self.id)

    async def read(self, include_turns: bool = True) -> ThreadView:
        params = {"threadId": self.id, "includeTurns": include_turns}
        thread: ThreadView = (await self._troupe.request("thread/read", params))["thread"]
        return thread

    async def fork(self, **options: Unpack[ForkOptions]) -> Thread:
        return await self._troupe.fork_thread(self.id, **options)

    async def set_name(self, name: str) -> None:
        await self._troupe.request("thread/name/set", {"threadId": self.id, "name": name})

    async def set_note(self, note: str) -> None:
        """An empty note clears it."""
        await self._troupe.request("thread/note/set", {"threadId": self.id, "note": note})

    async def spawn(self, input: Input, **options: Unpack[SpawnOptions]) -> Agent:
        """Starts an agent below this thread and returns while it works."""
        params = {**to_wire(options), "rootThreadId": self.id, "input": to_items(input)}
        spawned = await self._troupe.request("agent/spawn", params)
        return Agent(self._troupe, self.id, spawned["agent"], spawned["why"])

    async def agents(self, include_closed: bool = False) -> list[Agent]:
        """Every agent of the tree, the root first."""
        params = {"rootThreadId": self.id, "includeClosed": include_closed}
        read = await self._troupe.request("tree/read", params)
        return [Agent(self._troupe, self.id, agent, []) for agent in read["agents"]]

    async def wait(
        self, agents: Sequence[Agent | str] = (), timeout: float | None = None
    ) -> AgentWaitResponse:
        """Waits until one of ``agents`` has ended; until any child has, if there are none."""
        waited: AgentWaitResponse = await self._troupe.request(
            "agent/wait",
            {
                "rootThreadId": self.id,
                "agents": [address(agent) for agent in agents],
                "timeoutMs": None if timeout is None else int(timeout * 1000),
            },
        )
        return waited

    async def stop(
        self,
        agents: Sequence[Agent | str],
        verb: StopVerb,
        dry_run: bool = False,
        note: str | None = None,
    ) -> AgentStopResponse:
        """Stops several agents at once."""
        stopped: AgentStopResponse = await self._troupe.request(
            "agent/stop",
            {
                "rootThreadId": self.id,
                "agents": [address(agent) for agent in agents],
                "verb": verb,
                "dryRun": dry_run,
                "note": note,
            },
        )
        return stopped

    async def unsubscribe(self) -> None:
        """No events of the thread any more; what runs goes on."""
        await self._troupe.request("thread/unsubscribe", {"threadId": self.id})


class Turn:
    """A turn that was begun. Its events are read once: by iterating, or by :meth:`result`."""

    def __init__(
        self, troupe: Troupe, thread_id: str, id: str, events: Events, wants_output: bool
    ):
        self._troupe = troupe
        self._thread_id = thread_id
        self.id = id
        self._events = events
        self._wants_output = wants_output
        self._items: list[ThreadItem] = []
        self._usage: ThreadTokenUsage | None = None
        self._last: TurnView | None = None

    def __aiter__(self) -> Turn:
        return self

    async def __anext__(self) -> ServerNotification:
        while self._last is None:
            event = await self._events.__anext__()
            if turn_of(event) in (None, self.id):
                self._gather(event)
                return event
        raise StopAsyncIteration

    async def result(self) -> TurnResult:
        """What the turn came to. Reads what was not read; raises if the turn failed."""
        async for _ in self:
            pass
        messages = [item["text"] for item in self._items if item["type"] == "agentMessage"]
        text = messages[-1] if messages else ""
        status: TurnStatus = self._last["status"] if self._last else "interrupted"
        result = TurnResult(self.id, status, text, self._items, self._usage)
        if status == "failed":
            raise TurnFailed(result, self._last["error"] if self._last else None)
        if self._wants_output and status == "completed":
            result.output = json.loads(text)
        return result

    async def steer(self, input: Input) -> None:
        """Tells the model something while it works."""
        params = {
            "threadId": self._thread_id,
            "expectedTurnId": self.id,
            "input": to_items(input),
        }
        await self._troupe.request("turn/steer", params)

    async def interrupt(self) -> None:
        """Returns when the turn has ended."""
        params = {"threadId": self._thread_id, "turnId": self.id}
        await self._troupe.request("turn/interrupt", params)

    def leave(self) -> None:
        """Reads no more of its events; what runs goes on."""
        self._events.close()

    async def abandon(self) -> None:
        """Interrupts it, if it still runs, and leaves."""
        try:
            await self.interrupt()
        except TroupeError:
            # It ended meanwhile, or the server has: there is nothing to interrupt.
            pass
        self.leave()

    def _gather(self, event: ServerNotification) -> None:
        if event["method"] == "item/completed":
            self._items.append(event["params"]["item"])
        elif event["method"] == "thread/tokenUsage/updated":
            self._usage = event["params"]["tokenUsage"]
        elif event["method"] == "turn/completed":
            self._last = event["params"]["turn"]
            self.leave()


def turn_of(event: Any) -> str | None:
    params = event["params"]
    id: str | None = params.get("turnId") or (params.get("turn") or {}).get("id")
    return id
