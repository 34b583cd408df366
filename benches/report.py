"""What the benchmark says: medians, ratios, and the tables that show them."""

import statistics

MIB = 1 << 20
WIDTHS = (8, 44, 9, 9, 10)


def summary(steps, costs, compared):
    """The medians of one size of corpus, and the ratios that matter."""
    medians = {name: median(runs) for name, runs in costs.items()}
    peers = [name for name in costs if name.startswith("duckdb")]
    best = min(peers, key=lambda name: medians[name]["cpu_s"])

    def ratio(upper, lower):
        def of(cost):
            return sum(cost[name]["cpu_s"] for name in upper) / sum(cost[name]["cpu_s"] for name in lower)

        each = [of(dict(zip(costs, run, strict=True))) for run in zip(*costs.values(), strict=True)]
        return {"of_medians": of(medians), "least": min(each), "most": max(each)}

    return {
        "copies": steps.copies,
        "compared": compared,
        "medians": medians,
        "repetitions": costs,
        "ratios": {
            f"{best} / (stream-write + fold-pack)": ratio([best], ["stream-write", "fold-pack"]),
            "fold-pack / zstd -1": ratio(["fold-pack"], ["zstd"]),
        },
        "facts": steps.facts,
    }


def median(runs):
    """The median of each figure."""
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def lines(report):
    """The report as lines of Markdown, which read well on a terminal too."""
    machine, sizes = report["machine"], report["sizes"]
    yield f"Medians of {report['repeat']} repetitions; {report['threads']} threads for Foldline."
    yield f"{machine['cpu']}, {machine['cpus']} CPUs, load {machine['load']:.1f} at the start."
    yield f"zstd: {report['zstd']}."
    yield ""
    yield row("copies", "step", "CPU s", "wall s", "peak MiB")
    yield row("---:", "---", "---:", "---:", "---:")
    for size in sizes:
        for name, cost in size["medians"].items():
            seconds = (f"{cost[key]:.3f}" for key in ("cpu_s", "wall_s"))
            yield row(size["copies"], name, *seconds, mebibytes(cost))
    yield ""
    yield row("copies", "ratio of CPU seconds", "medians", "least", "most")
    yield row("---:", "---", "---:", "---:", "---:")
    for size in sizes:
        for name, ratio in size["ratios"].items():
            yield row(size["copies"], name, *(f"{ratio[key]:.2f}" for key in ("of_medians", "least", "most")))
    yield ""
    yield from growth(sizes)
    yield f"A peak below {mebibytes(machine['floor'])} MiB cannot be told from the measuring script's own."
    for size in sizes:
        yield f"{size['copies']} copies: {verdict(size['compared'])}."


def growth(sizes):
    """How the peak memory of the jobs grows from the smallest corpus to the largest."""
    first, last = sizes[0], sizes[-1]
    for name in ("stream-write", "fold-pack") if first is not last else ():
        small, large = first["medians"][name], last["medians"][name]
        yield (
            f"Peak memory of {name}: {mebibytes(small)} MiB at {first['copies']} copies, "
            f"{mebibytes(large)} MiB at {last['copies']} ({large['peak_bytes'] / small['peak_bytes']:.2f}x)."
        )


def verdict(compared):
    """The outcome of the comparison with the peer."""
    size = f"{compared['rows']} rows and {compared['candidates']} candidates"
    if compared["equal"]:
        return f"{size}, equal to the peer's in every row"
    return f"{size}, NOT the peer's: {compared['differ']}"


def mebibytes(cost):
    """The peak memory of a cost."""
    return f"{cost['peak_bytes'] / MIB:.1f}"


def row(*cells):
    """One line of a Markdown table; the second column is text, the others are numbers."""
    text = [str(cell).rjust(width) for cell, width in zip(cells, WIDTHS, strict=True)]
    text[1] = str(cells[1]).ljust(WIDTHS[1])
    return f"| {' | '.join(text)} |"
