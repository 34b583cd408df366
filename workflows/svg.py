"""Plots as inline SVG for self-contained HTML, from the standard library alone.

A plot is a function that returns markup: `histogram`, `bars`, `stacked`, `timings`, `dots`. They stand on
`Figure`, which places elements, and `Scale`, which places values; a new kind of plot needs no more. Colours
are CSS custom properties, so `STYLE` must be in the page; it follows the reader's light or dark scheme. Every
plot has a title and a description for readers who do not see it. Labels are measured before they are placed:
what does not fit is shortened, thinned out or left to the tooltip, so that no two overlap.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
:root { color-scheme: light dark; --paper: #f7f6f2; --card: #ffffff; --ink: #1c2128; --soft: #59626d;
  --rule: #dddad1; --grid: #ebe9e2; --s0: #727b87; --s1: #2a5f9e; --s2: #b4561a; --s3: #1d7a58;
  --warn: #b42318; --on: #ffffff; --band: #e0eaf5; --track: #f3f1ec }
@media (prefers-color-scheme: dark) { :root { --paper: #121519; --card: #1a1e24; --ink: #e5e8ec;
  --soft: #9da6b2; --rule: #323840; --grid: #282d35; --s0: #8f99a6; --s1: #7fb2ec; --s2: #eda267;
  --s3: #62c99d; --warn: #ff8d7d; --on: #101317; --band: #293a4d; --track: #20252b } }
svg.plot { display: block; width: 100%; height: auto; overflow: visible; font-variant-numeric: tabular-nums }
svg.plot text { fill: var(--ink) }
svg.plot .soft { fill: var(--soft) }
svg.plot .on { fill: var(--on) }
svg.plot .warned { fill: var(--warn); font-weight: 600 }
svg.plot .f0 { fill: var(--s0) }
svg.plot .f1 { fill: var(--s1) }
svg.plot .f2 { fill: var(--s2) }
svg.plot .f3 { fill: var(--s3) }
svg.plot .fw { fill: var(--warn) }
svg.plot .faint { opacity: .45 }
svg.plot .hollow { fill: none; stroke: var(--s3); stroke-dasharray: 3 2 }
svg.plot .band { fill: var(--band) }
svg.plot .track { fill: var(--track) }
svg.plot .grid { stroke: var(--grid) }
svg.plot .axis { stroke: var(--rule) }
svg.plot .mark { stroke: var(--ink); stroke-width: 1.5 }
svg.plot .mean { stroke: var(--s2); stroke-width: 1.5; stroke-dasharray: 4 3 }
svg.plot .mean-text { fill: var(--s2) }
"""

SIZE = 11.0
ROW = 26.0
COLUMNS = 64
NARROW, BROAD = frozenset("ijlI.,:;'|!()[]/ -"), frozenset("mwMW@%—…→\ufffd")


class Markup(str):
    """Text that is markup already, so that it isn't escaped again."""


def clean(text: object) -> str:
    """Text with U+FFFD for what markup may not hold, and for what would turn the line around."""

    def keep(char: str) -> str:
        turns = "\u202a" <= char <= "\u202e" or "\u2066" <= char <= "\u2069" or char in "\ufffe\uffff"
        return "\ufffd" if turns or unicodedata.category(char) in ("Cc", "Cs") else char

    return "".join(map(keep, str(text)))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """An element; content and attributes are escaped. `cls` is class; None leaves an attribute out."""
    names = (
        (("class" if name == "cls" else name.rstrip("_").replace("_", "-")), value)
        for name, value in attributes.items()
    )
    listed = "".join(f' {name}="{escape(clean(value))}"' for name, value in names if value is not None)
    return Markup(f"<{tag}{listed}>{join(content)}</{tag}>")


def join(content: Iterable[object]) -> Markup:
    """Pieces behind one another, escaped where they are text."""
    return Markup("".join(p if isinstance(p, Markup) else escape(clean(p), quote=False) for p in content))


# Figures as text


def number(value: float) -> str:
    """A count with thousands separators."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"


def three_digits(value: float) -> str:
    """A positive number to three digits, or to all of its whole part."""
    places = 2 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{value:,.{min(max(places, 0), 6)}f}"


def percent(part: float, whole: float) -> str:
    """A share to two places. What is small has two digits, so that something is never shown as nothing."""
    if whole <= 0:
        return "–"
    share = 100.0 * part / whole
    if 99.995 <= share < 100:
        return ">99.99%"
    if share >= 0.1 or not share:
        return f"{share:.2f}%" if share else "0%"
    return f"{share:.{1 - math.floor(math.log10(share))}f}%" if share >= 1e-3 else "<0.001%"


def size(count: float) -> str:
    """Bytes with a binary prefix."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{number(count)} B" if unit == "B" else f"{three_digits(count)} {unit}"


def seconds(value: float) -> str:
    """A span of time, in the unit in which one reads it."""
    if value >= 3600:
        minutes = round(value / 60)
        return f"{number(minutes // 60)} h {minutes % 60:02} min"
    if value >= 60:
        return f"{int(value) // 60} min {int(value) % 60:02} s"
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if value >= unit:
            return f"{three_digits(value / unit)} {name}"
    return f"{three_digits(value * 1e6)} µs" if value > 0 else "0 s"


PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def compact(value: float) -> str:
    """A count, short: 12,500 is 12.5k. Below 10,000 it's as it is."""
    return counts_to(value)(value)


def counts_to(greatest: float) -> Callable[[float], str]:
    """How ticks of an axis that reaches this far are written: all with one prefix."""
    if greatest < 1e4:
        return lambda value: f"{value:,g}"
    unit, prefix = next(entry for entry in PREFIXES if greatest >= entry[0])
    return lambda value: f"{value / unit:g}{prefix}" if value else "0"


# Measures


def text_width(text: str, font: float = SIZE) -> float:
    """About how wide a text is in the widest of the usual fonts, so that estimates err to the safe side."""

    def share(char: str) -> float:
        if unicodedata.east_asian_width(char) in "WF":
            return 1.0
        if char in NARROW:
            return 0.38
        return 1.05 if char in BROAD else 0.7 if char.isupper() else 0.625

    return font * sum(map(share, text))


def fit(text: str, room: float, font: float = SIZE) -> str:
    """The text, shortened in its middle where it is wider than the room: names differ at their ends."""
    text = clean(text)
    if text_width(text, font) <= room:
        return text
    for kept in range(len(text) - 1, 1, -1):
        short = f"{text[: kept // 2]}…{text[len(text) - (kept + 1) // 2 :]}"
        if text_width(short, font) <= room:
            return short
    return "…"


def nice_step(span: float, most: float) -> float:
    """The least of 1, 2 and 5 times a power of ten that cuts a span into at most `most` parts."""
    raw = span / max(most, 1.0)
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))


@dataclass(frozen=True)
class Scale:
    """Where a value lies, from `start` to `end`; what is out of range is placed at the edge."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def of_counts(cls, greatest: float, start: float, end: float, log: bool = False) -> Scale:
        """From nothing to the greatest count. On a log scale 1 has to be seen, so it starts below."""
        return cls(0.6 if log else 0.0, max(greatest, 1.2), start, end, log)

    def __call__(self, value: float) -> float:
        by = math.log if self.log else float
        value = min(max(value, self.low), self.high)
        return self.start + (by(value) - by(self.low)) / (by(self.high) - by(self.low)) * (
            self.end - self.start
        )

    def ticks(self, apart: float, whole: bool = False) -> list[float]:
        """Round values that lie at least `apart` pixels from one another."""
        most = max(abs(self.end - self.start) / apart, 1.0)
        if self.log:
            return self._decades(most)
        step = max(nice_step(self.high - self.low, most), 1.0 if whole else 0.0)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [index * step for index in range(first, last + 1)]

    def _decades(self, most: float) -> list[float]:
        first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
        every = max(math.ceil((last - first + 1) / most), 1)
        return [10.0**power for power in range(first, last + 1, every)]


# Figure


class Figure:
    """A plot in the making."""

    def __init__(self, name: str, title: str, desc: str, width: float, height: float) -> None:
        self.name, self.title, self.desc, self.width, self.height = name, title, desc, width, height
        self.parts: list[Markup] = []

    def add(self, tag: str, tip: str | None = None, content: str = "", **attributes: object) -> None:
        """Adds an element, with a tooltip."""
        rounded = {name: at(v) if isinstance(v, (int, float)) else v for name, v in attributes.items()}
        self.parts.append(element(tag, element("title", tip) if tip else "", content, **rounded))

    def rect(self, x: float, y: float, width: float, height: float, cls: str, tip: str | None = None) -> None:
        """A bar or an area."""
        self.add("rect", tip, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), cls=cls)

    def line(self, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        """A rule."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, cls=cls)

    def dot(self, x: float, y: float, radius: float, cls: str, tip: str | None = None) -> None:
        """A value on a scale."""
        self.add("circle", tip, cx=x, cy=y, r=radius, cls=cls)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        cls: str | None = None,
        anchor: str = "start",
        tip: str | None = None,
    ) -> None:
        """A label whose base line is at y."""
        anchored = None if anchor == "start" else anchor
        self.add("text", tip, text, x=x, y=y, font_size=SIZE, text_anchor=anchored, cls=cls)

    def label(self, room: float, middle: float, text: str) -> None:
        """A row's name, right-aligned in the room at the left."""
        short = fit(text, room)
        self.text(room, middle + 4, short, anchor="end", tip=text if short != text else None)

    def render(self) -> Markup:
        """The SVG."""
        title_id, desc_id = f"{self.name}-title", f"{self.name}-desc"
        head = element("title", self.title, id=title_id), element("desc", self.desc, id=desc_id)
        box = f"0 0 {at(self.width)} {at(self.height)}"
        return element(
            "svg",
            *head,
            *self.parts,
            cls="plot",
            viewBox=box,
            role="img",
            style=f"max-width:{at(self.width)}px",
            aria_labelledby=f"{title_id} {desc_id}",
        )


def at(value: float) -> str:
    """A coordinate to a hundredth of a pixel."""
    if not math.isfinite(value):
        raise ValueError("a coordinate is not finite")
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-0", "0", 1 if abs(value) < 0.005 else 0)


def label_room(labels: Iterable[str], most: float) -> float:
    """Width of a column of labels."""
    return min(max((text_width(clean(label)) for label in labels), default=0.0) + 2, most)


def legend(figure: Figure, x: float, entries: Sequence[tuple[str, str]]) -> None:
    """Names of colours in a line at the top."""
    for cls, name in entries:
        figure.rect(x, 3.5, 10, 9, cls)
        figure.text(x + 15, 12, name, "soft")
        x += 15 + text_width(name) + 16


def x_axis(
    figure: Figure,
    scale: Scale,
    top: float,
    bottom: float,
    say: Callable[[float], str] | None = None,
    apart: float = 90,
    whole: bool = False,
    grid: bool = True,
) -> None:
    """Ticks below a plot. A label that would touch the one before, or another plot, is left out."""
    say = say or (compact if scale.log else counts_to(scale.high))
    free, most = max(scale.start - 24, 0.0), min(scale.end + 24, figure.width)
    for tick in scale.ticks(apart, whole):
        x, text = scale(tick), say(tick)
        half = text_width(text) / 2
        if grid:
            figure.line(x, top, x, bottom, "grid")
        if x - half >= free and x + half <= most:
            figure.text(x, bottom + 15, text, "soft", "middle")
            free = x + half + 6


# Plots


def group(counts: Sequence[int], width: int) -> tuple[list[int], int]:
    """Counts in bins that are wider by 1, 2, 5, 10, ... so that a column can be seen; and a bin's width."""
    factor = int(nice_step(len(counts), COLUMNS)) if len(counts) > COLUMNS else 1
    return [sum(counts[i : i + factor]) for i in range(0, len(counts), factor)], width * factor


def histogram(
    name: str,
    title: str,
    desc: str,
    counts: Sequence[int],
    bin_width: int,
    of: str,
    mean: float | None = None,
    width: float = 312,
    height: float = 190,
) -> Markup:
    """Counts in bins of one width, from 0, as columns; `of` names the quantity in tooltips."""
    figure = Figure(name, title, desc, width, height)
    bins, wide = group(counts, bin_width)
    top, bottom = 20.0, height - 22
    up = Scale.of_counts(max(bins, default=0), bottom, top)
    say = counts_to(up.high)
    left = max(text_width(say(tick)) for tick in up.ticks(34, True)) + 6
    shift = 0.5 if wide == 1 else 0.0
    along = Scale(-shift, max(len(bins), 1) * wide - shift, left, width - 4)
    for tick in up.ticks(34, True):
        figure.line(left, up(tick), width - 4, up(tick), "grid" if tick else "axis")
        figure.text(left - 6, up(tick) + 4, say(tick), "soft", "end")
    total = sum(bins)
    for index, count in enumerate(bins):
        start, end = along(index * wide - shift), along((index + 1) * wide - shift)
        gap = min(1.5, (end - start) * 0.15)
        span = number(index * wide) + (f" to {number((index + 1) * wide - 1)}" if wide > 1 else "")
        if count:
            tall = max(bottom - up(count), 1.0)
            tip = f"{of} {span}: {number(count)} rows, {percent(count, total)}"
            figure.rect(start + gap / 2, bottom - tall, end - start - gap, tall, "f1", tip)
    x_axis(figure, along, top, bottom, apart=40, whole=True, grid=False)
    if mean is not None:
        mean_line(figure, along(mean), top, bottom, f"mean {mean:,.1f}")
    return figure.render()


def mean_line(figure: Figure, x: float, top: float, bottom: float, text: str) -> None:
    """A dashed line at a mean, with its label above the plot and within the figure."""
    half = text_width(text) / 2
    figure.line(x, top - 4, x, bottom, "mean")
    figure.text(min(max(x, half), figure.width - half), top - 8, text, "mean-text", "middle")


def bars(
    name: str,
    title: str,
    desc: str,
    rows: Sequence[tuple[str, int]],
    log: bool = False,
    width: float = 312,
    least_height: float = 0,
) -> Markup:
    """Counts with names as horizontal bars, each with its count and share."""
    height = max(20 + len(rows) * 20 + 22, least_height)
    figure = Figure(name, title, desc, width, height)
    total, greatest = sum(count for _, count in rows), max((count for _, count in rows), default=0)
    said = [f"{number(count)} · {percent(count, total)}" if count else "0" for _, count in rows]
    left = label_room((label for label, _ in rows), width * 0.35)
    right = max(map(text_width, said), default=0.0) + 8
    along = Scale.of_counts(greatest, left + 8, max(width - right, left + 40), log)
    bottom = 20.0 + len(rows) * 20
    x_axis(figure, along, 20, bottom, apart=44, whole=True, grid=False)
    for index, (label, count) in enumerate(rows):
        y = 20.0 + index * 20
        figure.label(left, y + 10, label)
        long = max(along(count) - along.start, 1.5) if count else 0.0
        figure.rect(along.start, y + 3, long, 14, "f1", f"{label}: {number(count)}")
        figure.text(along.start + long + 6, y + 14, said[index], "soft")
    figure.line(along.start, 20, along.start, bottom, "axis")
    return figure.render()


@dataclass(frozen=True)
class Part:
    """A kind of segment in stacked bars: its name and colour class."""

    name: str
    cls: str


def stacked(
    name: str,
    title: str,
    desc: str,
    parts: Sequence[Part],
    rows: Sequence[tuple[str, Sequence[int]]],
    shares: bool = False,
    width: float = 976,
) -> Markup:
    """Counts of several kinds as stacked horizontal bars: to one scale, or as shares of each whole."""
    figure = Figure(name, title, desc, width, 24 + len(rows) * ROW + 24)
    left = label_room((label for label, _ in rows), 220)
    said = [number(sum(counts)) for _, counts in rows]
    right = max([20.0, *map(text_width, said)]) + 8
    greatest = 1.0 if shares else max((sum(counts) for _, counts in rows), default=1)
    along = Scale(0.0, float(max(greatest, 1)), left + 10, width - right)
    bottom = 24 + len(rows) * ROW
    x_axis(figure, along, 24, bottom, (lambda v: f"{v:.0%}") if shares else None, 110, whole=not shares)
    for index, (label, counts) in enumerate(rows):
        y, total = 24 + index * ROW, sum(counts)
        figure.label(left, y + ROW / 2, label)
        segments(figure, along, y, parts, label, counts, max(total, 1) if shares else 1)
        end = along.end if shares else along(total)
        figure.text(end + 8, y + ROW / 2 + 4, said[index], "soft")
    legend(figure, left + 10, [(part.cls, part.name) for part in parts])
    return figure.render()


def segments(
    figure: Figure,
    along: Scale,
    y: float,
    parts: Sequence[Part],
    label: str,
    counts: Sequence[int],
    unit: int,
) -> None:
    """One stacked bar, with shares where there is room for them."""
    total, before = sum(counts), 0
    for part, count in zip(parts, counts):
        start, end = along(before / unit), along((before + count) / unit)
        before += count
        if not count:
            continue
        text = percent(count, total)
        figure.rect(
            start,
            y + 4,
            max(end - start - 1, 0.75),
            ROW - 8,
            part.cls,
            f"{label}: {number(count)} {part.name}, {text}",
        )
        if end - start > text_width(text) + 10:
            figure.text((start + end) / 2, y + ROW / 2 + 4, text, "on", "middle")


@dataclass(frozen=True)
class Timing:
    """A step's seconds: what this run took, and what its computation cost, whenever that was."""

    label: str
    took: float
    wall: float | None
    cpu: float | None
    found: bool
    cls: str


TIME_UNITS = (
    (7200.0, 3600.0, "h"),
    (180.0, 60.0, "min"),
    (1.0, 1.0, "s"),
    (1e-3, 1e-3, "ms"),
    (0.0, 1e-6, "µs"),
)


def timings(
    name: str,
    title: str,
    desc: str,
    rows: Sequence[Timing],
    key: Sequence[tuple[str, str]],
    width: float = 976,
) -> Markup:
    """Steps as two bars each: what this run took, and what the computation cost, with a mark for CPU time."""
    figure = Figure(name, title, desc, width, 24 + len(rows) * ROW + 24)
    left, said = label_room((row.label for row in rows), 240), [timing_text(row) for row in rows]
    right = max(map(text_width, said), default=0.0) + 8
    longest = max((max(row.took, row.wall or 0.0, row.cpu or 0.0) for row in rows), default=0.0) or 1e-6
    along, bottom = Scale(0.0, longest, left + 10, width - right), 24 + len(rows) * ROW
    _, unit, unit_name = next(entry for entry in TIME_UNITS if longest >= entry[0])
    in_units = Scale(0.0, longest / unit, along.start, along.end)
    x_axis(figure, in_units, 24, bottom, lambda v: f"{v:g} {unit_name}", 84)
    for index, row in enumerate(rows):
        y = 24 + index * ROW
        figure.label(left, y + ROW / 2, row.label)
        end = timing_bars(figure, along, y, row)
        figure.text(end + 7, y + ROW / 2 + 4, said[index], "soft")
    figure.line(along.start, 24, along.start, bottom, "axis")
    legend(figure, left + 10, key)
    return figure.render()


def timing_text(row: Timing) -> str:
    """What stands behind a step's bars."""
    spared = f", instead of {seconds(row.wall)}" if row.found and row.wall is not None else ""
    return seconds(row.took) + spared


def timing_bars(figure: Figure, along: Scale, y: float, row: Timing) -> float:
    """A step's bars; where they end."""
    tip = f"{row.label}: took {seconds(row.took)}"
    figure.rect(along.start, y + 4, max(along(row.took) - along.start, 1), 9, row.cls, tip)
    ends = [along(row.took)]
    if row.wall is not None:
        cls = "hollow" if row.found else f"{row.cls} faint"
        tip = f"{row.label}: computed in {seconds(row.wall)}"
        figure.rect(along.start, y + 15, max(along(row.wall) - along.start, 1), 6, cls, tip)
        ends.append(along(row.wall))
    if row.cpu is not None:
        figure.line(along(row.cpu), y + 13.5, along(row.cpu), y + 22.5, "mark")
        ends.append(along(row.cpu))
    return max(ends)


def dots(
    name: str,
    title: str,
    desc: str,
    panels: Sequence[str],
    rows: Sequence[tuple[str, Sequence[float | None]]],
    band: tuple[float, float],
    centre: float,
    warn_above: float,
    width: float = 976,
) -> Markup:
    """Values around a centre: a panel a quantity, a row a name, and a band of what is noise."""
    figure = Figure(name, title, desc, width, 26 + len(rows) * ROW + 24)
    left, gap = label_room((label for label, _ in rows), 200) + 12, 18.0
    wide, bottom = (width - left - gap * (len(panels) - 1) - 6) / len(panels), 26 + len(rows) * ROW
    low, high = dot_range([v for _, values in rows for v in values if v is not None], band)
    for column, panel in enumerate(panels):
        start = left + column * (wide + gap)
        along = Scale(low, high, start, start + wide, log=high > 2.5)
        figure.text(start, 13, fit(panel, wide))
        figure.rect(start, 22, wide, bottom - 22, "track")
        figure.rect(along(band[0]), 22, along(band[1]) - along(band[0]), bottom - 22, "band")
        x_axis(figure, along, 22, bottom, lambda v: f"{v:g}", 50)
        figure.line(along(centre), 22, along(centre), bottom, "mark")
        for index, (label, values) in enumerate(rows):
            dot_value(
                figure,
                along,
                24 + index * ROW + ROW / 2,
                f"{label}, {panel}",
                values[column],
                centre,
                warn_above,
            )
    for index, (label, _) in enumerate(rows):
        figure.label(left - 12, 24 + index * ROW + ROW / 2, label)
    return figure.render()


def dot_range(values: Sequence[float], band: tuple[float, float]) -> tuple[float, float]:
    """A range with room on both sides of the band, and for all values. A long one will be on a log scale."""
    reach = 1.5 * (band[1] - band[0])
    low, high = min([band[0] - reach, *values]), max([band[1] + reach, *values])
    return (
        (max(low * 0.6, 0.1), high * 1.6)
        if high > 2.5
        else (math.floor(low * 10) / 10, math.ceil(high * 10) / 10)
    )


def dot_value(
    figure: Figure, along: Scale, y: float, label: str, value: float | None, centre: float, warn_above: float
) -> None:
    """A dot and its value, on the side away from the centre where there is room."""
    if value is None:
        return figure.text(along.start + 8, y + 4, "none", "soft")
    warned, text, x = value > warn_above, f"{value:.3f}", along(value)
    room = 9 + text_width(text)
    right = x + room <= along.end and (value >= centre or x - room < along.start)
    figure.dot(x, y, 4.5, "fw" if warned else "f1", f"{label}: {text}")
    figure.text(
        x + 9 if right else x - 9, y + 4, text, "warned" if warned else None, "start" if right else "end"
    )
