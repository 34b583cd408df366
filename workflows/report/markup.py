"""Pieces of a page: elements whose content is escaped, tables, figures, sections."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from text import number, size

PLOTTED = 32
OPEN_ROWS = 24
DIGEST = re.compile(r"[0-9a-f]{64}")


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
    listed = ""
    for name, value in attributes.items():
        if value is not None:
            name = "class" if name == "cls" else name.replace("_", "-")
            listed += f' {name}="{escape(clean(value))}"'
    return Markup(f"<{tag}{listed}>{join(content)}</{tag}>")


def join(content: Iterable[object]) -> Markup:
    """Pieces behind one another, escaped where they are text."""
    return Markup("".join(p if isinstance(p, Markup) else escape(clean(p), quote=False) for p in content))


@dataclass(frozen=True)
class Section:
    """A part of the page, and its figures in the row at the top."""

    anchor: str
    head: str
    lead: str
    content: Sequence[object]
    figures: Sequence[Markup] = ()
    short: str | None = None

    def render(self) -> Markup:
        head, lead = element("h2", self.head), element("p", self.lead, cls="lead")
        return element("section", head, lead, *self.content, id=self.anchor)


def key_figure(name: str, label: str, text: str, value: int, below: str) -> Markup:
    """A figure of the row at the top. Its exact value is in the markup too, for programs."""
    shown = element("data", text, value=value, title=number(value), id=f"figure-{name}")
    return element("div", element("dt", label), element("dd", shown), element("dd", below, cls="below"))


def digest(sha256: str | None) -> Markup | str:
    """A digest cut short; the whole is in its tooltip."""
    if sha256 is None:
        return "–"
    return element("code", sha256[:10] if DIGEST.fullmatch(sha256) else sha256, title=sha256)


def bytes_cell(count: int | None) -> Markup | str:
    """Bytes with a binary prefix; the exact number is in the tooltip."""
    return "–" if count is None else element("span", size(count), title=f"{number(count)} bytes")


def name_cell(name: str, path: str | None = None) -> Markup:
    """What a row is about; the path is in the tooltip."""
    return element("b", name, title=path)


def state(colour: str, text: str) -> Markup:
    """How a result came about."""
    return element("span", text, cls=f"state {colour}")


def table(columns: str, rows: Sequence[Sequence[object]], what: str) -> Markup:
    """A table; a column whose name starts with # holds numbers. A long one is folded up under its name."""
    names = columns.split(" | ")
    kinds = ["n" if name.startswith("#") else None for name in names]
    heads = (element("th", name.lstrip("#"), cls=kind, scope="col") for name, kind in zip(names, kinds))
    body = [element("tr", *(element("td", cell, cls=kind) for cell, kind in zip(row, kinds))) for row in rows]
    caption = element("caption", what, cls="unseen")
    whole = element("table", caption, element("thead", element("tr", *heads)), element("tbody", *body))
    whole = element("div", whole, cls="wide")
    return whole if len(rows) <= OPEN_ROWS else folded_up(f"{what}: all {number(len(rows))}", whole)


def folded_up(summary: str, *content: object) -> Markup:
    """Content that opens when it's asked for."""
    return element("details", element("summary", summary), *content, cls="more")


def figure(head: str, about: str, plot: Markup) -> Markup:
    """A plot under its heading."""
    return element("figure", element("figcaption", element("b", head), " ", element("span", about)), plot)


def note(text: str) -> Markup:
    return element("p", text, cls="note")


def cut(items: Sequence[Any], by: Callable[[Any], float], which: str, what: str) -> tuple[list[Any], str]:
    """The items that a plot has room for, in their order, and a note where there are more."""
    if len(items) <= PLOTTED:
        return list(items), ""
    kept = sorted(range(len(items)), key=lambda index: -by(items[index]))[:PLOTTED]
    note = f" The {PLOTTED} {which} of {number(len(items))} {what} are drawn."
    return [items[index] for index in sorted(kept)], note
