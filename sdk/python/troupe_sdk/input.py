"""What is said to an agent."""

from __future__ import annotations

from typing import List, Union

from .protocol import UserInput

Input = Union[str, List[UserInput]]
"""A text, or items: text, images, skills, mentions."""


def to_items(input: Input) -> list[UserInput]:
    """A text stands for one item of text."""
    return [{"type": "text", "text": input}] if isinstance(input, str) else input
