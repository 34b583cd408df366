#!/usr/bin/env python3
"""The source design's row-group cache in pyarrow and numpy, from its specification; needs both.

Three tiers: hot (pinned after two hits, 60 % of the capacity at most), transient (the least recently used goes
first), and .npz files on the disk. A value is a dict of column name to numpy array, with all padding. At its best
settings: files are mapped and decoded on all cores, fixed-size lists become arrays without a copy, .npz files are not
compressed, and a batch is gathered group by group into arrays that are made once.

Replays a trace of batches (lanes.py) over days, and prints a line of JSON: what it cost, and the counters. With
--dump every n-th batch is written as raw arrays, for compare_batches.py.
"""

import argparse
import json
import time
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HOT_PROMOTION_HITS = 2
HOT_ZONE_FRACTION = 0.6
# what a training step does not read
UNREAD = {"reward", "is_self", "day_id", "player_name", "opponent_name", "player_deck_hash", "opponent_deck_hash"}


class RowGroupCache:
    """Keys are (file, row group); the capacity is in bytes, so that groups of any size are treated alike."""

    def __init__(self, paths, columns, capacity, spill):
        self.files = [pq.ParquetFile(path, memory_map=True) for path in paths]
        self.columns, self.capacity, self.spill = columns, capacity, spill
        self.transient, self.hot = OrderedDict(), OrderedDict()
        self.hits_by_key, self.spilled = {}, set()
        self.transient_bytes = self.hot_bytes = 0
        self.counters = dict.fromkeys(
            ("hits", "misses", "promotions", "evictions", "ssd_hits", "ssd_spills", "decodes", "bytes_loaded"), 0
        )

    def get(self, key):
        """The arrays of a row group."""
        if key in self.hot:
            self.counters["hits"] += 1
            return self.hot[key]
        if key in self.transient:
            self.counters["hits"] += 1
            return self.touch(key)
        self.counters["misses"] += 1
        arrays = self.rehydrate(key) if key in self.spilled else self.decode(key)
        size = nbytes(arrays)
        while self.transient and self.hot_bytes + self.transient_bytes + size > self.capacity:
            self.evict()
        self.transient[key] = arrays
        self.transient_bytes += size
        return arrays

    def touch(self, key):
        """A hit in the transient tier, which may make the group hot."""
        arrays = self.transient[key]
        self.transient.move_to_end(key)
        self.hits_by_key[key] = self.hits_by_key.get(key, 0) + 1
        size = nbytes(arrays)
        room = self.hot_bytes + size <= HOT_ZONE_FRACTION * self.capacity
        if self.hits_by_key[key] >= HOT_PROMOTION_HITS and room:
            del self.transient[key]
            self.hot[key] = arrays
            self.hits_by_key[key] = 0
            self.transient_bytes -= size
            self.hot_bytes += size
            self.counters["promotions"] += 1
        return arrays

    def evict(self):
        """The least recently used group to the disk, unless it is there."""
        key, arrays = self.transient.popitem(last=False)
        self.transient_bytes -= nbytes(arrays)
        self.counters["evictions"] += 1
        if key not in self.spilled:
            np.savez(self.path(key), **arrays)
            self.spilled.add(key)
            self.counters["ssd_spills"] += 1

    def rehydrate(self, key):
        self.counters["ssd_hits"] += 1
        with np.load(self.path(key)) as stored:
            return {name: stored[name] for name in self.columns}

    def decode(self, key):
        file, group = key
        table = self.files[file].read_row_group(group, columns=self.columns, use_threads=True)
        arrays = {name: as_array(table[name]) for name in self.columns}
        self.counters["decodes"] += 1
        self.counters["bytes_loaded"] += nbytes(arrays)
        return arrays

    def path(self, key):
        return self.spill / f"{key[0]}-{key[1]}.npz"


def nbytes(arrays):
    return sum(array.nbytes for array in arrays.values())


def as_array(column):
    """A column as an array of rows, without a copy where it is in one piece."""
    column = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if pa.types.is_fixed_size_list(column.type):
        return column.flatten().to_numpy(zero_copy_only=True).reshape(len(column), column.type.list_size)
    return column.to_numpy(zero_copy_only=True)


class Days:
    """Rows by (day, row), in the order in which they are asked for."""

    def __init__(self, cache):
        self.cache = cache
        sizes = [[f.metadata.row_group(i).num_rows for i in range(f.num_row_groups)] for f in cache.files]
        self.ends = [np.cumsum(groups) for groups in sizes]

    def gather(self, runs):
        """A batch of runs (day, first row, last row + 1), as a dict of arrays."""
        day = np.concatenate([np.full(end - start, day) for day, start, end in runs])
        row = np.concatenate([np.arange(start, end) for _, start, end in runs])
        group = np.empty_like(row)
        for number, ends in enumerate(self.ends):
            ours = day == number
            group[ours] = np.searchsorted(ends, row[ours], side="right")
            row[ours] -= np.concatenate([[0], ends])[group[ours]]
        keys = day * 100_000 + group
        batch = {}
        # in the order of first use, one group at a time
        _, first = np.unique(keys, return_index=True)
        for at in np.sort(first):
            ours = np.flatnonzero(keys == keys[at])
            arrays = self.cache.get((int(day[at]), int(group[at])))
            for name, array in arrays.items():
                if name not in batch:
                    batch[name] = np.empty((len(row), *array.shape[1:]), array.dtype)
                batch[name][ours] = array[row[ours]]
        return batch


def read_trace(path):
    """Batches of runs; see lanes.py."""
    for line in Path(path).read_text().splitlines():
        yield [tuple(map(int, run.replace("-", ":").split(":"))) for run in line.split()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("days", nargs="+")
    parser.add_argument("--trace", required=True)
    parser.add_argument("--capacity", type=int, required=True)
    parser.add_argument("--spill", type=Path, required=True)
    parser.add_argument("--dump", type=Path)
    parser.add_argument("--every", type=int, default=10)
    args = parser.parse_args()
    args.spill.mkdir(parents=True, exist_ok=True)
    cpu, wall = time.process_time(), time.perf_counter()
    columns = [name for name in pq.read_schema(args.days[0]).names if name not in UNREAD]
    cache = RowGroupCache(args.days, columns, args.capacity, args.spill)
    days, rows = Days(cache), 0
    for number, runs in enumerate(read_trace(args.trace)):
        batch = days.gather(runs)
        rows += len(batch["y"])
        if args.dump and number % args.every == 0:
            args.dump.mkdir(parents=True, exist_ok=True)
            (args.dump / f"{number}.bin").write_bytes(b"".join(batch[name].tobytes() for name in cache.columns))
    cost = {"cpu_s": time.process_time() - cpu, "wall_s": time.perf_counter() - wall}
    resident = len(cache.hot) + len(cache.transient)
    print(json.dumps(cost | {"rows": rows, "resident": resident} | cache.counters))


if __name__ == "__main__":
    main()
