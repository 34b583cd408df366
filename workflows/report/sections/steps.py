"""Steps: what each took, and what was found in the store."""

from __future__ import annotations

from collections.abc import Sequence

from markup import Markup, Section, cut, digest, figure, join, key_figure, name_cell, note, state, table
from plots import Timing, timings
from receipts import Step
from run import Run
from text import dash, date, number, plural, seconds, verb

STATES = {"found": ("f3", "found in the store"), "computed": ("f1", "computed"), "not stored": ("f0", "not stored")}


def section(run: Run) -> Section | None:
    steps, hits = run.steps, [step for step in run.steps if step.cached]
    if not steps:
        return None
    lead = f"{number(len(hits))} of {plural(len(steps), 'step')} {verb(len(hits), 'was', 'were')} found in the store. "
    lead += f"All steps together took {seconds(sum(step.took_s for step in steps))}."
    saved = [note(saving(hits))] if hits else []
    parts = [*saved, times(steps), jobs_table(steps), steps_table(steps)]
    found = f"{number(len(hits))} of {number(len(steps))}"
    figures = [key_figure("hits", "Found in the store", found, len(hits), "steps of this run")]
    return Section("steps", "Steps", lead, parts, figures)


def saving(hits: list[Step]) -> str:
    wall, cpu = cost_cells(hits)
    took = seconds(sum(step.took_s for step in hits))
    return f"What was found had once cost {wall} of wall and {cpu} of CPU time. This run took {took} to find it."


def times(steps: list[Step]) -> Markup:
    rows = []
    for step in steps:
        wall, cpu = (step.cost.wall_s, step.cost.cpu_s) if step.cost else (None, None)
        rows.append(Timing(step.name, step.took_s, wall, cpu, step.cached, STATES[step.state][0]))
    shown, more = cut(list(zip(steps, rows)), lambda pair: max(pair[1].took, pair[1].wall or 0.0), "longest", "steps")
    key = [STATES[state] for state in STATES if any(step.state == state for step, _ in shown)]
    key += [("hollow", "computed earlier, spared now")] if any(step.cached for step, _ in shown) else []
    about = f"upper bar: this run; lower bar: wall time of the computation; upright mark: its CPU time.{more}"
    return figure("Time", about, timings("times", "Time of the steps", [row for _, row in shown], key))


def cost_cells(steps: Sequence[Step]) -> list[str]:
    """Wall and CPU time of the computations, where any is known."""
    known = [step.cost for step in steps if step.cost]
    spent = sum(cost.wall_s for cost in known), sum(cost.cpu_s for cost in known)
    return [seconds(time) if known else "–" for time in spent]


def jobs_table(steps: list[Step]) -> Markup:
    rows = []
    for job in dict.fromkeys(step.job for step in steps):
        own = [step for step in steps if step.job == job]
        counts = number(len(own)), *(dash(sum(step.state == state for step in own)) for state in STATES)
        builds = join(piece for build in sorted({step.build for step in own}) for piece in (digest(build), " "))
        rows.append([name_cell(job), *counts, *cost_cells(own), seconds(sum(step.took_s for step in own)), builds])
    columns = "job | #steps | #found | #computed | #not stored | #wall | #CPU | #this run | build"
    return table(columns, rows, "Jobs")


def steps_table(steps: list[Step]) -> Markup:
    rows = []
    for step in steps:
        times = *cost_cells([step]), seconds(step.took_s), date(step.cost.ended_at) if step.cost else "–"
        rows.append([name_cell(step.name), step.job, state(*STATES[step.state]), *times, digest(step.key)])
    return table("step | job | result | #wall | #CPU | #this run | computed at | key", rows, "Steps")
