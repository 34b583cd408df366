#!/usr/bin/env python3
"""The teacher fold as one SQL statement in DuckDB (needs duckdb); prints the CPU and wall seconds it took.

There are two, plain.sql and tuned.sql: as one would write it, and as one who knows the engine would. Both
give the fold's result, row for row: the same means, softmax and one-hot, in hash order, row groups of 8,192
in zstd. Both are spared packing: boards stay SFEN text and moves USI text.
"""

import argparse
from pathlib import Path

import duckdb
from timed import timed

HERE = Path(__file__).parent
CONVENTIONS = {"eval_coef": 600.0, "temperature": 100.0, "threshold": 32000 - 100}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("--sql", choices=["plain", "tuned"], default="plain")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    con = duckdb.connect(config={"threads": args.threads})
    con.execute((HERE / "move16.sql").read_text())
    statement = (HERE / f"{args.sql}.sql").read_text()
    timed(con.execute, statement, {"corpus": args.corpus, "out": args.out, **CONVENTIONS})


if __name__ == "__main__":
    main()
