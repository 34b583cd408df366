#!/usr/bin/env python3
"""Holds a report of workflows/report to the receipts that it was made from; needs nothing but Python.

  check_report.py REPORT.html RECEIPTS_DIR [--refused N]

The page must be well-formed and self-contained, its plots must parse as XML and stay within their view, and
its main figures must be those of the receipts. N receipts, 0 if not given, must be named in it as unusable;
they are left out. Prints what was found as one JSON line; exit 1 where something is wrong.
"""

import argparse, json, math, pathlib, re, sys
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "wbr"}
FORBIDDEN = set(
    "script link img iframe object embed base image use foreignobject audio video source form".split()
)
REFERENCES = set("src srcset href xlink:href data action poster background ping formaction".split())
OUTSIDE = re.compile(r"@import|url\(|https?:|//|expression\(", re.I)
SETS = ("fold-pack fold", "fold-pack pack")


class Wrong(Exception):
    """What is wrong with the page."""


def expect(holds, what):
    if not holds:
        raise Wrong(what)


class Page(HTMLParser):
    """Nesting, references, identifiers, figures and refused receipts of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.figures, self.refused, self.text = [], set(), set(), {}, [], []
        self.named, self.cells, self.rows = [], [], []

    def handle_starttag(self, tag, attributes):
        names = dict(attributes)
        expect(len(names) == len(attributes), f"<{tag}> has an attribute twice")
        expect(tag not in FORBIDDEN, f"there is a <{tag}>")
        for name, value in attributes:
            self.attribute(tag, name, value or "")
        if tag == "data":
            self.figures[names["id"].removeprefix("figure-")] = names["value"]
        if tag == "meta":
            expect("http-equiv" not in names, "a <meta> stands for an HTTP header")
        self.named.append((tag, names.get("id"), names.get("class")))
        if tag not in VOID:
            self.open.append((tag, names))
            self.text.append("")

    def attribute(self, tag, name, value):
        expect(not name.startswith("on"), f"<{tag}> has a handler, {name}")
        if name in REFERENCES:
            expect(name == "href" and value.startswith("#"), f"<{tag}> refers to {value!r}")
            self.links.add(value[1:])
        if name == "style":
            expect(not OUTSIDE.search(value), f"the style of <{tag}> refers to something: {value!r}")
        if name == "id":
            expect(value not in self.ids, f"the id {value!r} is there twice")
            self.ids.add(value)
        if name in ("aria-labelledby", "aria-describedby"):
            self.links.update(value.split())

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        inner = self.open[-1][0] if self.open else "nothing"
        expect(inner == tag, f"</{tag}> closes {inner}")
        _, names = self.open.pop()
        text = self.text.pop()
        if tag == "style":
            expect(not OUTSIDE.search(text), "the style sheet refers to something outside")
        if tag == "data":
            shown = text.split(" of ")[0].replace(",", "")
            value = names["value"]
            expect(not shown.isdigit() or shown == value, f"{text!r} is shown where {value} is meant")
        if names.get("class") == "refused":
            self.refused.append(text)
        if tag == "td":
            self.cells.append(text)
        if tag == "tr":
            self.rows.append(self.cells)
            self.cells = []
        if self.text:
            self.text[-1] += text

    def handle_data(self, data):
        if self.text:
            self.text[-1] += data

    def finish(self):
        self.close()
        expect(not self.open, f"{[tag for tag, _ in self.open]} are never closed")
        expect(self.links <= self.ids, f"links lead nowhere: {sorted(self.links - self.ids)}")


# Plots

ALONG = {"x", "x1", "x2", "cx", "width"}
LENGTHS = {"r", "width", "height", "font-size"}
PLACES = ALONG | LENGTHS | {"y", "y1", "y2", "cy"}


def number(text, what):
    try:
        value = float(text)
    except ValueError:
        raise Wrong(f"{what} is {text!r}, no number") from None
    expect(math.isfinite(value), f"{what} is {text}")
    return value


def check_plot(text):
    """One SVG; the number of its shapes."""
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise Wrong(f"an SVG is no XML: {error}: {text[:80]}") from None
    left, top, width, height = (number(part, "a viewBox") for part in root.get("viewBox", "").split())
    expect(width > 0 and height > 0, "a viewBox is empty")
    if root.get("aria-hidden") != "true":
        expect(root.get("role") == "img", "a plot is no image to those who do not see it")
        expect([child.tag for child in root][:2] == ["title", "desc"], "a plot has no title and desc")
        expect(root[0].text and root[1].text, "a plot's title or desc is empty")
    shapes = list(root.iter())
    for shape in shapes[1:]:
        check_shape(shape, left, top, left + width, top + height)
    return len(shapes)


def check_shape(shape, left, top, right, bottom):
    expect("transform" not in shape.attrib, f"<{shape.tag}> is transformed, which this check doesn't follow")
    at = {
        name: number(value, f"{name} of <{shape.tag}>")
        for name, value in shape.attrib.items()
        if name in PLACES
    }
    expect(all(at[name] >= 0 for name in LENGTHS & at.keys()), f"<{shape.tag}> has a negative length: {at}")
    xs = [at[name] for name in ("x", "x1", "x2") if name in at]
    ys = [at[name] for name in ("y", "y1", "y2") if name in at]
    if shape.tag == "rect":
        xs, ys = [at["x"], at["x"] + at["width"]], [at["y"], at["y"] + at["height"]]
    if shape.tag == "circle":
        xs, ys = [at["cx"] - at["r"], at["cx"] + at["r"]], [at["cy"] - at["r"], at["cy"] + at["r"]]
    if shape.tag == "text":
        xs += text_ends(shape, at)
    if shape.tag == "path":
        parts = re.findall(r"[-+.\w]+", re.sub(r"[MLZ]", " ", shape.get("d")))
        places = [number(part, "a path") for part in parts]
        xs, ys = places[0::2], places[1::2]
    along = all(left - 0.05 <= x <= right + 0.05 for x in xs)
    down = all(top - 0.05 <= y <= bottom + 0.05 for y in ys)
    expect(
        along and down,
        f"it leaves the view {left, top, right, bottom}: {ET.tostring(shape, 'unicode')[:160]}",
    )


def text_ends(shape, at):
    """Where a text ends, for letters of a common width."""
    wide = 0.5 * at["font-size"] * len(shape.text or "")
    shares = {"middle": (-0.5, 0.5), "end": (-1,)}.get(shape.get("text-anchor"), (1,))
    return [at["x"] + share * wide for share in shares]


# Receipts


def receipts(folder, refused):
    for path in sorted(folder.rglob("*.json")):
        name = path.relative_to(folder).as_posix()
        hidden = any(part.startswith(".") for part in pathlib.PurePosixPath(name).parts)
        if path.is_file() and not hidden and name not in refused:
            yield json.loads(path.read_bytes())


def folded(steps):
    """The shards of each set that was folded: of the newest receipt of the whole set, or of all ranges."""
    newest, ranges = {}, {}
    for step in (step for step in steps if step["job"] in SETS):
        report, ended = step["report"], (step.get("cost") or {"ended_at": 0})["ended_at"]
        prefix = report["prefix"]
        ranges.setdefault(prefix, {}).update({shard["file"]: shard for shard in report["shards"]})
        if report.get("set") and ended > newest.get(prefix, (-1, []))[0]:
            newest[prefix] = ended, report["shards"]
    return [
        newest[prefix][1] if prefix in newest else list(known.values()) for prefix, known in ranges.items()
    ]


def counted_alone(steps, sets):
    """What was counted in sets that no receipt tells to have been folded."""
    known = {shard["sha256"] for shards in sets for shard in shards}
    for step in (step for step in steps if step["job"] == "fold-pack stats"):
        shards = {file["sha256"] for file in step["inputs"] if file["role"] == "shard"}
        if not shards & known and (shards or all(sets)):
            yield step["report"]


def days(steps):
    """The days that were built: of each path the newest receipt."""
    built = [step for step in steps if step["job"] == "day-build build"]
    built.sort(key=lambda step: (step.get("cost") or {"ended_at": 0})["ended_at"])
    known = {day["day"]: day for step in built for day in step["report"]["days"] if day["outcome"] != "planned"}
    return list(known.values())


def filled(row):
    """The cells that hold something."""
    return [cell for cell in row if cell != "–"]


def check_days(days, rows):
    """Every day is a row of a table with the receipt's counts, and one of another with its failures by reason."""
    for day in days:
        stem, failed = pathlib.PurePosixPath(day["day"]).stem, [count for count in day["episode_failures"].values() if count]
        own = [row[1:] for row in rows if row and row[0].endswith(stem)]
        counts = {f"{count:,}" for count in (day["rows"], day["episodes"], day["row_groups"], sum(failed)) if count}
        expect(any(counts <= set(row) for row in own), f"no row tells {day}")
        reasons = sorted(f"{count:,}" for count in (*failed, sum(failed)))
        expect(not failed or reasons in [sorted(filled(row)) for row in own], f"no row tells the failures of {day}")


def expected(steps):
    """Main figures, from the receipts alone."""
    sets, figures = folded(steps), {"hits": sum(step["cached"] for step in steps)}
    built = days(steps)
    if built:
        counts = {name: sum(day[name] for day in built) for name in ("rows", "episodes", "bytes")}
        counts["failures"] = sum(sum(day["episode_failures"].values()) for day in built)
        figures |= {"days": len(built)} | {f"day-{name}": count for name, count in counts.items()}
    shards, alone = [shard for own in sets for shard in own], list(counted_alone(steps, sets))
    if sets or alone:
        records, rows = (sum(one[name] for one in shards + alone) for name in ("records", "rows"))
        figures |= {"records": records, "rows": rows, "duplicates": records - rows}
        figures |= {"datasets": len(sets) + len(alone)}
    if sets:
        figures |= {"bytes": sum(shard["bytes"] for shard in shards)}
    return figures


def check(report, folder, refused):
    text = report.read_bytes().decode("utf-8")
    page = Page()
    page.feed(text)
    page.finish()
    expect(len(page.refused) == refused, f"refused are {page.refused} where {refused} are expected")
    plots = re.findall(r"<svg\b.*?</svg>", text, re.S)
    expect(len(plots) == sum(tag == "svg" for tag, *_ in page.named), "SVGs lie within one another")
    shapes = sum(map(check_plot, plots))
    steps = list(receipts(folder, page.refused))
    figures = expected(steps)
    check_days(days(steps), page.rows)
    for name, value in figures.items():
        found = page.figures.get(name)
        expect(found == str(value), f"{name} is {found} where the receipts say {value}")
    found = f"{figures['hits']:,} of {len(steps):,} step"
    expect(found in text, f"{found!r} isn't said")
    return {"plots": len(plots), "shapes": shapes, "steps": len(steps), **figures}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Holds a report to its receipts.")
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("receipts", type=pathlib.Path)
    parser.add_argument("--refused", type=int, default=0)
    args = parser.parse_args()
    try:
        print(json.dumps(check(args.report, args.receipts, args.refused)))
    except (Wrong, LookupError, ValueError, OSError) as error:
        sys.exit(f"{args.report}: {error}")
