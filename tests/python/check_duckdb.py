#!/usr/bin/env python3
"""Opens the shards of a folded set with DuckDB and holds them to the set; needs duckdb.

  check_duckdb.py SET.json    print what was found as one JSON line; exit 1 where it differs from the set
"""
import json, pathlib, sys

import duckdb

TYPES = [("packed", "BLOB"), ("ply", "USMALLINT"), ("value_z", "FLOAT"), ("value_q", "FLOAT"), ("weight", "UINTEGER"),
         ("candidates", "STRUCT(mv USMALLINT, prob FLOAT, cp SMALLINT)[]")]
TOTALS = """SELECT count(*), sum(weight)::BIGINT, sum(list_sum([c.prob::DOUBLE FOR c IN candidates])),
            sum(len(candidates))::BIGINT FROM read_parquet(?)"""


def check(path):
    stated = json.loads(path.read_text())
    files = [str(path.parent / shard["file"]) for shard in stated["shards"]]
    if not files and stated["rows"] == 0:
        return {"shards": 0, "rows": 0, "records": 0, "candidates": 0, "prob": 0}
    described = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [files]).fetchall()
    types = [(name, kind) for name, kind, *_ in described]
    if types != TYPES:
        raise ValueError(f"the columns are {types} where {TYPES} are expected")
    rows, records, prob, candidates = duckdb.execute(TOTALS, [files]).fetchone()
    expected = stated["rows"], stated["records"]
    if (rows, records) != expected:
        raise ValueError(f"{rows} rows of {records} records where the set states {expected}")
    if abs(prob - rows) > 1e-3:
        raise ValueError(f"prob sums to {prob} over {rows} rows")
    return {"shards": len(files), "rows": rows, "records": records, "candidates": candidates, "prob": round(prob, 6)}


if __name__ == "__main__":
    try:
        print(json.dumps(check(pathlib.Path(sys.argv[1]))))
    except (ValueError, LookupError, OSError, duckdb.Error) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
