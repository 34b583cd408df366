#!/usr/bin/env python3
"""Opens a decision day with DuckDB and holds it to its manifest; needs duckdb.

  check_days_duckdb.py DATE.manifest.json    print what was found as one JSON line; exit 1 where it differs
"""
import json, pathlib, sys

import duckdb

TOTALS = """SELECT count(*), count(DISTINCT episode_id), sum((action_mask[y + 1] = 1)::INT)::BIGINT,
            sum((len(opt_attr) = 6912 AND len(self_deck_id) = 60)::INT)::BIGINT FROM read_parquet(?)"""


def check(path):
    stated = json.loads(path.read_text())
    file = str(path.with_name(f"{stated['date']}.parquet"))
    columns = duckdb.execute("DESCRIBE SELECT * FROM read_parquet(?)", [file]).fetchall()
    if [name for name, *_ in columns] and len(columns) != 90:
        raise ValueError(f"{len(columns)} columns where 90 are expected")
    rows, episodes, legal, whole = (n or 0 for n in duckdb.execute(TOTALS, [file]).fetchone())
    if (rows, episodes) != (stated["rows"], stated["episodes"]) or not rows == legal == whole:
        raise ValueError(f"{rows} rows, {episodes} episodes, {legal} legal labels, {whole} whole lists")
    return {"rows": rows, "episodes": episodes}


if __name__ == "__main__":
    try:
        print(json.dumps(check(pathlib.Path(sys.argv[1]))))
    except (ValueError, LookupError, OSError, duckdb.Error) as error:
        sys.exit(f"{sys.argv[1]}: {error}")
