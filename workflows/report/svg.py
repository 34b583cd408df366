"""Figures as inline SVG: what plots are made of.

`Figure` places elements, and `Scale` places values; a new kind of plot needs no more. Every figure has a title
and a description for readers who do not see it. Labels are measured before they are placed: what does not fit
is shortened, thinned out or left to the tooltip, so that no two overlap.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markup import Markup, clean, element
from text import TIMES, compact, counts_to

SIZE = 11.0
NARROW, BROAD = frozenset("ijlI.,:;'|!()[]/ -"), frozenset("mwMW@%—…→\ufffd")


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
        share = (by(min(max(value, self.low), self.high)) - by(self.low)) / (by(self.high) - by(self.low))
        return self.start + share * (self.end - self.start)

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
        self.add("rect", tip, x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), cls=cls)

    def line(self, x1: float, y1: float, x2: float, y2: float, cls: str) -> None:
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, cls=cls)

    def dot(self, x: float, y: float, radius: float, cls: str, tip: str | None = None) -> None:
        self.add("circle", tip, cx=x, cy=y, r=radius, cls=cls)

    def text(
        self, x: float, y: float, text: str, cls: str | None = None, anchor: str | None = None, tip: str | None = None
    ) -> None:
        """A label whose base line is at y."""
        self.add("text", tip, text, x=x, y=y, font_size=SIZE, text_anchor=anchor, cls=cls)

    def label(self, room: float, middle: float, text: str) -> None:
        """A row's name, right-aligned in the room at the left."""
        short = fit(text, room)
        self.text(room, middle + 4, short, anchor="end", tip=text if short != text else None)

    def render(self) -> Markup:
        ids = f"{self.name}-title", f"{self.name}-desc"
        head = element("title", self.title, id=ids[0]), element("desc", self.desc, id=ids[1])
        wide, box = f"max-width:{at(self.width)}px", f"0 0 {at(self.width)} {at(self.height)}"
        named = {"viewBox": box, "role": "img", "style": wide, "aria_labelledby": " ".join(ids)}
        return element("svg", *head, *self.parts, cls="plot", **named)


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


def time_axis(figure: Figure, along: Scale, top: float, bottom: float, apart: float) -> None:
    """Ticks of a scale of seconds, in the unit in which one reads its end."""
    _, unit, name = next(entry for entry in TIMES if along.high >= entry[0])
    x_axis(figure, Scale(0.0, along.high / unit, along.start, along.end), top, bottom, lambda v: f"{v:g} {name}", apart)
