"""An agent of a tree, at work below a thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import TroupeError
from .events import Events
from .input import Input, to_items
from .protocol import Agent as AgentView
from .protocol import (
    AgentResult,
    AgentSendResponse,
    AgentStopResponse,
    FinishedAgent,
    StopVerb,
)

if TYPE_CHECKING:
    from .client import Troupe


class Agent:
    def __init__(self, troupe: Troupe, root_thread_id: str, view: AgentView, why: list[str]):
        self._troupe = troupe
        self._root = root_thread_id
        self.id = view["threadId"]
        """The id of its thread."""
        self.path = view["path"]
        """Its place in the tree, such as ``/root/tests``."""
        self.view = view
        """How it stood when this object was made."""
        self.why = why
        """One sentence for each wish that was not granted as it was."""

    async def send(self, input: Input, interrupt: bool = False) -> AgentSendResponse:
        """Steers it: the input joins its task at the next request, or takes the task's place."""
        params = {"agent": self.id, "input": to_items(input), "interrupt": interrupt}
        sent: AgentSendResponse = await self._request("agent/send", params)
        return sent

    async def wait(self) -> AgentResult:
        """Returns its result when its task has ended. Cancelling ends the wait alone, not the
        agent; so does the time of ``asyncio.wait_for``."""
        while True:
            waited = await self._request("agent/wait", {"agents": [self.id]})
            if waited["finished"]:
                return self._result_of(waited["finished"][0])

    async def result(self, task_id: str | None = None) -> AgentResult:
        """The result of a task that has ended; of the last one, if none is named."""
        params = {"agent": self.id, "taskId": task_id}
        result: AgentResult = (await self._request("agent/result", params))["result"]
        return result

    async def stop(
        self, verb: StopVerb = "cancel", dry_run: bool = False, note: str | None = None
    ) -> AgentStopResponse:
        """Stops it; ``dry_run`` only tells what that would touch."""
        params = {"agents": [self.id], "verb": verb, "dryRun": dry_run, "note": note}
        stopped: AgentStopResponse = await self._request("agent/stop", params)
        return stopped

    async def set_note(self, note: str) -> None:
        await self._request("agent/note/set", {"agent": self.id, "note": note})

    def events(self) -> Events:
        """What happens in its thread, from now on."""
        return self._troupe.events(self.id)

    def _result_of(self, finished: FinishedAgent) -> AgentResult:
        if finished["result"]:
            return finished["result"]
        status = finished["agent"]["status"]["type"] if finished["agent"] else "notFound"
        raise TroupeError(f"{self.path} has no result: its status is {status}")

    async def _request(self, method: str, params: dict[str, Any]) -> Any:
        return await self._troupe.request(method, {"rootThreadId": self._root, **params})


def address(agent: Agent | str) -> str:
    return agent if isinstance(agent, str) else agent.id
