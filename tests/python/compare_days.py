#!/usr/bin/env python3
"""Compares days with pyarrow.

  compare_days.py labels ARCHIVE.zip DAY.parquet   the first label of every decision against the archive: equal to the
                                                   side's action of the next step, and not to that of the same step
  compare_days.py features A.parquet B.parquet SIDE  every feature of that side's rows is equal
"""
import json, sys, zipfile
import pyarrow.compute as pc
import pyarrow.parquet as pq

TARGETS = ("y is_attack outcome reward aux_ko aux_prize_delta aux_terminal aux_return aux_valid terminal").split()


def labels(archive, day):
    columns = ["episode_id", "side", "step_id", "substep", "y"]
    rows = pq.read_table(day, columns=columns).to_pylist()
    first = {(r["episode_id"], r["side"], r["step_id"]): r["y"] for r in rows if r["substep"] == 0}
    picks = lambda action: action.get("action") if isinstance(action, dict) else action
    episodes, right, same = {}, 0, 0
    with zipfile.ZipFile(archive) as members:
        for name in members.namelist():
            episodes[int(name[:-5])] = json.loads(members.read(name))["steps"]
    for (episode, side, step), y in first.items():
        steps = episodes[episode]
        right += y == (picks(steps[step + 1][side]["action"]) or [192])[0]
        same += y == (picks(steps[step][side]["action"]) or [192])[0]
    if right != len(first):
        sys.exit(f"{right} of {len(first)} labels are those of the next step")
    if same > 0.9 * len(first):
        sys.exit(f"{same} of {len(first)} labels are also those of the same step: nothing is shown")
    print(json.dumps({"decisions": len(first), "next": right, "same": same}))


def features(a, b, side):
    tables = [pq.read_table(path) for path in (a, b)]
    a, b = (t.filter(pc.equal(t["side"], int(side))) for t in tables)
    differ = [c for c in a.column_names if c not in TARGETS and not a[c].equals(b[c])]
    if differ or not a.num_rows:
        sys.exit(f"{a.num_rows} rows; columns that differ: {differ}")
    print(json.dumps({"rows": a.num_rows}))


if __name__ == "__main__":
    {"labels": labels, "features": features}[sys.argv[1]](*sys.argv[2:])
