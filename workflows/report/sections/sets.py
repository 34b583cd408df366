"""Sets: what was folded away, and what each holds."""

from __future__ import annotations

from collections.abc import Sequence

from markup import OPEN_ROWS, Markup, Section, bytes_cell, cut, digest, element, figure, folded_up, join, key_figure
from markup import name_cell, note, table
from plots import Part, bars, group, histogram, stacked
from readers.conventions import Conventions
from readers.sets import Counted, DataSet, Folded
from run import Run
from text import between, mean, number, percent, plural, roomy, size, verb

OPEN_SETS = 4
KEPT = (Part("rows", "f1"), Part("duplicates", "f2"))
WORDS = {
    "policy": "policy from",
    "mate_scale": "mate scale",
    "mate_slack": "mate slack",
    "fv_scale": "FV_SCALE",
    "packed_len": "packed bytes",
    "shuffle_seed": "seed",
}


def section(run: Run) -> Section | None:
    sets, adding = run.sets, [one for one in run.sets if one.adds]
    if not sets:
        return None
    records, rows = (sum(one.totals[i] for one in adding) for i in (0, 1))
    away = records - rows
    lead = f"{plural(records, 'record')} became {plural(rows, 'row')} in {plural(len(adding), 'dataset')}. "
    told = f"{plural(away, 'duplicate')}, {percent(away, records)} of the records, "
    told += f"{verb(away, 'is', 'are')} in the weights of the rows."
    lead += told if away > 0 else "There were no duplicates."
    many = len(sets) > OPEN_SETS
    cards = [card(f"set-{index}", one, not many) for index, one in enumerate(sets)]
    if len(cards) > OPEN_ROWS:
        cards = [folded_up(f"Plots and shards: all {number(len(cards))} sets", *cards)]
    parts = [fold_plot(sets), sets_table(sets) if many else "", *cards]
    return Section("sets", "Sets", lead, parts, figures(adding, records, rows))


def figures(sets: list[DataSet], records: int, rows: int) -> list[Markup]:
    away, sizes = records - rows, [one.bytes for one in sets if one.bytes is not None]
    shards, total = plural(sum(one.shards for one in sets), "shard"), sum(sizes)
    size_of = [key_figure("bytes", "Size of the sets", size(total), total, f"{number(total)} bytes")] if sizes else []
    return [
        key_figure("records", "Records", roomy(records), records, "went into the sets"),
        key_figure("rows", "Rows", roomy(rows), rows, "one a position"),
        key_figure("duplicates", "Folded away", percent(away, records), away, plural(away, "duplicate")),
        *size_of,
        key_figure("datasets", "Datasets", number(len(sets)), len(sets), f"in {shards}"),
    ]


def fold_plot(sets: list[DataSet]) -> Markup:
    shown, more = cut(sets, lambda one: one.totals[0], "largest", "sets")
    rows = [(one.name, (one.totals[1], one.totals[0] - one.totals[1])) for one in shown]
    plot = stacked("folds", "Rows and duplicates", KEPT, rows)
    about = f"rows that are left, and duplicates that were folded into them; their sum is on the right.{more}"
    return figure("Records to rows", about, plot)


def sets_table(sets: list[DataSet]) -> Markup:
    rows = []
    for one in sets:
        records, kept = one.totals
        counts = *map(number, (records, kept, records - kept)), percent(records - kept, records)
        rows.append([name_cell(one.name, one.path), *counts, number(one.shards), bytes_cell(one.bytes)])
    return table("set | #records | #rows | #duplicates | #folded away | #shards | #size", rows, "Sets")


def card(name: str, one: DataSet, opened: bool) -> Markup:
    records, rows = one.totals
    about = f"{plural(records, 'record')} → {plural(rows, 'row')}"
    about += f", {percent(records - rows, records)} folded away" if records else ""
    about += ", of some ranges" if one.folded and not one.folded.whole else ""
    summary = element("summary", element("h3", one.name, title=one.path), element("span", about))
    parts = [facts(one)]
    if one.counted and one.counted.rows:
        parts.append(histograms(name, one.name, one.counted))
    if one.folded:
        parts += [shards_table(one.folded), conventions_line(one.folded.conventions)]
    return element("details", summary, *parts, cls="card", open="open" if opened else None)


def facts(one: DataSet) -> Markup:
    records, rows = one.totals
    pairs: list[tuple[str, object]] = [("duplicates", number(records - rows))]
    if one.bytes is not None:
        each = f", {one.bytes / rows:,.1f} bytes a row" if rows else ""
        pairs.append(("size", join([bytes_cell(one.bytes), each])))
    counted = one.counted if rows else None
    if counted:
        mates = f"{number(counted.mates)} rows, {percent(counted.mates, counted.rows)}"
        pairs += [
            ("mean value_z", mean(counted.value_z_mean)),
            ("mean value_q", mean(counted.value_q_mean)),
            ("led by a mate score", "no mate scale" if one.folded and not one.folded.mate_scale else mates),
            ("Black to move", percent(counted.black_to_move, counted.rows)),
            ("ply", f"{number(counted.ply[0])} to {number(counted.ply[1])}"),
            ("greatest weight", number(counted.greatest_weight)),
        ]
    return element("dl", *(element("div", element("dt", n), element("dd", v)) for n, v in pairs), cls="facts")


def histograms(name: str, of: str, counted: Counted) -> Markup:
    drawn = []
    for kind, unit, counts, wide, values in (
        ("ply", "plies", counted.bins.ply_by_10, 10, counted.ply),
        ("candidates", "moves", counted.bins.candidates, 1, counted.candidates),
    ):
        desc = f"Columns of rows by {kind}, which is {between(values)}."
        plot = histogram(f"{name}-{kind}", f"{of}: rows by {kind}", desc, counts, wide, kind, values[2])
        wide = group(counts, wide)[1]
        about = f"rows by {number(wide)} {unit}" if wide > 1 else f"rows by number of {unit}"
        drawn.append(figure(kind.capitalize(), about, plot))
    bins = weight_bins(counted.bins.weight_log2)
    plot = bars(f"{name}-weight", f"{of}: rows by weight", bins, log=True, least_height=190)
    drawn.append(figure("Weight", "rows by records in them; log scale", plot))
    return element("div", *drawn, cls="three")


def weight_bins(counts: Sequence[int]) -> list[tuple[str, int]]:
    spans = [(2**index, 2 ** (index + 1) - 1) for index in range(len(counts))]
    labels = [number(least) if least == most else f"{number(least)} to {number(most)}" for least, most in spans]
    return list(zip(labels, counts))


def shards_table(folded: Folded) -> Markup:
    if not folded.shards:
        return note("No records, so no shards.")
    rows = []
    for shard in folded.shards:
        counts = shard.records, shard.rows, shard.records - shard.rows, shard.bytes
        rows.append([name_cell(shard.file), *map(number, counts), digest(shard.sha256)])
    columns = "shard | #records | #rows | #duplicates | #bytes | SHA-256"
    some = "The receipts tell of some ranges. These shards are not the whole set."
    return join([table(columns, rows, f"Shards of {folded.prefix}"), "" if folded.whole else note(some)])


def conventions_line(conventions: Conventions) -> Markup:
    pairs = [element("span", WORDS.get(name, name), " ", element("b", value)) for name, value in conventions]
    return element("p", *pairs, cls="conventions")
