#!/usr/bin/env python3
"""Compare batches that two caches wrote, byte for byte; prints how many there are and how many differ, as JSON."""

import argparse
import json
from pathlib import Path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("ours", type=Path)
    parser.add_argument("peers", type=Path)
    args = parser.parse_args()
    ours, peers = ({path.name: path for path in folder.iterdir()} for folder in (args.ours, args.peers))
    differ = [
        name
        for name in ours.keys() | peers.keys()
        if name not in ours or name not in peers or ours[name].read_bytes() != peers[name].read_bytes()
    ]
    print(json.dumps({"batches": len(ours), "differ": len(differ)}))


if __name__ == "__main__":
    main()
