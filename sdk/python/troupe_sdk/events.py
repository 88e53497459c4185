"""Events that wait to be read: an async iterator that is filled from outside."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Callable

from .errors import EventsLost
from .protocol import ServerNotification

WAITING_MAX = 10_000
"""A reader that is this far behind is given up."""


class Events:
    def __init__(self) -> None:
        self._waiting: deque[ServerNotification] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None
        self._left: Callable[[], None] = lambda: None

    def __aiter__(self) -> Events:
        return self

    async def __anext__(self) -> ServerNotification:
        while not self._waiting:
            if self._ended:
                # Told once; who asks again after it has ended is told just that.
                error, self._error = self._error, None
                raise error or StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        """The reader leaves."""
        self._waiting.clear()
        self.end(None)

    def when_left(self, left: Callable[[], None]) -> None:
        """Has a function called when nobody will read any more."""
        self._left = left

    def push(self, event: ServerNotification) -> None:
        if self._ended:
            return
        if len(self._waiting) < WAITING_MAX:
            self._waiting.append(event)
            self._news.set()
        else:
            self.end(EventsLost(WAITING_MAX))

    def end(self, error: Exception | None) -> None:
        """No more events. What waits is still read, then the reader meets the error."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._news.set()
            self._left()
