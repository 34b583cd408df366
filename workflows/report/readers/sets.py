"""What receipts say of sets: how they were folded, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass, replace

from names import named, natural, same_file
from readers.conventions import Conventions, of_set
from receipts import Bins, Fields, Span, Step, Unusable

RATIOS = {"ply": "ply", "side_to_move": "side to move", "weight_to_4": "weight, at most 4", "value_q": "value_q"}


@dataclass(frozen=True)
class Shard:
    """A file of a set."""

    file: str
    sha256: str
    records: int
    rows: int
    bytes: int


@dataclass(frozen=True)
class Folded:
    """A set that `fold-pack` wrote, or ranges of one."""

    step: Step
    prefix: str
    whole: bool
    conventions: Conventions
    mate_scale: int
    shards: tuple[Shard, ...]

    def total(self, name: str) -> int:
        """Records, rows or bytes of all shards."""
        return sum(getattr(shard, name) for shard in self.shards)


@dataclass(frozen=True)
class Histograms:
    """Rows by ply, by number of candidates, by powers of two of weights."""

    ply_by_10: Bins
    candidates: Bins
    weight_log2: Bins


@dataclass(frozen=True)
class Counted:
    """What `fold-pack stats` found in a set; how often each bin of rows, and what the order of rows tells."""

    step: Step
    records: int
    rows: int
    shards: int
    greatest_weight: int
    black_to_move: int
    mates: int
    ply: Span
    candidates: Span
    value_z_mean: float
    value_q_mean: float
    ratios: tuple[float | None, ...]
    bins: Histograms


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
        if self.folded:
            return self.folded.total("records"), self.folded.total("rows")
        return (self.counted.records, self.counted.rows) if self.counted else (0, 0)

    @property
    def bytes(self) -> int | None:
        return self.folded.total("bytes") if self.folded else None

    @property
    def shards(self) -> int:
        return len(self.folded.shards) if self.folded else self.counted.shards if self.counted else 0

    @property
    def digests(self) -> set[str]:
        """Those of the shards that were folded."""
        return {shard.sha256 for shard in self.folded.shards} if self.folded else set()


def read_folded(step: Step, report: Fields) -> list[Folded]:
    """The report of `fold-pack fold` or `pack`, whose totals must be those of its shards."""
    shards = tuple(shard.read(Shard) for shard in report.objects("shards"))
    conventions, whole = report.object("conventions"), report.value.get("set") is not None
    given = {"conventions": of_set(conventions), "mate_scale": conventions.count("mate_scale"), "shards": shards}
    folded = report.read(Folded, step=step, whole=whole, **given)
    found = {name: folded.total(name) for name in ("records", "rows", "bytes")}
    found["duplicates"] = found["records"] - found["rows"]
    for name, total in found.items():
        if report.count(name) != total:
            raise Unusable(f"report.{name} is {report.count(name)} where its shards make {total}")
    return [folded]


def read_counted(step: Step, report: Fields) -> list[Counted]:
    """The report of `fold-pack stats`, whose histograms must hold every row once."""
    ratios, bins = report.object("block_ratios"), report.object("histograms").read(Histograms)
    found = tuple(ratios.maybe(name, lambda n: ratios.number(n, 0)) for name in RATIOS)
    counted = report.read(Counted, step=step, ratios=found, bins=bins)
    if len(bins.weight_log2) > 64:
        raise Unusable("report.histograms.weight_log2 has more bins than a weight has bits")
    for name, counts in vars(bins).items():
        if sum(counts) != counted.rows:
            raise Unusable(f"report.histograms.{name} holds {sum(counts)} rows of {counted.rows}")
    return [counted]


def together(folded: list[Folded], counted: list[Counted], refused: list[tuple[str, str]]) -> list[DataSet]:
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
        return max(whole, key=lambda item: item.step.ended_at)
    shards = {shard.file: shard for item in ranges for shard in item.shards}
    return replace(ranges[0], shards=tuple(shards[file] for file in sorted(shards, key=natural)))


def place_counted(sets: list[DataSet], item: Counted) -> None:
    """Puts what was counted to its set, or beside the sets where none was folded."""
    given, shards = item.step.input("set"), {file.sha256 for file in item.step.input("shard")}
    for one in (one for one in sets if one.folded):
        by_path = len(given) == 1 and same_file(one.path + ".set.json", given[0].path)
        if not one.counted and shards == one.digests and (by_path or not given):
            if (item.records, item.rows) != one.totals:
                raise Unusable(f"it counts {item.rows} rows of {item.records} records; set {one.path} has others")
            one.counted = item
            return
        if by_path and shards != one.digests:
            raise Unusable(f"it counts other shards of set {one.path} than those that were folded")
    known = set().union(*(one.digests for one in sets))
    path = " + ".join(file.path for file in given) or item.step.name
    sets.append(DataSet(path, counted=item, adds=not shards & known))


READERS = {"fold-pack fold": read_folded, "fold-pack pack": read_folded, "fold-pack stats": read_counted}
