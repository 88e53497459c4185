"""A client of ``troupe app-server``: :class:`Troupe` is where to begin.

What crosses the wire is described in :mod:`troupe_sdk.protocol`, which is generated.
"""

from . import protocol
from .agent import Agent
from .client import Troupe
from .errors import (
    EventsLost,
    ProgramNotFound,
    RequestFailed,
    ServerEnded,
    TroupeError,
    TurnFailed,
)
from .thread import Thread, Turn, TurnResult

__all__ = [
    "Agent",
    "EventsLost",
    "ProgramNotFound",
    "RequestFailed",
    "ServerEnded",
    "Thread",
    "Troupe",
    "TroupeError",
    "Turn",
    "TurnFailed",
    "TurnResult",
    "protocol",
]
