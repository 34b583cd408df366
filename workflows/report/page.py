"""The page: its head, its sections, its style."""

from __future__ import annotations

import style
from markup import Markup, Section, element
from run import Run
from sections import SECTIONS
from text import date, plural

MARK = Markup(
    '<svg class="koma" viewBox="0 0 20 22" aria-hidden="true">'
    '<path d="M10 1 L16.6 4.6 L19 21 L1 21 L3.4 4.6 Z"></path>'
    '<path class="fold" d="M10 4 L10 18"></path></svg>'
)
META = Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">')
FOOT = (
    "Made from the receipts of this run alone. Sizes are binary: 1 KiB is 1,024 bytes. "
    "Point at a bar, a size or a digest for its exact value."
)


def page(run: Run, title: str) -> str:
    sections = [made for make in SECTIONS if (made := make(run))]
    main = element("main", head(run, title, sections), *(made.render() for made in sections), element("footer", FOOT))
    styles = Markup(f"<style>{style.PLOTS}{style.PAGE}</style>")
    top = element("head", META, element("title", title), styles)
    return f'<!doctype html>\n<html lang="en">{top}{element("body", main)}</html>\n'


def head(run: Run, title: str, sections: list[Section]) -> Markup:
    dates = [step.cost.ended_at for step in run.steps if step.cost]
    about = f"{plural(len(run.steps), 'receipt')}, newest result {date(max(dates)) if dates else 'not dated'}"
    about += f"; {plural(len(run.refused), 'receipt')} could not be used" if run.refused else ""
    links = [element("a", made.short or made.head, href=f"#{made.anchor}") for made in sections]
    return element(
        "header",
        element("p", MARK, "Foldline", cls="brand"),
        element("h1", title),
        element("p", about, cls="about"),
        element("nav", *links, aria_label="Sections"),
        element("dl", *(one for made in sections for one in made.figures), cls="keys"),
    )
