"""Names of things, from paths that may each start anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that puts 2 before 10."""
    parts = [(at % 2, part) for at, part in enumerate(re.split(r"([0-9]{1,15})", text)) if part]
    return tuple((0, int(part), "") if digits else (1, 0, part) for digits, part in parts)


def same_file(one: str, other: str) -> bool:
    """Whether two paths may name one file."""
    one, other = one.removeprefix("./"), other.removeprefix("./")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def named(items: list[Any], *endings: str) -> list[Any]:
    """Gives each item the least of its path's end that tells it from the others, and sorts by name."""
    for depth in range(1, 64):
        for item in items:
            item.name = tail(item.path, depth, endings)
        if len({item.name for item in items}) == len({item.path for item in items}):
            break
    return sorted(items, key=lambda item: (natural(item.name), item.path))


def tail(path: str, depth: int, endings: Sequence[str]) -> str:
    """The last parts of a path, or of each of several, without the kind of file."""
    texts = ["/".join(PurePosixPath(part).parts[-depth:]) or part for part in path.split(" + ")]
    for ending in endings:
        texts = [text.removesuffix(ending) or text for text in texts]
    return " + ".join(texts)
