"""What the server asks of a person, put to the callbacks of the program that uses this package."""

from __future__ import annotations

import asyncio
from typing import Any, Awaitable, Callable, Mapping, Sequence, TypeVar, Union

from .protocol import (
    ApprovalDecision,
    CommandApprovalParams,
    ElicitationParams,
    ElicitationResponse,
    FileChangeApprovalParams,
    ServerNotification,
    UserInputParams,
)

T = TypeVar("T")
Maybe = Union[T, Awaitable[T]]

OnApproval = Callable[[Union[CommandApprovalParams, FileChangeApprovalParams]], Maybe[ApprovalDecision]]
OnQuestion = Callable[[UserInputParams], Maybe[Mapping[str, Union[str, Sequence[str]]]]]
OnElicitation = Callable[[ElicitationParams], Maybe[ElicitationResponse]]


class Questions:
    def __init__(
        self,
        on_approval: OnApproval | None,
        on_question: OnQuestion | None,
        on_elicitation: OnElicitation | None,
    ):
        self._on_approval = on_approval
        self._on_question = on_question
        self._on_elicitation = on_elicitation
        # Questions that are open, by the id of the server's request.
        self._open: dict[int, asyncio.Future[Any]] = {}

    async def answer(self, method: str, params: Any, id: int) -> Any:
        """Returns None if there is no callback for it; the server then declines."""
        asked = asyncio.ensure_future(self._ask(method, params))
        self._open[id] = asked
        try:
            return await asked
        except asyncio.CancelledError:
            # Somebody else answered, and no answer is due any more; or the server is gone.
            return None
        finally:
            del self._open[id]

    def hear(self, event: ServerNotification) -> None:
        """Cancels the callback if somebody else has answered."""
        if event["method"] == "serverRequest/resolved":
            asked = self._open.get(event["params"]["requestId"])
            if asked:
                asked.cancel()

    async def _ask(self, method: str, params: Any) -> Any:
        if method in (
            "item/commandExecution/requestApproval",
            "item/fileChange/requestApproval",
        ):
            if self._on_approval:
                return {"decision": await ready(self._on_approval(params))}
        elif method == "item/tool/requestUserInput":
            if self._on_question:
                return {"answers": answers(await ready(self._on_question(params)))}
        elif method == "mcpServer/elicitation/request":
            if self._on_elicitation:
                return await ready(self._on_elicitation(params))
        return None


async def ready(value: Maybe[T]) -> T:
    return await value if isinstance(value, Awaitable) else value


def answers(given: Mapping[str, str | Sequence[str]]) -> dict[str, Any]:
    """A single text may stand for a list of one."""

    def listed(answer: str | Sequence[str]) -> list[str]:
        return [answer] if isinstance(answer, str) else list(answer)

    return {id: {"answers": listed(answer)} for id, answer in given.items()}
