"""Everything that this package raises by itself. Each message says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .protocol import TurnError
    from .thread import TurnResult


class TroupeError(Exception):
    pass


class ProgramNotFound(TroupeError):
    """The program could not be started."""

    def __init__(self, program: str, cause: OSError):
        super().__init__(
            f"{program} could not be started ({cause.strerror}): install Troupe, "
            "or name the program with the argument `program`"
        )
        self.program = program


class ServerEnded(TroupeError):
    """The server is gone, and with it every request that it had not answered."""

    def __init__(self, code: int, stderr: str):
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        said = f"; the last that it wrote:\n{stderr}" if stderr else ""
        super().__init__(f"the app-server ended {how}{said}")
        self.code = code
        self.stderr = stderr


class RequestFailed(TroupeError):
    """The server answered a request with an error."""

    def __init__(self, method: str, error: dict[str, Any]):
        super().__init__(f"{method}: {error.get('message')}")
        self.method = method
        self.code = error.get("code")
        self.data = error.get("data")


class TurnFailed(TroupeError):
    """A turn ended with an error of the model, the provider or the engine."""

    def __init__(self, result: TurnResult, error: TurnError | None):
        super().__init__(error["message"] if error else "the turn failed without saying why")
        self.result = result
        self.info = error["codexErrorInfo"] if error else None


class EventsLost(TroupeError):
    """A reader of events was so slow that they would have filled the memory."""

    def __init__(self, most: int):
        super().__init__(
            f"more than {most} events were waiting to be read: read them faster, or follow "
            "fewer threads; `thread.read()` has what was missed"
        )
