"""What receipts say of streams: how they were written, and what they hold."""

from __future__ import annotations

from dataclasses import dataclass

from names import named, same_file
from readers.conventions import Conventions, of_stream
from receipts import Counts, Fields, Output, Span, Step


@dataclass(frozen=True)
class Made:
    """A stream that `stream-write teacher` or `selfplay` wrote."""

    step: Step
    path: str
    unit: str
    read: int
    unfinished: int | None
    records: int
    candidates: int
    refused: int
    refused_by_reason: Counts
    header: Conventions
    file: Output | None


@dataclass(frozen=True)
class Held:
    """What `stream-write stats` found in a stream."""

    path: str
    sha256: str | None
    bytes: int
    records: int
    mates: int
    outcomes: tuple[int, int, int]
    black_to_move: int
    ply: Span
    candidates: Span
    cp: Span | None
    visits: Span | None
    header: Conventions


@dataclass
class Stream:
    """A stream: how it was written, what it holds, or both."""

    path: str
    made: Made | None = None
    held: Held | None = None
    name: str = ""

    @property
    def known(self) -> Made | Held:
        """What is known of it, preferably from the file itself."""
        known = self.held or self.made
        assert known
        return known

    @property
    def bytes(self) -> int | None:
        return self.held.bytes if self.held else self.made.file.bytes if self.made and self.made.file else None


def read_made(step: Step, report: Fields) -> list[Made]:
    """The report of `stream-write teacher` or `selfplay`."""
    unit, path = "games" if step.job.endswith("selfplay") else "rows", report.get("output", str)
    header, file = of_stream(report.object("header")), step.output(path)
    return [report.read(Made, step=step, path=path, unit=unit, read=report.count(unit), header=header, file=file)]


def read_held(step: Step, report: Fields) -> list[Held]:
    """The report of `stream-write stats`, a stream each."""
    files, inputs = report.objects("files"), step.input("stream")
    known = [file.sha256 for file in inputs] if len(inputs) == len(files) else [None] * len(files)
    return [read_one_held(fields, sha256) for fields, sha256 in zip(files, known)]


def read_one_held(fields: Fields, sha256: str | None) -> Held:
    """What was counted in one stream."""
    some = {name: fields.span(name) if fields.object(name).count("count") else None for name in ("cp", "visits")}
    outcomes, header = tuple(map(fields.count, ("won", "drawn", "lost"))), of_stream(fields.object("header"))
    path = fields.get("file", str)
    return fields.read(Held, path=path, sha256=sha256, outcomes=outcomes, header=header, **some)


def together(made: list[Made], held: list[Held]) -> list[Stream]:
    """Streams, each with what was counted in it: same bytes, or same file where no digest is known."""
    streams = [Stream(item.path, made=item) for item in made]
    for item in held:
        fits = [s for s in streams if s.made and not s.held and same_file(s.path, item.path)]
        fits = [s for s in fits if not s.made.file or not item.sha256 or s.made.file.sha256 == item.sha256]
        if fits:
            fits[0].held = item
        else:
            streams.append(Stream(item.path, held=item))
    return named(streams, ".mpk1")


READERS = {"stream-write teacher": read_made, "stream-write selfplay": read_made, "stream-write stats": read_held}
