"""All that the receipts of a run say, brought together."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from names import natural
from readers import catalog, days, sets, streams
from receipts import Fields, Step, Unusable, read_json, receipt_files

READERS = streams.READERS | sets.READERS | days.READERS | catalog.READERS
# in the order of workflows; others follow
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
    "day-build scan",
    "catalog-sync elo",
    "day-build build",
    "day-build verify",
    "catalog-sync sync",
)


@dataclass
class Run:
    """All that the receipts say."""

    steps: list[Step]
    streams: list[streams.Stream]
    sets: list[sets.DataSet]
    days: list[days.Day]
    scans: list[days.Scan]
    synced: list[catalog.Synced]
    refused: list[tuple[str, str]]


def read_run(folder: Path) -> Run:
    """All receipts below a folder. One that cannot be used is refused, and the others are used."""
    read, refused = [], []
    for name, path in receipt_files(folder):
        try:
            fields = Fields(read_json(path))
            step = Step.read(name, fields)
            reader = READERS.get(step.job)
            read.append((step, reader(step, fields.object("report")) if reader else []))
        except Unusable as error:
            refused.append((f"{name}.json", str(error)))
    read.sort(key=lambda item: order(item[0]))
    said = [one for _, items in read for one in items]
    streams_ = streams.together(of(streams.Made, said), of(streams.Held, said))
    sets_ = sets.together(of(sets.Folded, said), of(sets.Counted, said), refused)
    out = {name for name, _ in refused}
    return Run(
        steps=[step for step, _ in read if f"{step.name}.json" not in out],
        streams=streams_,
        sets=sets_,
        days=days.newest(of(days.Day, said), ".parquet"),
        scans=days.newest(of(days.Scan, said), ".scan.json"),
        synced=of(catalog.Synced, said),
        refused=sorted(refused, key=lambda item: natural(item[0])),
    )


def order(step: Step) -> tuple[Any, ...]:
    """Steps in the order of a workflow."""
    return JOBS.index(step.job) if step.job in JOBS else len(JOBS), step.job, natural(step.name)


def of(kind: type, items: list[Any]) -> list[Any]:
    return [item for item in items if isinstance(item, kind)]
