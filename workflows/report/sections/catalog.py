"""Catalog: what its syncs said."""

from __future__ import annotations

from markup import Section, element, name_cell, table
from readers.catalog import COUNTS
from run import Run
from text import number, plural, verb


def section(run: Run) -> Section | None:
    if not run.synced:
        return None
    total = {name: sum(item.counts[name] for item in run.synced) for name in COUNTS}
    left_out = [entry for item in run.synced for entry in item.left_out]
    said = [f"{number(count)} {name}" for name, count in total.items() if count]
    what = "Days" if run.days and not run.sets else "Sets and days" if run.days else "Sets"
    lead = f"{what}: {', '.join(said)}." if said else f"The sync found no {what.lower()}."
    if left_out:
        lead += f" {plural(len(left_out), 'file')} {verb(len(left_out), 'was', 'were')} left out."
    rows = []
    for item in run.synced:
        counts = *item.counts.values(), len(item.left_out)
        rows.append([name_cell(item.step.name), *map(number, counts)])
    parts = [table(" | #".join(["sync", *COUNTS, "left out"]), rows, "Syncs")]
    if left_out:
        why = [[element("code", path), error] for path, error in left_out]
        parts.append(table("left out | why", why, "Left out of the catalog"))
    return Section("catalog", "Catalog", lead, parts)
