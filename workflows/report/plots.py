"""Plots of receipts' figures: histograms, bars, stacked bars, times of steps, dots in a band."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markup import Markup
from svg import Figure, Scale, fit, label_room, legend, nice_step, text_width, time_axis, x_axis
from text import counts_to, number, percent, seconds

ROW, COLUMNS = 26.0, 64
WIDE, NARROW = 976.0, 312.0


def described(rows: Iterable[tuple[str, Iterable[str]]]) -> str:
    """Rows of a plot for readers who do not see it."""
    return "; ".join(f"{label}: {', '.join(values)}" for label, values in rows)


def group(counts: Sequence[int], width: int) -> tuple[list[int], int]:
    """Counts in bins that are wider by 1, 2, 5, 10, ... so that a column can be seen; and a bin's width."""
    factor = int(nice_step(len(counts), COLUMNS)) if len(counts) > COLUMNS else 1
    return [sum(counts[i : i + factor]) for i in range(0, len(counts), factor)], width * factor


def histogram(
    name: str, title: str, desc: str, counts: Sequence[int], bin_width: int, of: str, mean: float, height: float = 190
) -> Markup:
    """Counts of rows in bins of one width, from 0, as columns; `of` names the quantity in tooltips."""
    figure = Figure(name, title, desc, NARROW, height)
    bins, wide = group(counts, bin_width)
    top, bottom, right = 20.0, height - 22, NARROW - 4
    up = Scale.of_counts(max(bins, default=0), bottom, top)
    say, ticks = counts_to(up.high), up.ticks(34, True)
    left = max(text_width(say(tick)) for tick in ticks) + 6
    shift = 0.5 if wide == 1 else 0.0
    along = Scale(-shift, max(len(bins), 1) * wide - shift, left, right)
    for tick in ticks:
        figure.line(left, up(tick), right, up(tick), "grid" if tick else "axis")
        figure.text(left - 6, up(tick) + 4, say(tick), "soft", "end")
    for index, count in enumerate(bins):
        if not count:
            continue
        start, end = along(index * wide - shift), along((index + 1) * wide - shift)
        gap, tall = min(1.5, (end - start) * 0.15), max(bottom - up(count), 1.0)
        span = number(index * wide) + (f" to {number((index + 1) * wide - 1)}" if wide > 1 else "")
        tip = f"{of} {span}: {number(count)} rows, {percent(count, sum(bins))}"
        figure.rect(start + gap / 2, bottom - tall, end - start - gap, tall, "f1", tip)
    x_axis(figure, along, top, bottom, apart=40, whole=True, grid=False)
    x, text = along(mean), f"mean {mean:,.1f}"
    half = text_width(text) / 2
    figure.line(x, top - 4, x, bottom, "mean")
    figure.text(min(max(x, half), NARROW - half), top - 8, text, "mean-text", "middle")
    return figure.render()


def bars(name: str, title: str, rows: Sequence[tuple[str, int]], log: bool = False, least_height: float = 0) -> Markup:
    """Counts with names as horizontal bars, each with its count and share."""
    top, bottom = 20.0, 20.0 + len(rows) * 20
    desc = described((label, [number(count)]) for label, count in rows)
    figure = Figure(name, title, desc, NARROW, max(bottom + 22, least_height))
    total, greatest = sum(count for _, count in rows), max((count for _, count in rows), default=0)
    said = [f"{number(count)} · {percent(count, total)}" if count else "0" for _, count in rows]
    left = label_room((label for label, _ in rows), NARROW * 0.35)
    right = max(map(text_width, said), default=0.0) + 8
    along = Scale.of_counts(greatest, left + 8, max(NARROW - right, left + 40), log)
    x_axis(figure, along, top, bottom, apart=44, whole=True, grid=False)
    for index, (label, count) in enumerate(rows):
        y = top + index * 20
        figure.label(left, y + 10, label)
        long = max(along(count) - along.start, 1.5) if count else 0.0
        figure.rect(along.start, y + 3, long, 14, "f1", f"{label}: {number(count)}")
        figure.text(along.start + long + 6, y + 14, said[index], "soft")
    figure.line(along.start, top, along.start, bottom, "axis")
    return figure.render()


def rows_of(
    name: str, title: str, desc: str, labels: Sequence[str], said: Sequence[str], room: float, top: float = 24
) -> tuple[Figure, float, float, float]:
    """A figure with a bar a row, between labels and what is said of each; where bars start, may end, and the bottom."""
    bottom = top + len(labels) * ROW
    figure = Figure(name, title, desc, WIDE, bottom + 24)
    right = max([20.0, *map(text_width, said)]) + 8
    return figure, label_room(labels, room) + 10, WIDE - right, bottom


@dataclass(frozen=True)
class Part:
    """A kind of segment in stacked bars: its name and colour class."""

    name: str
    cls: str


def stacked(
    name: str,
    title: str,
    parts: Sequence[Part],
    rows: Sequence[tuple[str, Sequence[float]]],
    shares: bool = False,
    times: bool = False,
    said: Sequence[str] | None = None,
) -> Markup:
    """Counts, or seconds, of several kinds as stacked horizontal bars: to one scale, or as shares of each whole."""
    say: Callable[[float], str] = seconds if times else number
    said, totals = said or [say(sum(values)) for _, values in rows], [sum(values) for _, values in rows]
    named = [(label, [f"{say(value)} {part.name}" for part, value in zip(parts, values)]) for label, values in rows]
    top, desc = 24 if len(parts) > 1 else 0, described(named)
    figure, start, end, bottom = rows_of(name, title, desc, [label for label, _ in rows], said, 220, top)
    greatest = 1.0 if shares else float(max([1e-6 if times else 1, *totals]))
    along = Scale(0.0, greatest, start, end)
    if times:
        time_axis(figure, along, top, bottom, 110)
    else:
        x_axis(figure, along, top, bottom, (lambda v: f"{v:.0%}") if shares else None, 110, whole=not shares)
    for index, (label, values) in enumerate(rows):
        y, total = top + index * ROW, totals[index]
        figure.label(start - 10, y + ROW / 2, label)
        before, unit = 0.0, (total or 1) if shares else 1
        for part, value in zip(parts, values):
            left, right = along(before / unit), along((before + value) / unit)
            before += value
            if value:
                share = percent(value, total)
                tip = f"{label}: {say(value)} {part.name}, {share}"
                figure.rect(left, y + 4, max(right - left - 1, 0.75), ROW - 8, part.cls, tip)
                if len(parts) > 1 and right - left > text_width(share) + 10:
                    figure.text((left + right) / 2, y + ROW / 2 + 4, share, "on", "middle")
        figure.text((along.end if shares else along(total)) + 8, y + ROW / 2 + 4, said[index], "soft")
    if len(parts) > 1:
        legend(figure, start, [(part.cls, part.name) for part in parts])
    return figure.render()


@dataclass(frozen=True)
class Timing:
    """A step's seconds: what this run took, and what its computation cost, whenever that was."""

    label: str
    took: float
    wall: float | None
    cpu: float | None
    found: bool
    cls: str

    @property
    def longest(self) -> float:
        return max(self.took, self.wall or 0.0, self.cpu or 0.0)

    @property
    def text(self) -> str:
        spared = f", instead of {seconds(self.wall)}" if self.found and self.wall is not None else ""
        return seconds(self.took) + spared


def timings(name: str, title: str, rows: Sequence[Timing], key: Sequence[tuple[str, str]]) -> Markup:
    """Steps as two bars each: what this run took, and what the computation cost, with a mark for CPU time."""
    said = [row.text for row in rows]
    desc = described((row.label, [row.text]) for row in rows)
    figure, start, end, bottom = rows_of(name, title, desc, [row.label for row in rows], said, 240)
    along = Scale(0.0, max((row.longest for row in rows), default=0.0) or 1e-6, start, end)
    time_axis(figure, along, 24, bottom, 84)
    for index, row in enumerate(rows):
        y = 24 + index * ROW
        figure.label(start - 10, y + ROW / 2, row.label)
        tip = f"{row.label}: took {seconds(row.took)}"
        figure.rect(start, y + 4, max(along(row.took) - start, 1), 9, row.cls, tip)
        if row.wall is not None:
            cls, tip = "hollow" if row.found else f"{row.cls} faint", f"{row.label}: computed in {seconds(row.wall)}"
            figure.rect(start, y + 15, max(along(row.wall) - start, 1), 6, cls, tip)
        if row.cpu is not None:
            figure.line(along(row.cpu), y + 13.5, along(row.cpu), y + 22.5, "mark")
        figure.text(along(row.longest) + 7, y + ROW / 2 + 4, said[index], "soft")
    figure.line(start, 24, start, bottom, "axis")
    legend(figure, start, key)
    return figure.render()


def dots(
    name: str,
    title: str,
    panels: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    band: tuple[float, float],
    warn_above: float,
) -> Markup:
    """Values around 1: a panel a quantity, a row a name, and a band of what is noise."""
    bottom = 26 + len(rows) * ROW
    values_of = [(label, [f"{panel} {dot_text(v)}" for panel, v in zip(panels, values)]) for label, values in rows]
    figure = Figure(name, title, described(values_of), WIDE, bottom + 24)
    left, gap = label_room((label for label, _ in rows), 200) + 12, 18.0
    wide = (WIDE - left - gap * (len(panels) - 1) - 6) / len(panels)
    low, high = dot_range([v for _, values in rows for v in values if v is not None], band)
    for column, panel in enumerate(panels):
        start = left + column * (wide + gap)
        along = Scale(low, high, start, start + wide, log=high > 2.5)
        figure.text(start, 13, fit(panel, wide))
        figure.rect(start, 22, wide, bottom - 22, "track")
        figure.rect(along(band[0]), 22, along(band[1]) - along(band[0]), bottom - 22, "band")
        x_axis(figure, along, 22, bottom, lambda v: f"{v:g}", 50)
        figure.line(along(1), 22, along(1), bottom, "mark")
        for index, (label, values) in enumerate(rows):
            dot(figure, along, 24 + (index + 0.5) * ROW, f"{label}, {panel}", values[column], warn_above)
    for index, (label, _) in enumerate(rows):
        figure.label(left - 12, 24 + (index + 0.5) * ROW, label)
    return figure.render()


def dot_range(values: Sequence[float], band: tuple[float, float]) -> tuple[float, float]:
    """A range with room on both sides of the band, and for all values. A long one will be on a log scale."""
    reach = 1.5 * (band[1] - band[0])
    low, high = min([band[0] - reach, *values]), max([band[1] + reach, *values])
    return (max(low * 0.6, 0.1), high * 1.6) if high > 2.5 else (math.floor(low * 10) / 10, math.ceil(high * 10) / 10)


def dot_text(value: float | None) -> str:
    """A value; there may be none."""
    return "none" if value is None else f"{value:.3f}"


def dot(figure: Figure, along: Scale, y: float, label: str, value: float | None, warn_above: float) -> None:
    """A dot and its value, on the side away from 1 where there is room."""
    if value is None:
        return figure.text(along.start + 8, y + 4, dot_text(value), "soft")
    warned, text, x = value > warn_above, dot_text(value), along(value)
    room = 9 + text_width(text)
    right = x + room <= along.end and (value >= 1 or x - room < along.start)
    figure.dot(x, y, 4.5, "fw" if warned else "f1", f"{label}: {text}")
    place, anchor = (x + 9, None) if right else (x - 9, "end")
    return figure.text(place, y + 4, text, "warned" if warned else None, anchor)
