#!/usr/bin/env python3
"""Turns the receipts of a workflow run into one HTML page with plots; needs nothing but Python.

  report.py RESULTS_DIR -o report.html [--title NAME]

Receipts are the JSON files below RESULTS_DIR/receipts, or below RESULTS_DIR where it has no such folder. What
they say is all that the page says, and the same receipts give the same page. A receipt that cannot be used is
named on stderr and in the page. Exit code 0; 2 where the page cannot be written, 3 where no receipt is
usable, 5 where there is no such folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any

import svg
from svg import Markup, element, join, number, percent, seconds, size

FORMAT, VERSION = "foldline receipt", 1
MOST = 2**64
PLOTTED = 32
OPEN_ROWS = 24
OPEN_SETS = 4
BAND = 0.15
WARN_ABOVE = 1 + 3 * BAND

JOBS = (
    "stream-write teacher",
    "stream-write selfplay",
    "stream-write check",
    "stream-write repair",
    "stream-write stats",
    "fold-pack partition",
    "fold-pack fold",
    "fold-pack pack",
    "fold-pack verify",
    "fold-pack stats",
    "catalog-sync sync",
)


# Receipts


class Unusable(ValueError):
    """Why a receipt cannot be used."""


class Fields:
    """A JSON object, read by name. What is missing, or of another kind, makes its receipt unusable."""

    def __init__(self, value: Any, path: str = "") -> None:
        if not isinstance(value, dict):
            raise Unusable(f"{path or 'the whole'} is not an object")
        self.value, self.path = value, path

    def at(self, name: str) -> str:
        """The field's path, for messages."""
        return f"{self.path}.{name}" if self.path else name

    def get(self, name: str, *kinds: type) -> Any:
        """A value of one of these kinds. A Boolean is no number."""
        if name not in self.value:
            raise Unusable(f"{self.at(name)} is missing")
        value = self.value[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise Unusable(f"{self.at(name)} is {shown(value)}, which is of the wrong kind")
        return value

    def text(self, name: str) -> str:
        """A string."""
        return self.get(name, str)

    def flag(self, name: str) -> bool:
        """A Boolean."""
        return self.get(name, bool)

    def count(self, name: str) -> int:
        """A whole number that isn't negative."""
        return self.bounded(name, self.get(name, int), 0)

    def number(self, name: str, least: float = -MOST) -> float:
        """A number."""
        return float(self.bounded(name, self.get(name, int, float), least))

    def bounded(self, name: str, value: float, least: float) -> Any:
        """The number, where it's one that a receipt can hold."""
        if not (least <= value < MOST):
            raise Unusable(f"{self.at(name)} is {shown(value)}, which is out of range")
        return value

    def maybe(self, name: str, read: Callable[[str], Any]) -> Any:
        """What `read` finds, or None where the field is null or absent."""
        return None if self.value.get(name) is None else read(name)

    def object(self, name: str) -> Fields:
        """An object."""
        return Fields(self.get(name, dict), self.at(name))

    def objects(self, name: str) -> list[Fields]:
        """An array of objects."""
        return [Fields(item, f"{self.at(name)}[{i}]") for i, item in enumerate(self.get(name, list))]

    def counts(self, name: str) -> list[int]:
        """An array of counts."""
        items = self.get(name, list)
        indexed = Fields({f"[{i}]": item for i, item in enumerate(items)}, self.at(name))
        return [indexed.count(f"[{i}]") for i in range(len(items))]

    def count_map(self, name: str) -> dict[str, int]:
        """An object of counts."""
        fields = self.object(name)
        return {key: fields.count(key) for key in sorted(fields.value)}


def shown(value: Any) -> str:
    """A value in a message, cut where it's long."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a very large number"
    return text if len(text) <= 40 else text[:39] + "…"


@dataclass(frozen=True)
class Cost:
    """What computing a result cost, whenever that was."""

    ended_at: int
    wall_s: float
    cpu_s: float


@dataclass(frozen=True)
class File:
    """An input or an output; inputs have roles, outputs have bytes."""

    path: str
    sha256: str
    bytes: int | None = None
    role: str | None = None


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
    took_s: float
    inputs: tuple[File, ...]
    outputs: tuple[File, ...]

    @property
    def state(self) -> str:
        """How the result came about."""
        return "found" if self.cached else "computed" if self.stored else "not stored"

    @property
    def order(self) -> tuple[Any, ...]:
        """Steps in the order of a workflow."""
        return (JOBS.index(self.job) if self.job in JOBS else len(JOBS), self.job, natural(self.name))


@dataclass(frozen=True)
class Made:
    """A stream that `stream-write teacher` or `selfplay` wrote."""

    step: Step
    path: str
    unit: str
    read: int
    unfinished: int | None
    records: int
    candidates: int
    refused: int
    reasons: dict[str, int]
    header: tuple[tuple[str, str], ...]
    file: File | None


@dataclass(frozen=True)
class Held:
    """What `stream-write stats` found in a stream."""

    step: Step
    path: str
    sha256: str | None
    bytes: int
    records: int
    outcomes: tuple[int, int, int]
    black: int
    mates: int
    ply: tuple[int, int, float]
    candidates: tuple[int, int, float]
    cp: tuple[int, int, float] | None
    visits: tuple[int, int, float] | None
    header: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Shard:
    """A file of a set."""

    file: str
    rows: int
    records: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Folded:
    """A set that `fold-pack` wrote, or ranges of one."""

    step: Step
    prefix: str
    whole: bool
    sha256: str | None
    conventions: tuple[tuple[str, str], ...]
    mate_scale: int
    shards: tuple[Shard, ...]

    @property
    def totals(self) -> tuple[int, int, int]:
        """Records, rows and bytes."""
        shards = self.shards
        return sum(s.records for s in shards), sum(s.rows for s in shards), sum(s.bytes for s in shards)


@dataclass(frozen=True)
class Counted:
    """What `fold-pack stats` found in a set."""

    step: Step
    records: int
    rows: int
    shards: int
    greatest_weight: int
    black: int
    mates: int
    ply: tuple[int, int, float]
    candidates: tuple[int, int, float]
    value_z: float
    value_q: float
    ratios: tuple[float | None, ...]
    ply_by_10: tuple[int, ...]
    by_candidates: tuple[int, ...]
    by_weight: tuple[int, ...]


@dataclass(frozen=True)
class Synced:
    """What `catalog-sync sync` said."""

    step: Step
    counts: tuple[tuple[str, int], ...]
    left_out: tuple[tuple[str, str], ...]


RATIOS = (
    ("ply", "ply"),
    ("side_to_move", "side to move"),
    ("weight_to_4", "weight, at most 4"),
    ("value_q", "value_q"),
)
STATED = ("mate_scale", "mate_slack", "eval_coef", "fv_scale")
SYNC_COUNTS = ("added", "updated", "unchanged", "missing")


def read_step(name: str, fields: Fields) -> Step:
    """The part that all receipts have."""
    if fields.get("format", str) != FORMAT or fields.count("version") != VERSION:
        raise Unusable(f"it is not a {FORMAT} of version {VERSION}")
    cost = fields.maybe("cost", fields.object)
    return Step(
        name=name,
        job=fields.text("job"),
        build=fields.text("build"),
        key=fields.maybe("key", fields.text),
        stored=fields.flag("stored"),
        cached=fields.flag("cached"),
        cost=cost and read_cost(cost),
        took_s=fields.number("took_s", 0),
        inputs=tuple(
            File(f.text("path"), f.text("sha256"), role=f.text("role")) for f in fields.objects("inputs")
        ),
        outputs=tuple(
            File(f.text("path"), f.text("sha256"), f.count("bytes")) for f in fields.objects("outputs")
        ),
    )


def read_cost(fields: Fields) -> Cost:
    """A computation's cost. Times that no calendar holds are refused here."""
    ended_at = fields.count("ended_at")
    if ended_at >= 253402300800:
        raise Unusable("cost.ended_at lies past the year 9999")
    return Cost(ended_at, fields.number("wall_s", 0), fields.number("cpu_s", 0))


def span(fields: Fields, name: str) -> tuple[int, int, float]:
    """Least, greatest and mean."""
    inner = fields.object(name)
    whole = [int(inner.bounded(part, inner.get(part, int), -MOST)) for part in ("least", "greatest")]
    return whole[0], whole[1], inner.number("mean")


def span_of_some(fields: Fields, name: str) -> tuple[int, int, float] | None:
    """A span, where it's one of anything."""
    return span(fields, name) if fields.object(name).count("count") else None


def plain(value: float | None) -> str:
    """A stated number, or a dash."""
    return "–" if value is None else number(value) if value == int(value) else f"{value:,}"


def stream_header(fields: Fields) -> tuple[tuple[str, str], ...]:
    """A stream's conventions, in the words of the format's page."""
    pov, policy = fields.text("pov"), fields.text("policy_source")
    given = [(name, fields.maybe(name, fields.number)) for name in STATED]
    return (
        ("view", {"mover": "side to move", "black": "Black"}.get(pov, pov)),
        ("policy", {"cp": "scores", "visits": "visits"}.get(policy, policy)),
        *((name, plain(value)) for name, value in given),
        ("packed_len", number(fields.count("packed_len"))),
    )


def set_conventions(fields: Fields) -> tuple[tuple[str, str], ...]:
    """A set's conventions. There 0 is none, but for a slack beside a mate scale."""
    pov, policy = fields.count("pov"), fields.count("policy_source")
    given = {name: fields.number(name) or None for name in (*STATED, "temperature")}
    if given["mate_scale"]:
        given["mate_slack"] = fields.number("mate_slack")
    return (
        ("view", {0: "side to move", 1: "Black"}.get(pov, str(pov))),
        ("policy", {0: "visits", 1: "scores"}.get(policy, str(policy))),
        *((name, plain(value)) for name, value in given.items()),
        *((name, number(fields.count(name))) for name in ("packed_len", "shuffle_seed")),
    )


def read_made(step: Step, report: Fields) -> Made:
    """The report of `stream-write teacher` or `selfplay`."""
    unit = "games" if step.job.endswith("selfplay") else "rows"
    path = report.text("output")
    return Made(
        step=step,
        path=path,
        unit=unit,
        read=report.count(unit),
        unfinished=report.maybe("unfinished", report.count),
        records=report.count("records"),
        candidates=report.count("candidates"),
        refused=report.count("refused"),
        reasons=report.count_map("refused_by_reason"),
        header=stream_header(report.object("header")),
        file=next((output for output in step.outputs if output.path == path), None),
    )


def read_held(step: Step, report: Fields) -> list[Held]:
    """The report of `stream-write stats`, a stream each."""
    files, inputs = report.objects("files"), [file for file in step.inputs if file.role == "stream"]
    known = [file.sha256 for file in inputs] if len(inputs) == len(files) else [None] * len(files)
    return [read_one_held(step, fields, sha256) for fields, sha256 in zip(files, known)]


def read_one_held(step: Step, fields: Fields, sha256: str | None) -> Held:
    """What was counted in one stream."""
    return Held(
        step=step,
        path=fields.text("file"),
        sha256=sha256,
        bytes=fields.count("bytes"),
        records=fields.count("records"),
        outcomes=(fields.count("won"), fields.count("drawn"), fields.count("lost")),
        black=fields.count("black_to_move"),
        mates=fields.count("mates"),
        ply=span(fields, "ply"),
        candidates=span(fields, "candidates"),
        cp=span_of_some(fields, "cp"),
        visits=span_of_some(fields, "visits"),
        header=stream_header(fields.object("header")),
    )


def read_folded(step: Step, report: Fields) -> Folded:
    """The report of `fold-pack fold` or `pack`, whose totals must be those of its shards."""
    names = ("rows", "records", "bytes")
    shards = tuple(
        Shard(f.text("file"), *map(f.count, names), f.text("sha256")) for f in report.objects("shards")
    )
    made = report.maybe("set", report.text)
    conventions = report.object("conventions")
    folded = Folded(
        step=step,
        prefix=report.text("prefix"),
        whole=made is not None,
        sha256=next((output.sha256 for output in step.outputs if output.path == made), None),
        conventions=set_conventions(conventions),
        mate_scale=conventions.count("mate_scale"),
        shards=shards,
    )
    records, rows, total = folded.totals
    for name, found in (
        ("records", records),
        ("rows", rows),
        ("bytes", total),
        ("duplicates", records - rows),
    ):
        if report.count(name) != found:
            raise Unusable(f"report.{name} is {report.count(name)} where its shards make {found}")
    return folded


def read_counted(step: Step, report: Fields) -> Counted:
    """The report of `fold-pack stats`, whose histograms must hold every row once."""
    drawn, ratios = report.object("histograms"), report.object("block_ratios")
    counted = Counted(
        step=step,
        records=report.count("records"),
        rows=report.count("rows"),
        shards=report.count("shards"),
        greatest_weight=report.count("greatest_weight"),
        black=report.count("black_to_move"),
        mates=report.count("mates"),
        ply=span(report, "ply"),
        candidates=span(report, "candidates"),
        value_z=report.number("value_z_mean"),
        value_q=report.number("value_q_mean"),
        ratios=tuple(ratios.maybe(name, lambda n: ratios.number(n, 0)) for name, _ in RATIOS),
        ply_by_10=tuple(drawn.counts("ply_by_10")),
        by_candidates=tuple(drawn.counts("candidates")),
        by_weight=tuple(drawn.counts("weight_log2")),
    )
    if len(counted.by_weight) > 64:
        raise Unusable("report.histograms.weight_log2 has more bins than a weight has bits")
    for name in ("ply_by_10", "candidates", "weight_log2"):
        if sum(drawn.counts(name)) != counted.rows:
            raise Unusable(f"report.histograms.{name} holds {sum(drawn.counts(name))} rows of {counted.rows}")
    return counted


def read_synced(step: Step, report: Fields) -> Synced:
    """The report of `catalog-sync sync`."""
    left_out = tuple((item.text("path"), item.text("error")) for item in report.objects("left_out"))
    return Synced(step, tuple((name, report.count(name)) for name in SYNC_COUNTS), left_out)


# The run


@dataclass
class Stream:
    """A stream: how it was written, what it holds, or both."""

    path: str
    made: Made | None = None
    held: Held | None = None
    name: str = ""

    @property
    def records(self) -> int:
        """Records in it."""
        return self.held.records if self.held else self.made.records if self.made else 0

    @property
    def bytes(self) -> int | None:
        """Its size, where a receipt tells."""
        return (
            self.held.bytes if self.held else self.made.file.bytes if self.made and self.made.file else None
        )

    @property
    def header(self) -> tuple[tuple[str, str], ...]:
        """Its conventions."""
        return self.held.header if self.held else self.made.header if self.made else ()


@dataclass
class DataSet:
    """A set: how it was folded, what it holds, or both."""

    path: str
    folded: Folded | None = None
    counted: Counted | None = None
    name: str = ""
    adds: bool = True

    @property
    def totals(self) -> tuple[int, int]:
        """Records and rows."""
        if self.folded:
            return self.folded.totals[:2]
        return (self.counted.records, self.counted.rows) if self.counted else (0, 0)

    @property
    def bytes(self) -> int | None:
        """Bytes of its shards, where a receipt tells."""
        return self.folded.totals[2] if self.folded else None

    @property
    def shards(self) -> int:
        """Number of its shards."""
        return len(self.folded.shards) if self.folded else self.counted.shards if self.counted else 0

    @property
    def has_ratios(self) -> bool:
        """Whether its order of rows was looked at, and could be."""
        return self.counted is not None and any(ratio is not None for ratio in self.counted.ratios)


@dataclass
class Run:
    """All that the receipts say."""

    steps: list[Step]
    streams: list[Stream]
    sets: list[DataSet]
    synced: list[Synced]
    refused: list[tuple[str, str]]


def natural(text: str) -> tuple[tuple[int, int, str], ...]:
    """A key that puts 2 before 10."""
    parts = re.split(r"([0-9]{1,15})", text)
    return tuple(
        (1, 0, part) if index % 2 == 0 else (0, int(part), "") for index, part in enumerate(parts) if part
    )


def receipt_files(folder: Path) -> list[tuple[str, Path]]:
    """JSON files below a folder, by name; hidden ones are not receipts."""
    found = []
    for at, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(at, name) for name in files if name.endswith(".json") and not name.startswith(".")]
    named = [(path.relative_to(folder).with_suffix("").as_posix(), path) for path in found]
    return sorted(named, key=lambda item: (natural(item[0]), item[0]))


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


READERS: dict[str, Callable[[Step, Fields], Any]] = {
    "stream-write teacher": read_made,
    "stream-write selfplay": read_made,
    "stream-write stats": read_held,
    "fold-pack fold": read_folded,
    "fold-pack pack": read_folded,
    "fold-pack stats": read_counted,
    "catalog-sync sync": read_synced,
}


def read_run(folder: Path) -> Run:
    """All receipts below a folder, brought together."""
    steps, reports, refused = [], [], []
    for name, path in receipt_files(folder):
        try:
            fields = Fields(read_json(path))
            step = read_step(name, fields)
            read = READERS.get(step.job)
            reports.append(read(step, fields.object("report")) if read else None)
            steps.append(step)
        except Unusable as error:
            refused.append((f"{name}.json", str(error)))
    flat = [item for report in reports for item in (report if isinstance(report, list) else [report])]
    made, held, folded, counted, synced = (
        of_kind(flat, kind) for kind in (Made, Held, Folded, Counted, Synced)
    )
    streams, sets = bring_streams_together(made, held), bring_sets_together(folded, counted, refused)
    out = {name for name, _ in refused}
    used = sorted((step for step in steps if f"{step.name}.json" not in out), key=lambda step: step.order)
    return Run(used, streams, sets, synced, sorted(refused, key=lambda item: natural(item[0])))


def of_kind(items: list[Any], kind: type) -> list[Any]:
    """Reports of one kind, in the order of their steps."""
    return sorted((item for item in items if isinstance(item, kind)), key=lambda item: item.step.order)


def same_file(one: str, other: str) -> bool:
    """Whether two paths may name one file, when each may start anywhere."""
    one, other = one.removeprefix("./"), other.removeprefix("./")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def bring_streams_together(made: list[Made], held: list[Held]) -> list[Stream]:
    """Streams, each with what was counted in it: same bytes, or same file where no digest is known."""
    streams = [Stream(item.path, made=item) for item in made]
    for item in held:
        fits = [s for s in streams if s.made and not s.held and same_file(s.path, item.path)]
        fits = [s for s in fits if not s.made.file or not item.sha256 or s.made.file.sha256 == item.sha256]
        if fits:
            fits[0].held = item
        else:
            streams.append(Stream(item.path, held=item))
    return named(streams, ".mpk1")


def bring_sets_together(
    folded: list[Folded], counted: list[Counted], refused: list[tuple[str, str]]
) -> list[DataSet]:
    """Sets, each with what was counted in it."""
    prefixes = list(dict.fromkeys(item.prefix for item in folded))
    sets = [DataSet(prefix, whole_set([f for f in folded if f.prefix == prefix])) for prefix in prefixes]
    for item in counted:
        try:
            place_counted(sets, item)
        except Unusable as error:
            refused.append((f"{item.step.name}.json", str(error)))
    return named(sets, ".set.json", ".parquet")


def whole_set(ranges: list[Folded]) -> Folded:
    """A set of its ranges: the newest receipt that names all shards, else the shards that are known."""
    whole = [item for item in ranges if item.whole]
    if whole:
        return max(whole, key=lambda item: (item.step.cost.ended_at if item.step.cost else 0))
    shards = {shard.file: shard for item in ranges for shard in item.shards}
    return replace(ranges[0], shards=tuple(shards[file] for file in sorted(shards, key=natural)))


def place_counted(sets: list[DataSet], item: Counted) -> None:
    """Puts what was counted to its set, or beside the sets where none was folded."""
    given = [file for file in item.step.inputs if file.role == "set"]
    shards = {file.sha256 for file in item.step.inputs if file.role == "shard"}
    for one in sets:
        own = {shard.sha256 for shard in one.folded.shards} if one.folded else set()
        by_path = len(given) == 1 and same_file(one.path + ".set.json", given[0].path)
        if one.folded and not one.counted and shards == own and (by_path or not given):
            if (item.records, item.rows) != one.totals:
                raise Unusable(
                    f"it counts {item.rows} rows of {item.records} records; set {one.path} has others"
                )
            one.counted = item
            return
        if one.folded and by_path and shards != own:
            raise Unusable(f"it counts other shards of set {one.path} than those that were folded")
    known = {shard.sha256 for one in sets if one.folded for shard in one.folded.shards}
    path = " + ".join(file.path for file in given) or item.step.name
    sets.append(DataSet(path, counted=item, adds=not shards & known))


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


# Pieces of the page

DIGEST = re.compile(r"[0-9a-f]{64}")


def digest(sha256: str | None) -> Markup | str:
    """A digest cut short; the whole is in its tooltip."""
    if sha256 is None:
        return "–"
    return element("code", sha256[:10] if DIGEST.fullmatch(sha256) else sha256, title=sha256)


def bytes_cell(count: int | None) -> Markup | str:
    """Bytes with a binary prefix; the exact number is in the tooltip."""
    return "–" if count is None else element("span", size(count), title=f"{number(count)} bytes")


def name_cell(name: str, path: str | None = None) -> Markup:
    """What a row is about; the path is in the tooltip."""
    return element("b", name, title=path)


def mean(value: float) -> str:
    """A mean between −1 and 1, with its sign."""
    return f"{value:+.4f}".replace("-", "−")


def plural(count: int, one: str) -> str:
    """A count with its noun."""
    return f"{number(count)} {one if count == 1 else one + 's'}"


def verb(count: int, one: str, many: str) -> str:
    """The form of a verb for a count."""
    return one if count == 1 else many


def between(values: tuple[int, int, float] | None) -> str:
    """Least, greatest and mean; or the one value, where all are alike."""
    if values is None:
        return "–"
    least, greatest, average = values
    text = (
        number(least) if least == greatest else f"{number(least)} to {number(greatest)}, mean {average:,.2f}"
    )
    return text.replace("-", "−")


def dash(count: int) -> str:
    """A count, with a dash for nothing."""
    return number(count) if count else "–"


def table(columns: str, rows: Sequence[Sequence[object]], what: str) -> Markup:
    """A table; a column whose name starts with # holds numbers. A long one is folded up under its name."""
    names = columns.split(" | ")
    kinds = ["n" if name.startswith("#") else None for name in names]
    heads = (element("th", name.lstrip("#"), cls=kind, scope="col") for name, kind in zip(names, kinds))
    body = [element("tr", *(element("td", cell, cls=kind) for cell, kind in zip(row, kinds))) for row in rows]
    parts = (
        element("caption", what, cls="unseen"),
        element("thead", element("tr", *heads)),
        element("tbody", *body),
    )
    whole = element("div", element("table", *parts), cls="wide")
    return whole if len(rows) <= OPEN_ROWS else folded_up(f"{what}: all {number(len(rows))}", whole)


def folded_up(summary: str, *content: object) -> Markup:
    """Content that opens when it's asked for."""
    return element("details", element("summary", summary), *content, cls="more")


def figure(head: str, about: str, plot: Markup) -> Markup:
    """A plot under its heading."""
    return element("figure", element("figcaption", element("b", head), " ", element("span", about)), plot)


def note(text: str) -> Markup:
    """A paragraph of explanation."""
    return element("p", text, cls="note")


def section(anchor: str, head: str, lead: str, *content: object) -> Markup:
    """A part of the page."""
    return element("section", element("h2", head), element("p", lead, cls="lead"), *content, id=anchor)


def cut(items: Sequence[Any], by: Callable[[Any], float], which: str, what: str) -> tuple[list[Any], str]:
    """The items that a plot has room for, in their order, and a note where there are more."""
    if len(items) <= PLOTTED:
        return list(items), ""
    kept = sorted(range(len(items)), key=lambda index: -by(items[index]))[:PLOTTED]
    return [
        items[index] for index in sorted(kept)
    ], f" The {PLOTTED} {which} of {number(len(items))} {what} are drawn."


# Head


def head(run: Run, title: str) -> Markup:
    """Name, date and key figures."""
    dates = [step.cost.ended_at for step in run.steps if step.cost]
    about = f"{plural(len(run.steps), 'receipt')}, newest result {date(max(dates)) if dates else 'not dated'}"
    if run.refused:
        about += f"; {plural(len(run.refused), 'receipt')} could not be used"
    links = [element("a", name, href=f"#{anchor}") for anchor, name, _ in sections(run)]
    return element(
        "header",
        element("p", MARK, "Foldline", cls="brand"),
        element("h1", title),
        element("p", about, cls="about"),
        element("nav", *links, aria_label="Sections"),
        element("dl", *key_figures(run), cls="keys"),
    )


def date(at: int) -> str:
    """Seconds since 1970 as a date."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def key_figure(name: str, label: str, text: str, value: int, below: str) -> Markup:
    """A figure of the row at the top. Its exact value is in the markup too, for programs."""
    shown = element("data", text, value=value, title=number(value), id=f"figure-{name}")
    return element("div", element("dt", label), element("dd", shown), element("dd", below, cls="below"))


def key_figures(run: Run) -> list[Markup]:
    """The row at the top."""
    figures = set_figures(run) if run.sets else stream_figures(run) if run.streams else []
    hits = sum(step.cached for step in run.steps)
    found = f"{number(hits)} of {number(len(run.steps))}"
    return [*figures, key_figure("hits", "Found in the store", found, hits, "steps of this run")]


def roomy(count: int) -> str:
    """A count for the row at the top: exact where there is room."""
    return number(count) if count < 10**10 else svg.compact(float(f"{count:.4g}"))


def set_figures(run: Run) -> list[Markup]:
    """Key figures of sets."""
    sets = [one for one in run.sets if one.adds]
    records, rows = (sum(one.totals[i] for one in sets) for i in (0, 1))
    away, sizes = records - rows, [one.bytes for one in sets if one.bytes is not None]
    shards = plural(sum(one.shards for one in sets), "shard")
    figures = [
        key_figure("records", "Records", roomy(records), records, "went into the sets"),
        key_figure("rows", "Rows", roomy(rows), rows, "one a position"),
        key_figure("duplicates", "Folded away", percent(away, records), away, plural(away, "duplicate")),
    ]
    if sizes:
        total = sum(sizes)
        figures.append(key_figure("bytes", "Size of the sets", size(total), total, f"{number(total)} bytes"))
    return [*figures, key_figure("datasets", "Datasets", number(len(sets)), len(sets), f"in {shards}")]


def stream_figures(run: Run) -> list[Markup]:
    """Key figures where there are no sets yet."""
    records, total = sum(s.records for s in run.streams), sum(s.bytes or 0 for s in run.streams)
    return [
        key_figure("records", "Records", roomy(records), records, "in the streams"),
        key_figure("bytes", "Size of the streams", size(total), total, f"{number(total)} bytes"),
        key_figure("streams", "Streams", number(len(run.streams)), len(run.streams), "of MPK1"),
    ]


# Streams

OUTCOMES = (svg.Part("won", "f1"), svg.Part("drawn", "f0"), svg.Part("lost", "f2"))


def streams_section(run: Run) -> Markup:
    """Streams: how they were written, and what they hold."""
    streams = run.streams
    made, held = [s for s in streams if s.made], [s for s in streams if s.held]
    parts = [written_table(made)] if made else []
    parts += [outcome_plot(held), held_table(held)] if held else []
    return section("streams", "Streams", streams_lead(streams), *parts, conventions_table(streams))


def streams_lead(streams: list[Stream]) -> str:
    """Streams in a sentence or two."""
    records, sizes = sum(s.records for s in streams), [s.bytes for s in streams if s.bytes is not None]
    holds = (
        f"{plural(len(streams), 'stream')} {verb(len(streams), 'holds', 'hold')} {plural(records, 'record')}"
    )
    lead = holds + (f" in {size(sum(sizes))}." if sizes else ".")
    for unit in ("row", "game"):
        made = [s.made for s in streams if s.made and s.made.unit == unit + "s"]
        refused = sum(item.refused for item in made)
        if refused:
            read = plural(sum(item.read for item in made), unit)
            lead += f" Of {read}, {number(refused)} {verb(refused, 'was', 'were')} refused."
    if all(s.made and not s.made.refused for s in streams):
        lead += " Nothing was refused."
    return lead


def written_table(streams: list[Stream]) -> Markup:
    """How each stream was written."""
    columns = "stream | from | #read | refused | #records | #candidates | #a record | #size | SHA-256"
    return table(columns, [written_row(s, s.made) for s in streams if s.made], "Streams as they were written")


def written_row(stream: Stream, made: Made) -> list[object]:
    """A stream's row."""
    origin: object = "–"
    if made.step.inputs:
        source = made.step.inputs[0]
        about = f"{source.path}, SHA-256 {source.sha256}"
        origin = element("span", PurePosixPath(source.path).name or source.path, title=about)
    read = plural(made.read, made.unit[:-1]) + (
        f", {number(made.unfinished)} unfinished" if made.unfinished else ""
    )
    reasons = ", ".join(f"{number(count)} {name}" for name, count in made.reasons.items())
    refused = f"{number(made.refused)}: {reasons}" if reasons else dash(made.refused)
    each = f"{made.candidates / made.records:,.2f}" if made.records else "–"
    counts = number(made.records), number(made.candidates), each
    file = bytes_cell(stream.bytes), digest(made.file.sha256 if made.file else None)
    return [name_cell(stream.name, stream.path), origin, read, refused, *counts, *file]


def outcome_plot(streams: list[Stream]) -> Markup:
    """How the games ended, for the side to move."""
    shown, more = cut(streams, lambda s: s.records, "largest", "streams")
    rows = [(s.name, s.held.outcomes) for s in shown if s.held]
    kinds = ", ".join(part.name for part in OUTCOMES)
    desc = "; ".join(f"{name}: {', '.join(map(number, counts))}" for name, counts in rows)
    plot = svg.stacked("outcomes", f"Records {kinds}", desc, OUTCOMES, rows, shares=True)
    about = f"records by how the game ended for the side to move; their number is on the right.{more}"
    return figure("Outcomes", about, plot)


def held_table(streams: list[Stream]) -> Markup:
    """What each stream holds."""
    columns = "stream | #won | #drawn | #lost | #Black to move | #mates | ply | candidates | cp or visits"
    return table(columns, [held_row(s, s.held) for s in streams if s.held], "What the streams hold")


def held_row(stream: Stream, held: Held) -> list[object]:
    """A stream's row."""
    if not held.records:
        return [name_cell(stream.name, stream.path), *["–"] * 8]
    scaled = dict(held.header)["mate_scale"] != "–"
    mates = element("span", number(held.mates), title=percent(held.mates, held.records)) if scaled else "–"
    values = [f"cp {between(held.cp)}"] if held.cp else []
    values += [f"visits {between(held.visits)}"] if held.visits else []
    counts = *map(number, held.outcomes), percent(held.black, held.records), mates
    spans = between(held.ply), between(held.candidates), "; ".join(values) or "–"
    return [name_cell(stream.name, stream.path), *counts, *spans]


def conventions_table(streams: list[Stream]) -> Markup:
    """Conventions, and the streams that follow them."""
    by: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for stream in streams:
        by.setdefault(stream.header, []).append(stream.name)
    rows = [[names_cell(names), *(value for _, value in header)] for header, names in by.items()]
    fields = "#mate scale | #mate slack | #eval_coef | #FV_SCALE | #packed bytes"
    whole = table(
        f"conventions of | point of view | policy from | {fields}", rows, "Conventions of the streams"
    )
    told = (
        "A dash is what a stream does not state. Streams of different conventions are never folded together."
    )
    return join([whole, note(told)])


def names_cell(names: list[str]) -> Markup:
    """A few names, or their number with all of them behind it."""
    text = ", ".join(names)
    return name_cell(text) if len(names) <= 6 else folded_up(plural(len(names), "stream"), text)


# Sets

KEPT = (svg.Part("rows", "f1"), svg.Part("duplicates", "f2"))


def sets_section(run: Run) -> Markup:
    """Sets: what was folded away, and what each holds."""
    sets, adding = run.sets, [one for one in run.sets if one.adds]
    records, rows = (sum(one.totals[i] for one in adding) for i in (0, 1))
    lead = f"{plural(records, 'record')} became {plural(rows, 'row')} in {plural(len(adding), 'dataset')}. "
    if records > rows:
        lead += f"{plural(records - rows, 'duplicate')}, {percent(records - rows, records)} of the records, "
        lead += f"{verb(records - rows, 'is', 'are')} in the weights of the rows."
    else:
        lead += "There were no duplicates."
    many = len(sets) > OPEN_SETS
    cards = [set_card(f"set-{index}", one, not many) for index, one in enumerate(sets)]
    if len(cards) > OPEN_ROWS:
        cards = [folded_up(f"Plots and shards: all {number(len(cards))} sets", *cards)]
    return section("sets", "Sets", lead, fold_plot(sets), sets_table(sets) if many else "", *cards)


def fold_plot(sets: list[DataSet]) -> Markup:
    """What became of the records."""
    shown, more = cut(sets, lambda one: one.totals[0], "largest", "sets")
    rows = [(one.name, (one.totals[1], one.totals[0] - one.totals[1])) for one in shown]
    desc = "; ".join(f"{name}: {number(kept)} and {number(away)}" for name, (kept, away) in rows)
    plot = svg.stacked("folds", "Rows and duplicates", desc, KEPT, rows)
    about = f"rows that are left, and duplicates that were folded into them; their sum is on the right.{more}"
    return figure("Records to rows", about, plot)


def sets_table(sets: list[DataSet]) -> Markup:
    """All sets, a row each."""
    rows = []
    for one in sets:
        records, kept = one.totals
        counts = *map(number, (records, kept, records - kept)), percent(records - kept, records)
        rows.append([name_cell(one.name, one.path), *counts, number(one.shards), bytes_cell(one.bytes)])
    return table("set | #records | #rows | #duplicates | #folded away | #shards | #size", rows, "Sets")


def set_card(name: str, one: DataSet, opened: bool) -> Markup:
    """All about one set."""
    records, rows = one.totals
    about = f"{plural(records, 'record')} → {plural(rows, 'row')}"
    about += f", {percent(records - rows, records)} folded away" if records else ""
    if one.folded and not one.folded.whole:
        about += ", of some ranges"
    summary = element("summary", element("h3", one.name, title=one.path), element("span", about))
    parts = [set_facts(one)]
    if one.counted and one.counted.rows:
        parts.append(set_plots(name, one.name, one.counted))
    if one.folded:
        parts += [shards_table(one.folded), conventions_line(one.folded.conventions)]
    return element("details", summary, *parts, cls="card", open="open" if opened else None)


def set_facts(one: DataSet) -> Markup:
    """Figures of a set."""
    records, rows = one.totals
    pairs: list[tuple[str, object]] = [("duplicates", number(records - rows))]
    if one.bytes is not None:
        each = f", {one.bytes / rows:,.1f} bytes a row" if rows else ""
        pairs.append(("size", join([bytes_cell(one.bytes), each])))
    if one.counted and rows:
        pairs += counted_facts(one.counted, one.folded)
    return element("dl", *(element("div", element("dt", n), element("dd", v)) for n, v in pairs), cls="facts")


def counted_facts(counted: Counted, folded: Folded | None) -> list[tuple[str, object]]:
    """Figures that were counted."""
    mates = f"{number(counted.mates)} rows, {percent(counted.mates, counted.rows)}"
    return [
        ("mean value_z", mean(counted.value_z)),
        ("mean value_q", mean(counted.value_q)),
        ("led by a mate score", "no mate scale" if folded and not folded.mate_scale else mates),
        ("Black to move", percent(counted.black, counted.rows)),
        ("ply", f"{number(counted.ply[0])} to {number(counted.ply[1])}"),
        ("greatest weight", number(counted.greatest_weight)),
    ]


def set_plots(name: str, of: str, counted: Counted) -> Markup:
    """The three histograms of a set."""
    drawn = []
    kinds = (
        ("ply", "plies", counted.ply_by_10, 10, counted.ply),
        ("candidates", "moves", counted.by_candidates, 1, counted.candidates),
    )
    for kind, unit, counts, wide, values in kinds:
        desc = f"Columns of rows by {kind}, which is {between(values)}."
        plot = svg.histogram(f"{name}-{kind}", f"{of}: rows by {kind}", desc, counts, wide, kind, values[2])
        wide = svg.group(counts, wide)[1]
        about = f"rows by {number(wide)} {unit}" if wide > 1 else f"rows by number of {unit}"
        drawn.append(figure(kind.capitalize(), about, plot))
    bins = weight_bins(counted.by_weight)
    desc = "; ".join(f"weight {label}: {number(count)}" for label, count in bins)
    plot = svg.bars(f"{name}-weight", f"{of}: rows by weight", desc, bins, log=True, least_height=190)
    drawn.append(figure("Weight", "rows by records in them; log scale", plot))
    return element("div", *drawn, cls="three")


def weight_bins(counts: Sequence[int]) -> list[tuple[str, int]]:
    """Bins of powers of two, by name."""
    spans = [(2**index, 2 ** (index + 1) - 1) for index in range(len(counts))]
    labels = [
        number(least) if least == most else f"{number(least)} to {number(most)}" for least, most in spans
    ]
    return list(zip(labels, counts))


def shards_table(folded: Folded) -> Markup:
    """Shards of a set."""
    if not folded.shards:
        return note("No records, so no shards.")
    rows = []
    for shard in folded.shards:
        counts = shard.records, shard.rows, shard.records - shard.rows, shard.bytes
        rows.append([name_cell(shard.file), *map(number, counts), digest(shard.sha256)])
    columns = "shard | #records | #rows | #duplicates | #bytes | SHA-256"
    whole = table(columns, rows, f"Shards of {folded.prefix}")
    some = (
        "" if folded.whole else note("The receipts tell of some ranges. These shards are not the whole set.")
    )
    return join([whole, some])


def conventions_line(conventions: Sequence[tuple[str, str]]) -> Markup:
    """Conventions of a set in a line."""
    pairs = [element("span", WORDS.get(name, name), " ", element("b", value)) for name, value in conventions]
    return element("p", *pairs, cls="conventions")


WORDS = {
    "view": "view",
    "policy": "policy from",
    "mate_scale": "mate scale",
    "mate_slack": "mate slack",
    "fv_scale": "FV_SCALE",
    "packed_len": "packed bytes",
    "shuffle_seed": "seed",
}


# Shuffle


def shuffle_section(run: Run) -> Markup:
    """Whether the order of rows tells anything."""
    rows = [(one.name, one.counted.ratios) for one in run.sets if one.has_ratios and one.counted]
    values = [value for _, ratios in rows for value in ratios if value is not None]
    inside, above = sum(abs(value - 1) <= BAND for value in values), sum(
        value > WARN_ABOVE for value in values
    )
    lies = verb(inside, "lies", "lie")
    lead = f"{number(inside)} of {plural(len(values), 'ratio')} {lies} in the noise band; "
    lead += f"{number(above)} {verb(above, 'is', 'are')} far above 1." if above else "none is far above 1."
    shown, more = cut(
        rows, lambda row: max(abs(v - 1) for v in row[1] if v is not None), "farthest from 1", "sets"
    )
    desc = "; ".join(f"{name}: {', '.join(map(ratio_text, ratios))}" for name, ratios in shown)
    panels, band = [label for _, label in RATIOS], (1 - BAND, 1 + BAND)
    title = f"Block ratios of {', '.join(panels)}"
    plot = svg.dots("ratios", title, desc, panels, shown, band, 1.0, WARN_ABOVE)
    listed = [[name_cell(name), *map(ratio_text, ratios)] for name, ratios in rows]
    columns = " | #".join(["set", *panels])
    parts = figure("Block ratios", f"by set and quantity.{more}", plot), note(SHUFFLE)
    return section("shuffle", "Shuffle", lead, *parts, table(columns, listed, "Block ratios") if more else "")


SHUFFLE = (
    "The rows are cut into 24 blocks. A ratio is the spread of the blocks' means over the spread that "
    "independent rows would show: 1 where rows are shuffled, far above where they are not. The band of ±0.15 "
    "is the noise of 24 blocks. It is one standard deviation, so about one ratio in three lies outside of it "
    f"by chance. A ratio above {WARN_ABOVE:g} is marked."
)


def ratio_text(value: float | None) -> str:
    """A ratio; there is none for too few rows, or where all are alike."""
    return "none" if value is None else f"{value:.3f}"


# Catalog


def catalog_section(run: Run) -> Markup:
    """What the catalog said."""
    total = {name: sum(dict(item.counts)[name] for item in run.synced) for name in SYNC_COUNTS}
    left_out = [entry for item in run.synced for entry in item.left_out]
    said = [f"{number(count)} {name}" for name, count in total.items() if count]
    lead = f"Sets: {', '.join(said)}." if said else "The sync found no sets."
    lead += (
        f" {plural(len(left_out), 'file')} {verb(len(left_out), 'was', 'were')} left out." if left_out else ""
    )
    rows = []
    for item in run.synced:
        counts = *(count for _, count in item.counts), len(item.left_out)
        rows.append([name_cell(item.step.name), *map(number, counts)])
    parts = [table(" | #".join(["sync", *SYNC_COUNTS, "left out"]), rows, "Syncs")]
    if left_out:
        why = [[element("code", path), error] for path, error in left_out]
        parts.append(table("left out | why", why, "Left out of the catalog"))
    return section("catalog", "Catalog", lead, *parts)


# Steps

STATES = {
    "found": ("f3", "found in the store"),
    "computed": ("f1", "computed"),
    "not stored": ("f0", "not stored"),
}


def steps_section(run: Run) -> Markup:
    """Every receipt as a step."""
    steps, hits = run.steps, [step for step in run.steps if step.cached]
    were = verb(len(hits), "was", "were")
    lead = f"{number(len(hits))} of {plural(len(steps), 'step')} {were} found in the store. "
    lead += f"All steps together took {seconds(sum(step.took_s for step in steps))}."
    saved = [note(saving(hits))] if hits else []
    return section("steps", "Steps", lead, *saved, steps_plot(steps), jobs_table(steps), steps_table(steps))


def saving(hits: list[Step]) -> str:
    """What hits spared."""
    wall, cpu = cost_cells(hits)
    took = seconds(sum(step.took_s for step in hits))
    return (
        f"What was found had once cost {wall} of wall and {cpu} of CPU time. This run took {took} to find it."
    )


def steps_plot(steps: list[Step]) -> Markup:
    """Steps as bars."""
    shown, more = cut(steps, lambda s: max(s.took_s, s.cost.wall_s if s.cost else 0.0), "longest", "steps")
    rows = []
    for step in shown:
        wall, cpu = (step.cost.wall_s, step.cost.cpu_s) if step.cost else (None, None)
        rows.append(svg.Timing(step.name, step.took_s, wall, cpu, step.cached, STATES[step.state][0]))
    key = [STATES[state] for state in STATES if any(step.state == state for step in shown)]
    key += [("hollow", "computed earlier, spared now")] if any(step.cached for step in shown) else []
    desc = "; ".join(f"{s.name}: {STATES[s.state][1]}, took {seconds(s.took_s)}" for s in shown)
    about = f"upper bar: this run; lower bar: wall time of the computation; upright mark: its CPU time.{more}"
    return figure("Time", about, svg.timings("times", "Time of the steps", desc, rows, key))


def cost_cells(steps: Sequence[Step]) -> list[str]:
    """Wall and CPU time of the computations, where any is known."""
    known = [step.cost for step in steps if step.cost]
    if not known:
        return ["–", "–"]
    return [seconds(sum(cost.wall_s for cost in known)), seconds(sum(cost.cpu_s for cost in known))]


def jobs_table(steps: list[Step]) -> Markup:
    """Steps summed by job."""
    rows = []
    for job in dict.fromkeys(step.job for step in steps):
        own = [step for step in steps if step.job == job]
        counts = number(len(own)), *(dash(sum(step.state == state for step in own)) for state in STATES)
        builds = join(
            piece for build in sorted({step.build for step in own}) for piece in (digest(build), " ")
        )
        times = *cost_cells(own), seconds(sum(step.took_s for step in own))
        rows.append([name_cell(job), *counts, *times, builds])
    columns = "job | #steps | #found | #computed | #not stored | #wall | #CPU | #this run | build"
    return table(columns, rows, "Jobs")


def steps_table(steps: list[Step]) -> Markup:
    """All steps."""
    rows = []
    for step in steps:
        colour, text = STATES[step.state]
        times = *cost_cells([step]), seconds(step.took_s), date(step.cost.ended_at) if step.cost else "–"
        state = element("span", text, cls=f"state {colour}")
        rows.append([name_cell(step.name), step.job, state, *times, digest(step.key)])
    return table("step | job | result | #wall | #CPU | #this run | computed at | key", rows, "Steps")


# Receipts that cannot be used


def refused_section(run: Run) -> Markup:
    """Receipts that could not be used."""
    lead = f"{plural(len(run.refused), 'receipt')} could not be used. No figure above counts what they say."
    rows = [[element("code", name, cls="refused"), why] for name, why in run.refused]
    whole = table("receipt | why", rows, "Receipts that could not be used")
    return section("refused", "Receipts that could not be used", lead, whole)


# Page


def sections(run: Run) -> list[tuple[str, str, Callable[[Run], Markup]]]:
    """Sections that the receipts have something for."""
    wanted = (
        (run.streams, "streams", "Streams", streams_section),
        (run.sets, "sets", "Sets", sets_section),
        ([one for one in run.sets if one.has_ratios], "shuffle", "Shuffle", shuffle_section),
        (run.synced, "catalog", "Catalog", catalog_section),
        (run.steps, "steps", "Steps", steps_section),
        (run.refused, "refused", "Unusable", refused_section),
    )
    return [(anchor, name, make) for present, anchor, name, make in wanted if present]


MARK = Markup(
    '<svg class="koma" viewBox="0 0 20 22" aria-hidden="true">'
    '<path d="M10 1 L16.6 4.6 L19 21 L1 21 L3.4 4.6 Z"></path>'
    '<path class="fold" d="M10 4 L10 18"></path></svg>'
)

CSS = """
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif }
main { max-width: 1064px; margin: 0 auto; padding: 36px 22px 64px }
svg text { font-family: inherit }
.brand { margin: 0; font-size: 13px; font-weight: 600; letter-spacing: .06em; color: var(--soft);
  display: flex; gap: 8px }
.koma { width: 17px; height: 19px; fill: none; stroke: var(--s2); stroke-width: 1.6; stroke-linejoin: round }
.koma .fold { stroke-width: 1.2; stroke-dasharray: 2.4 2 }
h1 { margin: 6px 0 0; font-size: 34px; line-height: 1.15; letter-spacing: -.015em; overflow-wrap: anywhere }
h2 { margin: 0; font-size: 22px; letter-spacing: -.01em }
h3 { margin: 0; font-size: 17px; overflow-wrap: anywhere }
.about { margin: 6px 0 0; color: var(--soft) }
nav { margin-top: 14px; display: flex; flex-wrap: wrap; gap: 4px 18px }
a { color: var(--s1); text-underline-offset: 3px; text-decoration-thickness: 1px }
dl, dd { margin: 0 }
.keys { margin-top: 22px; display: flex; flex-wrap: wrap; gap: 1px; background: var(--rule);
  border: 1px solid var(--rule); border-radius: 10px; overflow: hidden }
.keys > div { flex: 1 1 auto; min-width: 112px; background: var(--card); padding: 14px 14px 13px }
.keys dt { font-size: 13px; color: var(--soft) }
.keys dd { font-size: 24px; font-weight: 650; line-height: 1.3; letter-spacing: -.015em; white-space: nowrap;
  font-variant-numeric: tabular-nums }
.keys .below { font-size: 12.5px; font-weight: 400; letter-spacing: 0; color: var(--soft) }
section { margin-top: 46px; scroll-margin-top: 16px }
.lead { margin: 4px 0 16px; max-width: 76ch }
.note { margin: 8px 0 0; font-size: 13px; color: var(--soft); max-width: 96ch }
figure { margin: 20px 0; padding: 16px 20px 12px; background: var(--card); border: 1px solid var(--rule);
  border-radius: 10px; overflow-x: auto }
figure > svg { min-width: 560px }
figcaption { margin-bottom: 8px; font-size: 13px; color: var(--soft) }
figcaption b { color: var(--ink); font-size: 14px; margin-right: 4px }
.three { display: grid; grid-template-columns: repeat(auto-fit, minmax(280px, 1fr)); gap: 24px;
  margin: 18px 0 10px }
.three figure { margin: 0; padding: 0; border: 0; overflow: visible; min-width: 0 }
.three figure > svg { min-width: 0 }
.wide { overflow-x: auto; margin: 14px 0 }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums }
th { text-align: left; font-weight: 500; color: var(--soft); white-space: nowrap; vertical-align: bottom }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--rule) }
td { vertical-align: top; white-space: nowrap }
td:last-child, th:last-child { padding-right: 0 }
.wide td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 88px }
td .more > summary { margin: 0 }
td b { font-weight: 600 }
.n { text-align: right }
tbody tr:hover { background: var(--track) }
code { font: 12px/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(190px, 1fr)); gap: 10px 20px;
  margin: 14px 0 4px }
.facts dt { font-size: 12.5px; color: var(--soft) }
.facts dd { font-weight: 600; font-variant-numeric: tabular-nums }
.n + :not(.n) { padding-left: 14px }
code[title], td [title] { cursor: help }
.card { margin: 16px 0; padding: 14px 20px 16px; background: var(--card); border: 1px solid var(--rule);
  border-radius: 10px }
.card > summary { display: flex; flex-wrap: wrap; gap: 2px 14px; align-items: baseline; cursor: pointer;
  list-style: none }
.card > summary::-webkit-details-marker { display: none }
.card > summary::before { content: "▸"; color: var(--soft); width: 12px }
.card[open] > summary::before { content: "▾" }
.card > summary span { color: var(--soft); font-variant-numeric: tabular-nums }
.card:not([open]) { padding: 9px 20px; margin: 8px 0 }
.more > summary { cursor: pointer; color: var(--s1); font-size: 13.5px; margin: 10px 0 }
.conventions { display: flex; flex-wrap: wrap; gap: 2px 20px; margin: 10px 0 0; font-size: 13px;
  color: var(--soft) }
.conventions b { color: var(--ink); font-weight: 600 }
.state::before { content: ""; display: inline-block; width: 9px; height: 9px; border-radius: 2px;
  margin-right: 7px; background: var(--s0) }
.state.f1::before { background: var(--s1) }
.state.f3::before { background: var(--s3) }
footer { margin-top: 48px; padding-top: 14px; border-top: 1px solid var(--rule); font-size: 13px;
  color: var(--soft) }
@media print { body { background: none } section { break-inside: auto } figure, tr { break-inside: avoid } }
"""


FOOT = (
    "Made from the receipts of this run alone. Sizes are binary: 1 KiB is 1,024 bytes. "
    "Point at a bar, a size or a digest for its exact value."
)


def page(run: Run, title: str) -> str:
    """The whole page."""
    style = Markup(f"<style>{svg.STYLE}{CSS}</style>")
    meta = Markup(
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    made = [make(run) for _, _, make in sections(run)]
    foot = element("footer", FOOT)
    body = element("body", element("main", head(run, title), *made, foot))
    return (
        f'<!doctype html>\n<html lang="en"><head>{meta}{element("title", title)}{style}</head>{body}</html>\n'
    )


def write_whole(path: Path, text: str) -> None:
    """Writes a file that appears whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Turns the receipts of a workflow run into one HTML page.")
    parser.add_argument(
        "results", type=Path, metavar="RESULTS_DIR", help="a run's folder, with its receipts in receipts/"
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="HTML", help="where the page goes"
    )
    parser.add_argument("--title", metavar="NAME", help="the page's title; the folder's name if left out")
    args = parser.parse_args()
    receipts = args.results / "receipts"
    folder = receipts if receipts.is_dir() else args.results
    if not folder.is_dir():
        return say(f"{folder}: there is no such folder", 5)
    run = read_run(folder)
    for name, why in run.refused:
        say(f"{folder / name}: not used: {why}")
    if not run.steps:
        return say(f"{folder}: no usable receipts", 3)
    try:
        write_whole(args.output, page(run, args.title or args.results.resolve().name or "Foldline"))
    except OSError as error:
        return say(f"{args.output}: it cannot be written: {error.strerror}", 2)
    return 0


def say(text: str, code: int = 0) -> int:
    """A message on stderr, and the exit code that goes with it."""
    print(f"report.py: {svg.clean(text)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
