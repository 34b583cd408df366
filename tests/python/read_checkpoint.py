#!/usr/bin/env python3
"""Reads a checkpoint by docs/formats/checkpoint.md, with nothing but Python, and prints each tensor's shape and sum.

    read_checkpoint.py RUN/checkpoints/step-00000100.json
"""

import hashlib
import json
import math
import struct
import sys
from pathlib import Path


def main(path):
    record = json.loads(path.read_text())
    assert (record["format"], record["version"]) == ("foldline checkpoint", 1)
    data = path.with_suffix(".safetensors").read_bytes()
    assert len(data) == record["bytes"]
    assert hashlib.sha256(data).hexdigest() == record["sha256"]
    (length,) = struct.unpack_from("<Q", data)
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    at, tensors = 0, {}
    for name in sorted(header):
        entry = header[name]
        start, end = entry["data_offsets"]
        assert entry["dtype"] == "F32" and start == at and end - start == 4 * math.prod(entry["shape"])
        values = struct.unpack_from(f"<{(end - start) // 4}f", data, 8 + length + start)
        assert all(map(math.isfinite, values))
        tensors[name] = {"shape": entry["shape"], "sum": math.fsum(values)}
        at = end
    assert 8 + length + at == len(data)
    width = record["model"]["architecture"]["width"]
    assert tensors["memory.lanes"]["shape"] == [len(record["cursor"]["active"]), record["model"]["scratch"], width]
    trained = {name.removeprefix("model.") for name in tensors if name.startswith("model.")}
    for moment in ("adamw.first.", "adamw.second."):
        assert {name.removeprefix(moment) for name in tensors if name.startswith(moment)} == trained
    print(json.dumps(tensors))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(Path(sys.argv[1]))
