#!/usr/bin/env python3
"""Reads a decision day and checks it, written from docs/formats/decision-day.md alone; needs pyarrow.

  read_day.py DATE.manifest.json    print a summary as one JSON line; exit 1 at the first thing that is wrong
"""
import hashlib, json, pathlib, sys
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

SLOTS, SUBMIT, UNKNOWN_BUCKET = 192, 192, 10
UNITS = dict(top=9, preevo=18, tool=36, energy=36)
ZONES = dict(self_deck=60, opp_deck=60, self_prize=6, opp_prize=6, self_hand=30, opp_hand=30, self_discard=60, opp_discard=60,
             stadium=2, effect=2)


def columns():
    """Name to (type, length); 1 where a row has one value."""
    of = {name: ("int32", 1) for name in "select_type select_context opponent_agent_bucket opponent_deck_bucket y step_id "
          "decision_id day_id".split()}
    of |= {name: ("float", 1) for name in "day_index_norm reward aux_prize_delta aux_return".split()}
    of |= {name: ("int8", 1) for name in "is_attack outcome is_self aux_ko aux_terminal aux_valid side substep new_episode "
           "terminal".split()}
    of |= {name: ("string", 1) for name in "player_name opponent_name player_deck_hash opponent_deck_hash".split()}
    of |= {"episode_id": ("int64", 1), "cls_scalars": ("float", 19), "opt_attr": ("float", SLOTS * 36)}
    of |= {"action_mask": ("float", SLOTS + 1), "opt_group": ("int32", SLOTS + 1)}
    of |= {f"opt_{name}": ("int32", SLOTS) for name in "verb src_pos tgt_pos src_card tgt_card attack_id".split()}
    for zone, slots in ZONES.items():
        of |= {f"{zone}_id": ("int32", slots), f"{zone}_mask": ("float", slots), f"{zone}_meta_bucket": ("int32", slots)}
    of |= {f"{zone}_flag": ("float", ZONES[zone]) for zone in ("self_deck", "opp_deck", "opp_hand")}
    for side in ("self", "opp"):
        of |= {f"{side}_unit_attr": ("float", 216), f"{side}_unit_mask": ("float", 9)}
        for part, slots in UNITS.items():
            of |= {f"{side}_unit_{part}_id": ("int32", slots), f"{side}_unit_{part}_meta_bucket": ("int32", slots)}
    return of


def check(good, what):
    if not good:
        raise ValueError(what)


def check_schema(schema):
    of = columns()
    check(len(of) == 90 and set(schema.names) == set(of), f"columns: {set(schema.names) ^ set(of)}")
    for field in schema:
        kind, length = of[field.name]
        wanted = kind if length == 1 else f"fixed_size_list<element: {kind} not null>[{length}]"
        check(str(field.type) == wanted and not field.nullable, f"{field.name} is {field.type}, not {wanted}")


def check_group(table, unknown):
    for name in table.column_names:
        values = table[name].combine_chunks()
        check(values.null_count == 0, f"{name} has nulls")
        flat = values.flatten() if pa.types.is_fixed_size_list(values.type) else values
        if pa.types.is_floating(flat.type):
            check(pc.all(pc.is_finite(flat)).as_py(), f"{name} is not finite")
        if name.endswith("_mask") or name.endswith("_flag"):
            check(pc.all(pc.is_in(flat, pa.array([0, 1], flat.type))).as_py(), f"{name} is neither 0 nor 1")
        if name.endswith("_bucket"):
            check(0 <= pc.min(flat).as_py() and pc.max(flat).as_py() <= UNKNOWN_BUCKET, f"{name} is out of range")
        if name.endswith("_id") and table.schema.field(name).type != flat.type and name != "opt_attack_id":
            check(0 <= pc.min(flat).as_py() and pc.max(flat).as_py() <= unknown, f"{name} is no card")
        if name.endswith("_pos"):
            check(-1 <= pc.min(flat).as_py() and pc.max(flat).as_py() <= 336, f"{name} is no token")
    legal = table["action_mask"].to_pylist()
    for row, (y, mask, group) in enumerate(zip(table["y"].to_pylist(), legal, table["opt_group"].to_pylist())):
        check(mask[y] == 1, f"row {row}: label {y} is not legal")
        check(all(g <= i and group[g] == g for i, g in enumerate(group)), f"row {row}: opt_group is no grouping")


def read_day(path):
    stated = json.loads(path.read_text())
    check((stated["format"], stated["schema_version"]) == ("foldline decision day", 1), f"{path}: no decision day of schema 1")
    file = path.with_name(f"{stated['date']}.parquet")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    check(digest == stated["parquet_sha256"], f"{file}: SHA-256 is {digest}, the manifest states {stated['parquet_sha256']}")
    day = pq.ParquetFile(file, page_checksum_verification=True)
    check_schema(day.schema_arrow)
    pairs = {key.decode(): text.decode() for key, text in day.metadata.metadata.items()}
    for key in ("format", "schema_version", "date", "encoder_version", "card_catalog_sha256", "unknown_card", "fingerprint"):
        check(pairs[key] == str(stated[key]), f"{key}: the footer states {pairs[key]}, the manifest {stated[key]}")
    groups = [day.metadata.row_group(i).num_rows for i in range(day.num_row_groups)]
    check(groups == stated["row_groups"] and sum(groups) == stated["rows"], f"{file}: row groups of {groups}")
    seen = set()
    for i in range(day.num_row_groups):
        table = day.read_row_group(i)
        episodes = list(dict.fromkeys(table["episode_id"].to_pylist()))
        check(not seen & set(episodes), f"row group {i}: an episode goes on from the one before")
        seen |= set(episodes)
        check_group(table, stated["unknown_card"])
    used = [member for member in stated["members"] if member["status"] == "used"]
    check(len(seen) == stated["episodes"] == len(used), f"{file}: {len(seen)} episodes")
    check(sum(sum(member["rows"]) for member in used) == stated["rows"], "rows of the members")
    return {"rows": sum(groups), "episodes": len(seen), "row_groups": len(groups)}


if __name__ == "__main__":
    try:
        print(json.dumps(read_day(pathlib.Path(sys.argv[1]))))
    except (ValueError, LookupError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
