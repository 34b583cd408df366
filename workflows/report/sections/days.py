"""Decision days: what their archives held, and what was built from them."""

from __future__ import annotations


from markup import Markup, Section, bytes_cell, cut, figure, join, key_figure, name_cell, note, state, table
from plots import Part, stacked
from readers.days import STAGES, Day, Scan
from run import Run
from text import dash, number, percent, plural, reasons, roomy, size, verb

REASONS = {
    "draw": "f0",
    "no_reward": "f2",
    "malformed": "f4",
    "duplicate": "f6",
    "illegal_label": "f7",
    "timeout": "f5",
    "no_rows": "f1",
}
STAGE_PARTS = [Part(name, cls) for name, cls in zip(STAGES, ("f0", "f6", "f1", "f2"))]
TOLD = (Part("a result above 0", "f1"), Part("a result of 0", "f0"), Part("no result", "f2"))
STATES = {"built": ("f1", "computed"), "cached": ("f3", "found in the store"), "unchanged": ("f0", "was there")}


def section(run: Run) -> Section | None:
    days, scans = run.days, run.scans
    if not days and not scans:
        return None
    parts = [rows_plot(days), days_table(days)] if days else []
    failed, staged = [day for day in days if day.failed], [day for day in days if any(day.stages)]
    parts += [failures(failed)] if failed else []
    parts += [stages_plot(staged)] if staged else []
    audited = [day for day in days if day.would_ko]
    parts += [audit(audited)] if audited else []
    parts += [scans_table(scans)] if scans else []
    lead = f"{days_lead(days) if days else ''} {scans_lead(scans) if scans else ''}".strip()
    return Section("days", "Days", lead, parts, figures(days) if days else [])


def totals(days: list[Day]) -> tuple[int, int, int, int]:
    """Rows, episodes with rows, episodes without, and bytes."""
    episodes, failed = sum(day.episodes for day in days), sum(day.failed for day in days)
    return sum(day.rows for day in days), episodes, failed, sum(day.bytes for day in days)


def figures(days: list[Day]) -> list[Markup]:
    rows, episodes, failed, total = totals(days)
    bytes_each, groups = each(total, rows), plural(sum(day.row_groups for day in days), "row group")
    return [
        key_figure("day-rows", "Rows", roomy(rows), rows, "one a choice"),
        key_figure("day-episodes", "Episodes", roomy(episodes), episodes, "have rows"),
        key_figure(
            "day-failures", "Without rows", percent(failed, episodes + failed), failed, plural(failed, "episode")
        ),
        key_figure("day-bytes", "Size of the days", size(total), total, f"{bytes_each} bytes a row"),
        key_figure("days", "Days", number(len(days)), len(days), f"in {groups}"),
    ]


def each(total: int, count: int) -> str:
    """How much each of some has on average."""
    return f"{total / count:,.1f}" if count else "–"


def days_lead(days: list[Day]) -> str:
    rows, episodes, failed, total = totals(days)
    holds, seen = verb(len(days), "holds", "hold"), plural(episodes + failed, "episode")
    lead = (
        f"{plural(len(days), 'day')} {holds} {plural(rows, 'row')} of {plural(episodes, 'episode')} in {size(total)}."
    )
    told = f" Of {seen}, {number(failed)} {verb(failed, 'is', 'are')} without rows."
    lead += told if failed else " Every episode has rows."
    resumed, unsure = sum(day.resumed for day in days), sum(not day.reproducible for day in days)
    if resumed:
        lead += f" {plural(resumed, 'episode')} {verb(resumed, 'was', 'were')} there from a run that had been stopped."
    if unsure:
        lead += f" {plural(unsure, 'day')} may come out otherwise when built again, since a time-out cut something."
    return lead


def rows_plot(days: list[Day]) -> Markup:
    shown, more = cut(days, lambda day: day.rows, "largest", "days")
    plot = stacked("day-sizes", "Rows by day", [Part("rows", "f1")], [(day.name, [day.rows]) for day in shown])
    return figure("Rows", f"by day; their number is on the right.{more}", plot)


def failures(days: list[Day]) -> Markup:
    """Episodes without rows, by reason: those that are known by name have colours of their own."""
    found = {name for day in days for name, count in day.episode_failures.items() if count}
    used = [name for name in REASONS if name in found] + sorted(found - REASONS.keys())
    counts = {id(day): [day.episode_failures.get(name, 0) for name in used] for day in days}
    parts = [Part(words(name), REASONS.get(name, "f3")) for name in used]
    shown, more = cut(days, lambda day: day.failed, "with the most", "days")
    said = [f"{number(day.failed)} of {number(day.failed + day.episodes)}" for day in shown]
    rows = [(day.name, counts[id(day)]) for day in shown]
    plot = stacked("day-failed", "Episodes without rows, by reason", parts, rows, said=said)
    listed = [[name_cell(day.name, day.path), *map(dash, counts[id(day)]), number(day.failed)] for day in days]
    whole = table(" | #".join(["day", *map(words, used), "together"]), listed, "Episodes without rows")
    return join([figure("Episodes without rows", f"by reason; of all episodes, on the right.{more}", plot), whole])


def words(name: str) -> str:
    return name.replace("_", " ")


def reasons_of(counts: dict[str, int]) -> str:
    """A count, and the reasons that it is made of."""
    return reasons(sum(counts.values()), {words(name): count for name, count in counts.items() if count})


def stages_plot(days: list[Day]) -> Markup:
    shown, more = cut(days, lambda day: sum(day.stages), "longest", "days")
    rows = [(day.name, day.stages) for day in shown]
    plot = stacked("day-stages", f"Time to {', '.join(STAGES)}", STAGE_PARTS, rows, times=True)
    about = f"of all threads together, when the day was computed; their sum is on the right.{more}"
    return figure("Time by stage", about, plot)


def days_table(days: list[Day]) -> Markup:
    rows = []
    for day in days:
        result = [state(*STATES[day.outcome]), "" if day.reproducible else ", with time-outs"]
        counts = (
            number(day.episodes),
            dash(day.failed),
            dash(day.resumed),
            number(day.rows),
            each(day.rows, day.episodes),
        )
        sizes = number(day.row_groups), bytes_cell(day.bytes), each(day.bytes, day.rows)
        rows.append([name_cell(day.name, day.path), join(result), *counts, *sizes])
    columns = "#episodes | #without rows | #resumed | #rows | #an episode | #row groups | #size | #bytes a row"
    return table(f"day | result | {columns}", rows, "Days")


def audit(days: list[Day]) -> Markup:
    shown, more = cut(days, lambda day: day.would_ko.eligible, "largest", "days")
    bars = [(day.name, told(day)) for day in shown]
    plot = stacked("day-would-ko", "Options with a look-ahead", TOLD, bars, shares=True)
    rows = []
    for day in days:
        ko, name = day.would_ko, name_cell(day.name, day.path)
        counts = *map(number, (ko.eligible, ko.computed)), percent(ko.computed, ko.eligible), number(ko.zero_results)
        failed = reasons_of(ko.reasons) if ko.reasons else dash(ko.failed_trials)
        rows.append([name, *counts, dash(ko.skipped), number(ko.valid_trials), failed])
    columns = "day | #options | #results | #share | #results of 0 | #not tried | #valid trials | failed trials"
    about = f"options that may knock out (would-KO), by what their trials gave; their number is on the right.{more}"
    return join([figure("Look-ahead", about, plot), table(columns, rows, "Look-ahead")])


def told(day: Day) -> tuple[int, int, int]:
    """Options with a result, with one that is 0, and without."""
    ko = day.would_ko
    return max(ko.computed - ko.zero_results, 0), min(ko.zero_results, ko.computed), max(ko.eligible - ko.computed, 0)


def scans_lead(scans: list[Scan]) -> str:
    rated, archives = sum(scan.rated for scan in scans), plural(len(scans), "archive")
    return f"{plural(rated, 'episode')} of {archives} {verb(rated, 'counts', 'count')} for ratings."


def scans_table(scans: list[Scan]) -> Markup:
    rows = []
    for scan in scans:
        counts = number(scan.rated), number(scan.decks), reasons_of(scan.left_out)
        rows.append([name_cell(scan.name, scan.path), *counts])
    whole = table("archive | #rated episodes | #decks | left out", rows, "Scans")
    return join([note("What scans found in the archives, which ratings are made from:"), whole])
