"""Conventions of streams and sets, in the words of the formats' pages."""

from __future__ import annotations

from receipts import Fields
from text import number

Conventions = tuple[tuple[str, str], ...]
STATED = ("mate_scale", "mate_slack", "eval_coef", "fv_scale")


def plain(value: float | None) -> str:
    """A stated number, or a dash."""
    return "–" if value is None else number(value) if value == int(value) else f"{value:,}"


def of_stream(fields: Fields) -> Conventions:
    """A stream's conventions."""
    pov, policy = fields.get("pov", str), fields.get("policy_source", str)
    return (
        ("view", {"mover": "side to move", "black": "Black"}.get(pov, pov)),
        ("policy", {"cp": "scores", "visits": "visits"}.get(policy, policy)),
        *((name, plain(fields.maybe(name, fields.number))) for name in STATED),
        ("packed_len", number(fields.count("packed_len"))),
    )


def of_set(fields: Fields) -> Conventions:
    """A set's conventions. There 0 is none, but for a slack beside a mate scale."""
    pov, policy = fields.count("pov"), fields.count("policy_source")
    given = {name: fields.number(name) or None for name in (*STATED, "temperature")}
    if given["mate_scale"]:
        given["mate_slack"] = fields.number("mate_slack")
    return (
        ("view", {0: "side to move", 1: "Black"}.get(pov, str(pov))),
        ("policy", {0: "visits", 1: "scores"}.get(policy, str(policy))),
        *((name, plain(value)) for name, value in given.items()),
        *((name, number(fields.count(name))) for name in ("packed_len", "shuffle_seed")),
    )
