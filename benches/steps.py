"""The steps that the benchmark measures, over one size of corpus."""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from measure import PEERS, Stop, helper, measure, measure_helper

CONVENTIONS = ["--mate-scale", "32000", "--mate-slack", "100", "--eval-coef", "600"]


class Steps:
    """One size of corpus: its folder, and the steps over it."""

    def __init__(self, copies, folder, jobs, threads):
        self.copies = copies
        self.folder = Path(folder)
        self.jobs = Path(jobs)
        self.threads = threads
        self.corpus = self.folder / "corpus.parquet"
        self.stream = self.folder / "corpus.mpk1"
        self.peer = self.folder / "peer.parquet"
        self.shards = self.folder / "fold"
        self.facts = {}

    def make_corpus(self, source):
        """Makes the corpus, unless one of the same source, size and script is there; tells whether it did."""
        digest = hashlib.sha256(f"{self.copies}\n".encode())
        for path in (source, PEERS / "scale_corpus.py"):
            digest.update(path.read_bytes())
        stamp = self.folder / "corpus.sha256"
        if self.corpus.exists() and stamp.exists() and stamp.read_text() == digest.hexdigest():
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        stamp.unlink(missing_ok=True)
        measure(helper("scale_corpus.py", source, self.copies, self.corpus), self.folder / "scale.log")
        stamp.write_text(digest.hexdigest())
        return True

    def all(self):
        """The steps of one repetition, by name."""
        return {
            "stream-write": self.write_stream,
            "fold-pack": self.pack,
            **{f"duckdb-{n}": lambda n=n: self.fold_in_duckdb(n) for n in sorted({1, self.threads})},
            "zstd": self.compress,
        }

    def write_stream(self):
        """The corpus to a stream."""
        self.stream.unlink(missing_ok=True)
        cost = self.job("stream-write", "teacher", self.corpus, "-o", self.stream, *CONVENTIONS)
        self.facts["stream_bytes"] = self.stream.stat().st_size
        return cost

    def pack(self):
        """The stream to shards."""
        shutil.rmtree(self.shards, ignore_errors=True)
        self.shards.mkdir()
        cost = self.job("fold-pack", "pack", self.stream, "-o", self.shards / "teacher")
        self.facts["shard_bytes"] = sum(path.stat().st_size for path in self.shards.glob("*.parquet"))
        return cost

    def job(self, name, *arguments):
        """Runs one of Foldline's jobs and keeps what it reports."""
        command = [self.jobs / name, *arguments, "--threads", self.threads, "--json"]
        cost, output = measure(command, self.folder / f"{name}.log")
        self.facts[name] = json.loads(output)
        return cost

    def fold_in_duckdb(self, threads):
        """The corpus to a fold, in DuckDB."""
        self.peer.unlink(missing_ok=True)
        options = ["--threads", threads, *CONVENTIONS]
        log = self.folder / "duckdb.log"
        cost, own = measure_helper(log, "fold_duckdb.py", self.corpus, self.peer, *options)
        self.facts["duckdb"] = own["duckdb"]
        self.facts["duckdb_bytes"] = self.peer.stat().st_size
        return cost

    def compress(self):
        """The stream through zstd at level 1."""
        target = self.folder / "corpus.mpk1.zst"
        target.unlink(missing_ok=True)
        log = self.folder / "zstd.log"
        if zstd := shutil.which("zstd"):
            cost, _ = measure([zstd, "-1", "-q", "-o", target, self.stream], log)
        else:
            cost, _ = measure_helper(log, "zstd_file.py", self.stream, target)
        target.unlink()
        return cost

    def compare(self):
        """Compares the peer's fold with the shards; returns what the comparison reports."""
        log = self.folder / "compare.log"
        shards = sorted(self.shards.glob("*.parquet"))
        try:
            _, output = measure(helper("compare_folds.py", self.peer, *shards), log)
        except Stop:
            # it ends with 1 where the folds differ, and then reports too
            output = Path(f"{log}.out").read_text()
            if not output:
                raise
            print(f"x{self.copies}: the folds differ: {output.strip()}", file=sys.stderr)
        return json.loads(output)
