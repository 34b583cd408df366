"""What the benchmark says: medians, ratios, and the tables that show them."""

import statistics

from steps import STATEMENTS

WIDTHS = (6, 42, 9, 9, 10)


def summary(steps, costs, compared):
    """The medians of one size of corpus, the ratios that matter, and what the comparison found."""
    medians = {name: median(runs) for name, runs in costs.items()}
    ratios = {}
    for sql in STATEMENTS:
        runs = [name for name in costs if name.startswith(f"DuckDB, {sql}")]
        best = min(runs, key=lambda name: medians[name]["cpu_s"])
        ratios[f"{best} / Foldline"] = ratio(costs, [best], ["stream-write", "fold-pack"])
    ratios["fold-pack / zstd -1"] = ratio(costs, ["fold-pack"], ["zstd -1"])
    return {
        "copies": steps.copies,
        "medians": medians,
        "ratios": ratios,
        "compared": compared,
        "repetitions": costs,
        "jobs": steps.reports,
    }


def median(runs):
    """The median of each figure."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def ratio(costs, upper, lower):
    """CPU seconds of some steps over those of others: of the medians, and the extremes by repetition."""

    def of(pick):
        above, below = (sum(pick(costs[name])["cpu_s"] for name in names) for names in (upper, lower))
        return above / below

    each = [of(lambda runs, n=n: runs[n]) for n in range(len(costs[upper[0]]))]
    return {"of_medians": of(median), "least": min(each), "most": max(each)}


def equal(compared):
    """Whether a fold of the peer is Foldline's: all that is counted beside its size are differences."""
    return not any(n for what, n in compared.items() if what not in ("rows", "candidates"))


def lines(report):
    """The report as lines of Markdown, which read well on a terminal too."""
    machine, sizes = report["machine"], report["sizes"]
    cpu = f"{machine['cpu']}, {machine['cpus']} cores"
    yield f"One run on one machine: {cpu}, load {machine['load']:.1f} at first."
    yield f"Figures are medians over {report['repeat']} repetitions, and ratios are of those medians."
    yield f"Foldline is stream-write + fold-pack, on all cores. {report['versions']}."
    yield ""
    yield row("copies", "step", "CPU s", "wall s", "peak MiB")
    yield row("---:", "---", "---:", "---:", "---:")
    for size in sizes:
        for name, cost in size["medians"].items():
            seconds = (f"{cost[key]:.3f}" for key in ("cpu_s", "wall_s"))
            yield row(size["copies"], name, *seconds, f"{mebibytes(cost):.1f}")
    yield ""
    yield row("copies", "ratio of CPU seconds", "medians", "least", "most")
    yield row("---:", "---", "---:", "---:", "---:")
    for size in sizes:
        for name, found in size["ratios"].items():
            figures = (f"{found[key]:.2f}" for key in ("of_medians", "least", "most"))
            yield row(size["copies"], name, *figures)
    yield ""
    yield "A ratio takes a DuckDB statement at the number of threads where it costs the least CPU."
    yield f"A peak below {mebibytes(machine['floor']):.1f} MiB cannot be told from the benchmark's own."
    for size in sizes:
        for sql, compared in size["compared"].items():
            verdict = "equal" if equal(compared) else f"NOT EQUAL: {compared}"
            held = f"{compared['rows']} rows, {compared['candidates']} candidates"
            yield f"{size['copies']} copies, {held}, against DuckDB's {sql} SQL: {verdict}."


def mebibytes(cost):
    """The peak memory of a cost."""
    return cost["peak_bytes"] / (1 << 20)


def row(*cells):
    """One line of a Markdown table; the second column is text, the others are numbers."""
    text = [str(cell).rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)]
    text[1] = str(cells[1]).ljust(WIDTHS[1])
    return f"| {' | '.join(text)} |"
