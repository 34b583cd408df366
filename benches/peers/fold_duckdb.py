#!/usr/bin/env python3
"""The teacher fold as one SQL statement (needs duckdb).

The general tool that one would reach for, given its best: no join, strings cut without a pattern, a board
that stands in one row only (most of them) never taken apart. The result is the fold's, row for row: the same
means, softmax and one-hot, rows in hash order, zstd at level 1, row groups of 8,192. What it is spared is
packing, since boards stay SFEN text and moves USI text, and sorting the candidates of a row.

Prints one JSON line: the rows written, CPU and wall seconds of the statement alone (without Python's start),
and the peak memory of the whole process.
"""

import argparse
import json
import resource
import sys
import time

import duckdb

STATEMENT = """
copy (
  with
  records as (
    select left(sfen, strlen(sfen) - strpos(reverse(sfen), ' ')) as board,
           ply,
           cast(if(side = 'b', result, -result) as float) as z,
           cast(if(abs(cp) >= $threshold, sign(cp), tanh(cp / (2 * $eval_coef))) as float) as q,
           struct_pack(mv := cand, cp := cand_cp) as search
    from read_parquet($corpus)),

  boards as (
    select board, min(ply) as ply, avg(z) as value_z, avg(q) as value_q, count(*) as weight,
           list(search) as searches
    from records group by board),

  -- one search: its candidates are the row's
  single as (
    select board, ply, value_z, value_q, weight,
           searches[1].mv as moves, cast(searches[1].cp as double[]) as scores
    from boards where weight = 1),

  -- several: the mean of each move over the searches that list it
  listed as (
    select * exclude (search), unnest(search.mv) as mv, unnest(search.cp) as cp
    from (select * exclude (searches), unnest(searches) as search from boards where weight > 1)),
  means as (
    select board, mv, avg(cp) as cp, any_value(ply) as ply,
           any_value(value_z) as value_z, any_value(value_q) as value_q, any_value(weight) as weight
    from listed group by board, mv),
  several as (
    select board, any_value(ply) as ply,
           any_value(value_z) as value_z, any_value(value_q) as value_q, any_value(weight) as weight,
           list(mv) as moves, list(cp) as scores
    from means group by board),

  folded as (
    select *, list_max(scores) as top from (from single union all from several)),
  -- a mate leads: all on the leader, the lowest move on a tie. Otherwise a softmax.
  led as (
    select *, if(abs(top) >= $threshold,
                 list_min(list_transform(list_zip(moves, scores),
                                         lambda c: if(c[2] = top, move16(c[1]), 65535))),
                 null) as leader
    from folded),
  weighed as (
    select *, if(leader is null,
                 list_transform(scores, lambda s: exp((s - top) / $temperature)),
                 list_transform(moves, lambda m: cast(move16(m) = leader as double))) as shares
    from led),
  summed as (
    select *, list_sum(shares) as total from weighed)

  select board, cast(ply as usmallint) as ply,
         cast(value_z as float) as value_z, cast(value_q as float) as value_q,
         cast(weight as uinteger) as weight,
         list_transform(list_zip(moves, shares, scores), lambda c: struct_pack(
           mv := c[1],
           prob := cast(c[2] / total as float),
           cp := cast(round(c[3]) as smallint))) as candidates
  from summed order by hash(board)
) to $out (format parquet, compression zstd, compression_level 1, row_group_size 8192)
"""

# A move as a number, in the order in which the fold breaks ties. It is asked of rows that a mate leads, and
# of no others.
MOVE16 = """
create macro field(file, rank) as (9 - cast(file as integer)) * 9 + ascii(rank) - ascii('a');
create macro move16(m) as
  field(m[3], m[4])
  + 128 * if(m[2] = '*', 80 + strpos('PLNSGBR', m[1]), field(m[1], m[2]))
  + 16384 * cast(m[5] = '+' as integer)
"""


def fold(corpus, out, threads, conventions):
    """Runs the statement and returns what it cost."""
    con = duckdb.connect()
    con.execute(f"set threads = {threads}")
    con.execute(MOVE16)
    before, start = cpu_seconds(), time.perf_counter()
    rows = con.execute(STATEMENT, {"corpus": corpus, "out": out, **conventions}).fetchone()[0]
    return {
        "rows": rows,
        "threads": threads,
        "cpu_s": round(cpu_seconds() - before, 3),
        "wall_s": round(time.perf_counter() - start, 3),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        * (1 if sys.platform == "darwin" else 1024),
        "duckdb": duckdb.__version__,
    }


def cpu_seconds():
    """CPU seconds of this process so far, in all its threads."""
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus")
    parser.add_argument("out")
    parser.add_argument("--threads", type=int, default=1, help="1, the default, costs the least CPU")
    parser.add_argument("--eval-coef", type=float, default=600.0)
    parser.add_argument("--temperature", type=float, default=100.0)
    parser.add_argument("--mate-scale", type=int, default=32000)
    parser.add_argument("--mate-slack", type=int, default=100)
    args = parser.parse_args()
    conventions = {
        "eval_coef": args.eval_coef,
        "temperature": args.temperature,
        "threshold": args.mate_scale - args.mate_slack,
    }
    print(json.dumps(fold(args.corpus, args.out, args.threads, conventions)))


if __name__ == "__main__":
    main()
