"""Streams: how they were written, and what they hold."""

from __future__ import annotations

from pathlib import PurePosixPath

from markup import Markup, Section, bytes_cell, cut, digest, element, figure, folded_up, join, key_figure, name_cell
from markup import note, table
from plots import Part, stacked
from readers.streams import Held, Made, Stream
from run import Run
from text import between, number, percent, plural, reasons, roomy, size, verb

OUTCOMES = (Part("won", "f1"), Part("drawn", "f0"), Part("lost", "f2"))


def section(run: Run) -> Section | None:
    streams = run.streams
    if not streams:
        return None
    made, held = [s for s in streams if s.made], [s for s in streams if s.held]
    parts = [written_table(made)] if made else []
    parts += [outcome_plot(held), held_table(held)] if held else []
    parts.append(conventions_table(streams))
    return Section("streams", "Streams", lead(streams), parts, [] if run.sets else figures(streams))


def figures(streams: list[Stream]) -> list[Markup]:
    """Key figures where there are no sets yet."""
    records, total = sum(s.known.records for s in streams), sum(s.bytes or 0 for s in streams)
    return [
        key_figure("records", "Records", roomy(records), records, "in the streams"),
        key_figure("bytes", "Size of the streams", size(total), total, f"{number(total)} bytes"),
        key_figure("streams", "Streams", number(len(streams)), len(streams), "of MPK1"),
    ]


def lead(streams: list[Stream]) -> str:
    records, sizes = sum(s.known.records for s in streams), [s.bytes for s in streams if s.bytes is not None]
    holds = verb(len(streams), "holds", "hold")
    text = f"{plural(len(streams), 'stream')} {holds} {plural(records, 'record')}"
    text += f" in {size(sum(sizes))}." if sizes else "."
    for unit in ("row", "game"):
        made = [s.made for s in streams if s.made and s.made.unit == unit + "s"]
        refused = sum(item.refused for item in made)
        if refused:
            read = plural(sum(item.read for item in made), unit)
            text += f" Of {read}, {number(refused)} {verb(refused, 'was', 'were')} refused."
    nothing = all(s.made and not s.made.refused for s in streams)
    return text + (" Nothing was refused." if nothing else "")


def written_table(streams: list[Stream]) -> Markup:
    columns = "stream | from | #read | refused | #records | #candidates | #a record | #size | SHA-256"
    return table(columns, [written_row(s, s.made) for s in streams if s.made], "Streams as they were written")


def written_row(stream: Stream, made: Made) -> list[object]:
    origin: object = "–"
    if made.step.inputs:
        source = made.step.inputs[0]
        about = f"{source.path}, SHA-256 {source.sha256}"
        origin = element("span", PurePosixPath(source.path).name or source.path, title=about)
    read = plural(made.read, made.unit[:-1]) + (f", {number(made.unfinished)} unfinished" if made.unfinished else "")
    each = f"{made.candidates / made.records:,.2f}" if made.records else "–"
    counts = number(made.records), number(made.candidates), each
    file = bytes_cell(stream.bytes), digest(made.file.sha256 if made.file else None)
    return [
        name_cell(stream.name, stream.path),
        origin,
        read,
        reasons(made.refused, made.refused_by_reason),
        *counts,
        *file,
    ]


def outcome_plot(streams: list[Stream]) -> Markup:
    shown, more = cut(streams, lambda s: s.known.records, "largest", "streams")
    rows = [(s.name, s.held.outcomes) for s in shown if s.held]
    kinds = ", ".join(part.name for part in OUTCOMES)
    plot = stacked("outcomes", f"Records {kinds}", OUTCOMES, rows, shares=True)
    about = f"records by how the game ended for the side to move; their number is on the right.{more}"
    return figure("Outcomes", about, plot)


def held_table(streams: list[Stream]) -> Markup:
    columns = "stream | #won | #drawn | #lost | #Black to move | #mates | ply | candidates | cp or visits"
    return table(columns, [held_row(s, s.held) for s in streams if s.held], "What the streams hold")


def held_row(stream: Stream, held: Held) -> list[object]:
    if not held.records:
        return [name_cell(stream.name, stream.path), *["–"] * 8]
    scaled = dict(held.header)["mate_scale"] != "–"
    mates = element("span", number(held.mates), title=percent(held.mates, held.records)) if scaled else "–"
    values = [f"cp {between(held.cp)}"] if held.cp else []
    values += [f"visits {between(held.visits)}"] if held.visits else []
    counts = *map(number, held.outcomes), percent(held.black_to_move, held.records), mates
    spans = between(held.ply), between(held.candidates), "; ".join(values) or "–"
    return [name_cell(stream.name, stream.path), *counts, *spans]


def conventions_table(streams: list[Stream]) -> Markup:
    by: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for stream in streams:
        by.setdefault(stream.known.header, []).append(stream.name)
    rows = [[names_cell(names), *(value for _, value in header)] for header, names in by.items()]
    fields = "#mate scale | #mate slack | #eval_coef | #FV_SCALE | #packed bytes"
    whole = table(f"conventions of | point of view | policy from | {fields}", rows, "Conventions of the streams")
    told = "A dash is what a stream does not state. Streams of different conventions are never folded together."
    return join([whole, note(told)])


def names_cell(names: list[str]) -> Markup:
    """A few names, or their number with all of them behind it."""
    text = ", ".join(names)
    return name_cell(text) if len(names) <= 6 else folded_up(plural(len(names), "stream"), text)
