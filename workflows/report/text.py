"""Figures as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime, timezone


def number(value: float) -> str:
    """A count with thousands separators."""
    return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"


def dash(count: int) -> str:
    """A count, with a dash for nothing."""
    return number(count) if count else "–"


def plural(count: int, one: str) -> str:
    """A count with its noun."""
    return f"{number(count)} {one if count == 1 else one + 's'}"


def verb(count: int, one: str, many: str) -> str:
    """The form of a verb for a count."""
    return one if count == 1 else many


def reasons(total: int, by_reason: dict[str, int]) -> str:
    """A count with what it is made of."""
    parts = ", ".join(f"{number(count)} {name}" for name, count in by_reason.items())
    return f"{number(total)}: {parts}" if parts else dash(total)


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


def date(at: int) -> str:
    """Seconds since 1970 as a date."""
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def mean(value: float) -> str:
    """A mean between −1 and 1, with its sign."""
    return f"{value:+.4f}".replace("-", "−")


def between(values: tuple[int, int, float] | None) -> str:
    """Least, greatest and mean; or the one value, where all are alike."""
    if values is None:
        return "–"
    least, greatest, average = values
    many = f"{number(least)} to {number(greatest)}, mean {average:,.2f}"
    return (number(least) if least == greatest else many).replace("-", "−")


PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
TIMES = ((7200.0, 3600.0, "h"), (180.0, 60.0, "min"), (1.0, 1.0, "s"), (1e-3, 1e-3, "ms"), (0.0, 1e-6, "µs"))


def compact(value: float) -> str:
    """A count, short: 12,500 is 12.5k. Below 10,000 it's as it is."""
    return counts_to(value)(value)


def counts_to(greatest: float) -> Callable[[float], str]:
    """How ticks of an axis that reaches this far are written: all with one prefix."""
    if greatest < 1e4:
        return lambda value: f"{value:,g}"
    unit, prefix = next(entry for entry in PREFIXES if greatest >= entry[0])
    return lambda value: f"{value / unit:g}{prefix}" if value else "0"


def roomy(count: int) -> str:
    """A count for the row at the top: exact where there is room."""
    return number(count) if count < 10**10 else compact(float(f"{count:.4g}"))
