"""Curves over steps, such as a training's: several series, each named at its end.

`python3 workflows/report/lines.py > curves.html` draws an example, and checks that no two names overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import fmean

from markup import Markup, element, join
from plots import WIDE
from svg import Figure, Scale, at, fit, text_width, x_axis
from text import counts_to

Point = tuple[float, float]
ORDER = (1, 2, 3, 4, 5, 6, 7, 0)
LINE = 14.0


@dataclass(frozen=True)
class Column:
    """What is seen of the values that fall on one pixel."""

    step: float
    low: float
    mean: float
    high: float

    @classmethod
    def of(cls, points: Sequence[Point]) -> Column:
        values = [value for _, value in points]
        return cls(fmean(step for step, _ in points), min(values), fmean(values), max(values))


@dataclass(frozen=True)
class Series:
    """Values by step, in the order of steps. What is None, or not finite, is missing, and leaves a gap."""

    name: str
    values: Sequence[tuple[float, float | None]]

    def runs(self, log: bool) -> list[list[Point]]:
        """What lies between gaps. A log scale has no place for 0 and below."""
        runs: list[list[Point]] = [[]]
        for step, value in self.values:
            if value is not None and math.isfinite(value) and (value > 0 or not log):
                runs[-1].append((step, value))
            elif runs[-1]:
                runs.append([])
        return [run for run in runs if run]


def lines(name: str, title: str, desc: str, series: Sequence[Series], log: bool = False, height: float = 300) -> Markup:
    """Curves of several series over one range of steps."""
    drawn = [(ORDER[index % 8], one.name, one.runs(log)) for index, one in enumerate(series)]
    drawn = [curve for curve in drawn if curve[2]]
    points = [point for *_, runs in drawn for run in runs for point in run]
    figure = Figure(name, title, desc, WIDE, max(height, len(drawn) * LINE + 40) if points else 20)
    if not points:
        figure.text(0, 14, "no values", "soft")
        return figure.render()
    top, bottom = 10.0, figure.height - 24
    up = Scale(*value_range([value for _, value in points], log), bottom, top, log)
    said = [fit(f"{label} {value_text(runs[-1][-1][1])}", 240) for _, label, runs in drawn]
    ticks = value_ticks(up)
    left, right = max(text_width(text) for _, text in ticks) + 8, WIDE - max(map(text_width, said)) - 26
    first, last = min(step for step, _ in points), max(step for step, _ in points)
    along = Scale(first, last if last > first else first + 1, left, right)
    for value, text in ticks:
        figure.line(left, up(value), right, up(value), "grid")
        figure.text(left - 8, up(value) + 4, text, "soft", "end")
    x_axis(figure, along, top, bottom, counts_to(last), grid=False)
    ends = []
    for colour, label, runs in drawn:
        seen = [thin(run, along) for run in runs]
        for columns in seen:
            draw(figure, columns, along, up, colour, label)
        ends.append((along(seen[-1][-1].step), up(seen[-1][-1].mean)))
    for (colour, *_), text, (x, y), place in zip(drawn, said, ends, spread([y for _, y in ends], top, bottom)):
        figure.add("path", d=path([(x + 3, y), (right + 4, y), (right + 18, place)]), cls=f"curve leader c{colour}")
        figure.text(right + 22, place + 4, text, f"f{colour}")
    return figure.render()


def draw(figure: Figure, columns: list[Column], along: Scale, up: Scale, colour: int, label: str) -> None:
    """A curve between gaps, over a band from least to greatest where a pixel has several; a value alone is a dot."""
    means = [(along(column.step), up(column.mean)) for column in columns]
    if any(column.low < column.high for column in columns):
        edge = [(x, up(column.high)) for (x, _), column in zip(means, columns)]
        edge += [(x, up(column.low)) for (x, _), column in zip(means[::-1], columns[::-1])]
        figure.add("path", d=path(edge) + " Z", cls=f"f{colour} spread")
    if len(means) == 1:
        figure.dot(*means[0], 2, f"f{colour}", label)
    else:
        figure.add("path", label, d=path(means), cls=f"curve c{colour}")


def path(places: Sequence[Point]) -> str:
    return "M" + " L".join(f"{at(x)} {at(y)}" for x, y in places)


def thin(run: Sequence[Point], along: Scale) -> list[Column]:
    """A run as columns, each as wide as a pixel."""
    pixels = groupby(run, lambda point: int(along(point[0])))
    return [Column.of(list(points)) for _, points in pixels]


def value_range(values: Sequence[float], log: bool) -> tuple[float, float]:
    """From least to greatest, with a little room; never empty."""
    low, high = min(values), max(values)
    if log:
        return (low / 1.1, high * 1.1) if high > low * 1.5 else (low / 2, high * 2)
    room = (high - low) * 0.04 or abs(high) * 0.1 or 1.0
    return low - room, high + room


def value_ticks(up: Scale) -> list[tuple[float, str]]:
    """Round values and their texts. A log scale over less than two decades has 2 and 5 between them."""
    ticks = up.ticks(40)
    if up.log and len(ticks) < 3:
        powers = range(math.floor(math.log10(up.low)), math.ceil(math.log10(up.high)) + 1)
        ticks = [
            digit * 10.0**power for power in powers for digit in (1, 2, 5) if up.low <= digit * 10.0**power <= up.high
        ]
    if up.log and len(ticks) < 2:
        ticks = [up.low, up.high]
    return [(tick, value_text(0.0 if abs(tick) < 1e-12 * up.high else tick)) for tick in ticks]


def value_text(value: float) -> str:
    """A value to four digits."""
    return f"{value:.4g}".replace("-", "−")


def spread(wanted: Sequence[float], top: float, bottom: float) -> list[float]:
    """Places near the wanted ones, in their order, at least a line apart and within the plot."""
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    placed = list(wanted)
    for before, index in zip([None, *order], order):
        least = top if before is None else placed[before] + LINE
        placed[index] = max(placed[index], least)
    for after, index in zip([None, *order[::-1]], order[::-1]):
        most = bottom if after is None else placed[after] - LINE
        placed[index] = min(placed[index], most)
    return placed


def example() -> str:
    """Curves as of a training, whose names would overlap; with noise, a gap, values alone, a missing end."""
    steps = range(0, 60_000, 5)

    def fall(of: float) -> list[Point]:
        noise = [0.05 * math.sin(s * 12.9898 + of) * math.cos(s * 4.1414 + of * 7) for s in steps]
        return [(s, (1.2 + of) * math.exp(-s / 9e3) + 0.25 + of / 8 + n) for s, n in zip(steps, noise)]

    gap = [(s, None if 20_000 < s < 30_000 or s > 52_000 else v) for s, v in fall(5)]
    few = [(s, v if s % 6000 == 0 else math.nan) for s, v in fall(7)]
    curves = [Series(f"loss of head {of}", fall(of / 9)) for of in range(6)]
    curves += [
        Series("validation loss", gap),
        Series("a few values, and a name that is much longer than there is room", few),
    ]
    plots = [lines("log", "Losses, log scale", "Falling curves", curves, log=True)]
    plots += [
        lines("flat", "Losses", "Falling curves", curves),
        lines("one", "Constant", "A line", [Series("lr", [(1, 3e-4), (9, 3e-4)])]),
    ]
    plots += [lines("none", "Nothing", "Nothing", [Series("nothing", [(0, None)])], log=True)]
    for wanted in ([5.0] * 20, [290.0, 1.0, 289.0], [-40.0, 900.0], [*map(float, range(20))]):
        placed = sorted(spread(wanted, 10, 10 + 20 * LINE))
        assert all(b - a >= LINE - 1e-9 for a, b in zip(placed, placed[1:])) and placed[0] >= 10 and placed[-1] <= 290
    return join(element("figure", plot) for plot in plots)


if __name__ == "__main__":
    import style

    print(f'<!doctype html><meta charset="utf-8"><style>{style.PLOTS}{style.PAGE}</style><main>{example()}</main>')
