"""What receipts say of catalogs."""

from __future__ import annotations

from dataclasses import dataclass

from receipts import Fields, Step

COUNTS = ("added", "updated", "unchanged", "missing")


@dataclass(frozen=True)
class Synced:
    """What `catalog-sync sync` said."""

    step: Step
    counts: dict[str, int]
    left_out: tuple[tuple[str, str], ...]


def read_synced(step: Step, report: Fields) -> list[Synced]:
    """The report of `catalog-sync sync`."""
    left_out = tuple((item.get("path", str), item.get("error", str)) for item in report.objects("left_out"))
    return [Synced(step, {name: report.count(name) for name in COUNTS}, left_out)]


READERS = {"catalog-sync sync": read_synced}
