"""Receipts that could not be used."""

from __future__ import annotations

from markup import Section, element, table
from run import Run
from text import plural


def section(run: Run) -> Section | None:
    if not run.refused:
        return None
    head = "Receipts that could not be used"
    lead = f"{plural(len(run.refused), 'receipt')} could not be used. No figure above counts what they say."
    rows = [[element("code", name, cls="refused"), why] for name, why in run.refused]
    return Section("refused", head, lead, [table("receipt | why", rows, head)], short="Unusable")
