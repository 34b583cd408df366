"""Receipts: finding them, reading them by name, and refusing what cannot be used."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from names import natural

FORMAT, VERSION = "foldline receipt", 1
MOST = 2**64
YEAR_10000 = 253402300800

# types of fields, which say how they are read
Seconds = float
Bins = tuple[int, ...]
Counts = dict[str, int]
Span = tuple[int, int, float]
Kind = TypeVar("Kind")


class Unusable(ValueError):
    """Why a receipt cannot be used."""


class Fields:
    """A JSON object, read by name. What is missing, or of another kind, makes its receipt unusable."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise Unusable(f"{path or 'the whole'} is not an object")
        self.value, self.path = value, path

    def at(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str, *kinds: type) -> Any:
        """A value of one of these kinds. A Boolean is no number."""
        if name not in self.value:
            raise Unusable(f"{self.at(name)} is missing")
        value = self.value[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Unusable(f"{self.at(name)} is {shown(value)}, which is of the wrong kind")
        return value

    def count(self, name: str) -> int:
        """A whole number that isn't negative."""
        return self.bounded(name, self.get(name, int), 0)

    def number(self, name: str, least: float = -MOST) -> float:
        return float(self.bounded(name, self.get(name, int, float), least))

    def bounded(self, name: str, value: float, least: float = -MOST) -> Any:
        """The number, where it's one that a receipt can hold."""
        if not (least <= value < MOST):
            raise Unusable(f"{self.at(name)} is {shown(value)}, which is out of range")
        return value

    def maybe(self, name: str, read: Callable[[str], Any]) -> Any:
        """What `read` finds, or None where the field is null or absent."""
        return None if self.value.get(name) is None else read(name)

    def object(self, name: str) -> Fields:
        return Fields(self.get(name, dict), self.at(name))

    def objects(self, name: str) -> list[Fields]:
        return [Fields(item, f"{self.at(name)}[{i}]") for i, item in enumerate(self.get(name, list))]

    def bins(self, name: str) -> Bins:
        """An array of counts."""
        items = Fields({f"[{i}]": item for i, item in enumerate(self.get(name, list))}, self.at(name))
        return tuple(map(items.count, items.value))

    def counts(self, name: str) -> Counts:
        """An object of counts, by name."""
        fields = self.object(name)
        return {key: fields.count(key) for key in sorted(fields.value)}

    def span(self, name: str) -> Span:
        """An object of least, greatest and mean."""
        inner = self.object(name)
        least, greatest = (int(inner.bounded(part, inner.get(part, int))) for part in ("least", "greatest"))
        return least, greatest, inner.number("mean")

    def read(self, kind: type[Kind], **given: Any) -> Kind:
        """A record whose fields are given, or read by their names as their types say, or have a default."""
        wanted = [field for field in dataclasses.fields(kind) if field.name not in given]
        wanted = [field for field in wanted if field.default is dataclasses.MISSING]
        return kind(**given, **{field.name: READ[field.type](self, field.name) for field in wanted})


READ: dict[Any, Callable[[Fields, str], Any]] = {
    "str": lambda fields, name: fields.get(name, str),
    "bool": lambda fields, name: fields.get(name, bool),
    "int": Fields.count,
    "float": Fields.number,
    "Seconds": lambda fields, name: fields.number(name, 0),
    "str | None": lambda fields, name: fields.maybe(name, lambda name: fields.get(name, str)),
    "int | None": lambda fields, name: fields.maybe(name, fields.count),
    "Bins": Fields.bins,
    "Counts": Fields.counts,
    "Span": Fields.span,
}


def shown(value: Any) -> str:
    """A value in a message, cut where it's long."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a very large number"
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass(frozen=True)
class Cost:
    """What computing a result cost, whenever that was."""

    ended_at: int
    wall_s: Seconds
    cpu_s: Seconds


@dataclass(frozen=True)
class Input:
    """A file that was read."""

    path: str
    sha256: str
    role: str


@dataclass(frozen=True)
class Output:
    """A file that is in place."""

    path: str
    sha256: str
    bytes: int


@dataclass(frozen=True)
class Step:
    """What all receipts say."""

    name: str
    job: str
    build: str
    key: str | None
    stored: bool
    cached: bool
    cost: Cost | None
    took_s: Seconds
    inputs: list[Input]
    outputs: list[Output]

    @classmethod
    def read(cls, name: str, fields: Fields) -> Step:
        """The part that all receipts have. Times that no calendar holds are refused here."""
        if fields.get("format", str) != FORMAT or fields.count("version") != VERSION:
            raise Unusable(f"it is not a {FORMAT} of version {VERSION}")
        inputs = [file.read(Input) for file in fields.objects("inputs")]
        outputs = [file.read(Output) for file in fields.objects("outputs")]
        cost = fields.maybe("cost", lambda name: fields.object(name).read(Cost))
        if cost and cost.ended_at >= YEAR_10000:
            raise Unusable("cost.ended_at lies past the year 9999")
        return fields.read(cls, name=name, cost=cost, inputs=inputs, outputs=outputs)

    @property
    def state(self) -> str:
        """How the result came about."""
        return "found" if self.cached else "computed" if self.stored else "not stored"

    @property
    def ended_at(self) -> int:
        """When the result was computed; 0 where that isn't known."""
        return self.cost.ended_at if self.cost else 0

    def input(self, role: str) -> list[Input]:
        return [file for file in self.inputs if file.role == role]

    def output(self, path: str | None) -> Output | None:
        return next((file for file in self.outputs if file.path == path), None)


def receipt_files(folder: Path) -> list[tuple[str, Path]]:
    """JSON files below a folder, by name; hidden ones are not receipts."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(at, name) for name in files if name.endswith(".json") and not name.startswith(".")]
    by_name = [(path.relative_to(folder).with_suffix("").as_posix(), path) for path in found]
    return sorted(by_name, key=lambda item: (natural(item[0]), item[0]))


def read_json(path: Path) -> Any:
    """A JSON document of finite numbers."""

    def refuse(constant: str) -> None:
        raise Unusable(f"it holds {constant}, which is not JSON")

    try:
        return json.loads(path.read_bytes(), parse_constant=refuse)
    except Unusable:
        raise
    except OSError as error:
        raise Unusable(f"it cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise Unusable(f"it is not JSON: {error}") from error
