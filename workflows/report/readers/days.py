"""What receipts say of decision days: what was scanned in archives, and what was built from them."""

from __future__ import annotations

from dataclasses import dataclass

from names import named
from receipts import Counts, Fields, Seconds, Step, Unusable, shown

STAGES = ("read", "parse", "encode", "write")
OUTCOMES = ("built", "cached", "unchanged", "planned")


@dataclass(frozen=True)
class LookAhead:
    """The audit of a day's would-KO features."""

    eligible: int
    computed: int
    zero_results: int
    valid_trials: int
    failed_trials: int
    skipped: int
    reasons: Counts


@dataclass
class Day:
    """A day that `day-build build` built, or found."""

    step: Step
    path: str
    outcome: str
    rows: int
    episodes: int
    row_groups: int
    bytes: int
    resumed: int
    episode_failures: Counts
    reproducible: bool
    stages: tuple[Seconds, ...]
    would_ko: LookAhead | None
    name: str = ""

    @property
    def failed(self) -> int:
        """Episodes without rows."""
        return sum(self.episode_failures.values())


@dataclass
class Scan:
    """An archive that `day-build scan` looked through."""

    step: Step
    path: str
    rated: int
    decks: int
    left_out: Counts
    name: str = ""


def read_built(step: Step, report: Fields) -> list[Day]:
    """The report of `day-build build`. A day that was only planned is none."""
    days = [(day, day.get("outcome", str)) for day in report.objects("days")]
    for day, outcome in days:
        if outcome not in OUTCOMES:
            raise Unusable(f"{day.at('outcome')} is {shown(outcome)}, none of {', '.join(OUTCOMES)}")
    return [read_day(step, day) for day, outcome in days if outcome != "planned"]


def read_day(step: Step, day: Fields) -> Day:
    """One day, and the audit of its look-ahead where it had one."""
    stages, audit = day.object("stages"), day.maybe("would_ko", day.object)
    would_ko = read_look_ahead(audit) if audit and audit.get("enabled", bool) else None
    times = tuple(stages.number(name, 0) for name in STAGES)
    return day.read(Day, step=step, path=day.get("day", str), stages=times, would_ko=would_ko)


def read_look_ahead(audit: Fields) -> LookAhead:
    """Trials, whose failures are a number or a number by reason."""
    skipped = audit.maybe("skipped", audit.count) or 0
    if not isinstance(audit.value.get("failed_trials"), dict):
        return audit.read(LookAhead, skipped=skipped, reasons={})
    reasons = {name: count for name, count in audit.counts("failed_trials").items() if count}
    return audit.read(LookAhead, skipped=skipped, failed_trials=sum(reasons.values()), reasons=reasons)


def read_scans(step: Step, report: Fields) -> list[Scan]:
    """The report of `day-build scan`. A scan that was only planned is none."""
    made = [scan for scan in report.objects("days") if not scan.get("planned", bool)]
    return [scan.read(Scan, step=step, path=scan.get("scan", str)) for scan in made]


def newest(items: list, *endings: str) -> list:
    """The newest of each path, by name."""
    by_path = {item.path: item for item in sorted(items, key=lambda item: item.step.ended_at)}
    return named(list(by_path.values()), *endings)


READERS = {"day-build scan": read_scans, "day-build build": read_built}
