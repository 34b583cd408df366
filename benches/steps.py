"""The steps that are measured, over one size of corpus."""

import json
import os
import shutil
import sys
from pathlib import Path

from measure import measure

PEERS = Path(__file__).parent / "peers"
CONVENTIONS = ["--mate-scale", "32000", "--mate-slack", "100", "--eval-coef", "600"]
CPUS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
STATEMENTS = ("plain", "tuned")


class Steps:
    """One size of corpus, in a folder of its own, and the steps over it. Each returns what it cost."""

    def __init__(self, copies, out, jobs):
        self.copies = copies
        self.folder = out / f"x{copies}"
        self.jobs = jobs
        self.stream = self.folder / "corpus.mpk1"
        self.corpus = self.folder / "corpus.parquet"
        self.shards = self.folder / "fold"
        self.reports = {}
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def by_name(self):
        """The steps of one repetition."""
        yield "stream-write", self.write_stream
        yield "fold-pack", self.pack
        for sql in STATEMENTS:
            for threads in sorted({1, CPUS}):
                name = f"DuckDB, {sql} SQL, {threads} thread{'s' if threads > 1 else ''}"
                yield name, lambda sql=sql, threads=threads: self.fold_in_duckdb(sql, threads)
        yield "zstd -1", self.compress

    def make_corpus(self, source):
        """The small corpus to a large one."""
        self.helper("scale_corpus", source, self.copies, self.corpus)

    def write_stream(self):
        """The corpus to a stream."""
        self.stream.unlink(missing_ok=True)
        return self.job("stream-write", "teacher", self.corpus, "-o", self.stream, *CONVENTIONS)

    def pack(self):
        """The stream to shards."""
        shutil.rmtree(self.shards, ignore_errors=True)
        self.shards.mkdir()
        return self.job("fold-pack", "pack", self.stream, "-o", self.shards / "teacher")

    def fold_in_duckdb(self, sql, threads):
        """The corpus to a fold, in DuckDB."""
        options = ["--sql", sql, "--threads", threads]
        return self.timed_helper("fold_duckdb", self.corpus, self.peer(sql), *options)

    def compress(self):
        """The stream that `fold-pack pack` reads through zstd at level 1."""
        target = self.folder / "corpus.mpk1.zst"
        if zstd := shutil.which("zstd"):
            cost, _ = measure([zstd, "-1", "-q", "-f", self.stream, "-o", target], self.folder / "zstd.log")
            return cost
        return self.timed_helper("zstd_file", self.stream, target)

    def compare(self):
        """How the peer's folds differ from the shards, which they must not: a count by column for each."""
        _, output = self.helper("compare_folds", self.shards / "*.parquet", *map(self.peer, STATEMENTS))
        return dict(zip(STATEMENTS, map(json.loads, output.splitlines()), strict=True))

    def peer(self, sql):
        """Where a statement of the peer writes its fold."""
        return self.folder / f"{sql}.parquet"

    def job(self, name, *arguments):
        """Runs one of Foldline's jobs, and keeps what it reports."""
        cost, output = measure([self.jobs / name, *arguments, "--json"], self.folder / f"{name}.log")
        self.reports[name] = json.loads(output)
        return cost

    def timed_helper(self, name, *arguments):
        """Runs a helper that tells its own CPU and wall seconds, without the start of Python."""
        cost, output = self.helper(name, *arguments)
        return cost | json.loads(output)

    def helper(self, name, *arguments):
        """Runs one of the scripts in peers/."""
        return measure([sys.executable, PEERS / f"{name}.py", *arguments], self.folder / f"{name}.log")
