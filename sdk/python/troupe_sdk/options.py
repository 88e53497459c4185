"""What methods take beside their arguments: fields of the wire's parameters, spelled as Python
does. A test compares them with the generated types."""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping, TypedDict

from .protocol import (
    ApprovalsReviewer,
    AskForApproval,
    SandboxMode,
    SandboxPolicy,
)


class ThreadOptions(TypedDict, total=False):
    ephemeral: bool
    model: str
    model_provider: str
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxMode
    config: Dict[str, Any]
    base_instructions: str
    developer_instructions: str
    personality: str


class ResumeOptions(TypedDict, total=False):
    exclude_turns: bool
    model: str
    model_provider: str
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox: SandboxMode
    config: Dict[str, Any]
    base_instructions: str
    developer_instructions: str
    personality: str


class ForkOptions(ResumeOptions, total=False):
    ephemeral: bool
    last_turn_id: str
    before_turn_id: str


class TurnOptions(TypedDict, total=False):
    client_user_message_id: str
    cwd: str
    approval_policy: AskForApproval
    approvals_reviewer: ApprovalsReviewer
    sandbox_policy: SandboxPolicy
    model: str
    effort: str
    summary: str
    personality: str
    developer_instructions: str
    output_schema: Any
    collaboration_mode: Any


class SpawnOptions(TypedDict, total=False):
    role: str
    name: str
    model: str
    effort: str
    sandbox: SandboxMode
    output_schema: Any
    note: str
    call_back: bool


def to_wire(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options as fields of the wire."""
    return {camel(name): value for name, value in options.items()}


def camel(name: str) -> str:
    return re.sub("_(.)", lambda found: found[1].upper(), name)
