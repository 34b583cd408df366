"""Shuffle: whether the order of rows tells anything."""

from __future__ import annotations

from markup import Section, cut, figure, name_cell, note, table
from plots import dot_text, dots
from readers.sets import RATIOS
from run import Run
from text import number, plural, verb

BAND = 0.15
WARN_ABOVE = 1 + 3 * BAND
ABOUT = (
    "The rows are cut into 24 blocks. A ratio is the spread of the blocks' means over the spread that "
    "independent rows would show: 1 where rows are shuffled, far above where they are not. The band of ±0.15 "
    "is the noise of 24 blocks. It is one standard deviation, so about one ratio in three lies outside of it "
    f"by chance. A ratio above {WARN_ABOVE:g} is marked."
)


def section(run: Run) -> Section | None:
    counted = [(one.name, one.counted.ratios) for one in run.sets if one.counted]
    rows = [(name, ratios) for name, ratios in counted if any(ratio is not None for ratio in ratios)]
    if not rows:
        return None
    values = [value for _, ratios in rows for value in ratios if value is not None]
    inside, above = sum(abs(v - 1) <= BAND for v in values), sum(v > WARN_ABOVE for v in values)
    lead = f"{number(inside)} of {plural(len(values), 'ratio')} {verb(inside, 'lies', 'lie')} in the noise band; "
    lead += f"{number(above)} {verb(above, 'is', 'are')} far above 1." if above else "none is far above 1."
    shown, more = cut(rows, lambda row: max(abs(v - 1) for v in row[1] if v is not None), "farthest from 1", "sets")
    panels = list(RATIOS.values())
    title = f"Block ratios of {', '.join(panels)}"
    plot = dots("ratios", title, panels, shown, (1 - BAND, 1 + BAND), WARN_ABOVE)
    parts = [figure("Block ratios", f"by set and quantity.{more}", plot), note(ABOUT)]
    if more:
        listed = [[name_cell(name), *map(dot_text, ratios)] for name, ratios in rows]
        parts.append(table(" | #".join(["set", *panels]), listed, "Block ratios"))
    return Section("shuffle", "Shuffle", lead, parts)
