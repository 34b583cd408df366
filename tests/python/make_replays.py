#!/usr/bin/env python3
"""Makes archives from the bundled ones.

  make_replays.py copies IN.zip OUT.zip N      every episode N times, each under a number of its own
  make_replays.py hostile IN.zip OUT.zip       the first episode among members that are damaged in many ways
  make_replays.py cut IN.zip OUT.zip BYTES     the first BYTES of the archive
  make_replays.py scramble IN.zip OUT.zip SIDE what side SIDE cannot see is something else
  make_replays.py shift IN.zip OUT.zip         every answer one step earlier: beside the question, where it must not be read
  make_replays.py visualize IN.zip OUT.zip MIB a blob of MIB MiB in the first entry of each episode
"""
import json, random, struct, sys, zipfile, zlib


def read(path):
    with zipfile.ZipFile(path) as archive:
        return [(info.filename, archive.read(info)) for info in archive.infolist()]


def write(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members:
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)


def copies(members, n):
    for copy in range(int(n)):
        for name, data in members:
            yield f"{int(name[:-5]) + 1000000 * copy}.json", data


def hostile(source, path):
    name, good = source[0]
    members = [(name, good), ("../../escaped.json", good), ("/absolute.json", good), ("..\\windows.json", good)]
    members += [("91.json", b'{"steps":[], "visualize":"' + b"a" * (300 << 20) + b'"}'),       # inflates without end
                ("92.json", b'{"steps":["' + b"b" * (40 << 20) + b'"]}'),                      # more text than is held
                ("93.json", b"[" * 1000000), ("94.json", b'{"steps":' + b"[" * 100000),        # nested without end
                ("95.json", b"\xff\xfe\x00"), ("96.json", b""), ("97.json", good), ("98.json", good), ("99.json", good)]
    write(path, members)
    archive = zipfile.ZipFile(path)
    at = {info.filename: info for info in archive.infolist()}
    data = bytearray(open(path, "rb").read())
    start = lambda name: at[name].header_offset + 30 + len(name)
    for i in range(200):                                                                       # damaged data
        data[start("97.json") + 5000 + i] ^= 0x5A
    central = data.rindex(b"98.json") - 46
    struct.pack_into("<H", data, central + 8, 1)                                               # says it is encrypted
    central = data.rindex(b"99.json") - 46
    struct.pack_into("<I", data, central + 20, at["99.json"].compress_size - 1000)             # cut off
    open(path, "wb").write(data)


def scramble(members, side):
    """Hidden hands, all that the other side sees, and the engine's own state."""
    side, rng = int(side), random.Random(7)
    for name, data in members:
        episode = json.loads(data)
        cards = [{"id": rng.randrange(1, 1400), "serial": 900 + i, "playerIndex": 1 - side} for i in range(7)]

        def other(value):
            if isinstance(value, dict):
                return {k: rng.randrange(1, 1400) if k in ("id", "cardId") else rng.randrange(500, 900) if k == "serial"
                        else other(v) for k, v in value.items()}
            return [other(v) for v in value] if isinstance(value, list) else value

        for step in episode["steps"]:
            for s, entry in enumerate(step):
                seen = entry["observation"]
                seen["search_begin_input"] = "scrambled"
                if s != side or entry["status"] != "ACTIVE":
                    entry["observation"] = other(seen)
                elif seen.get("current"):
                    seen["current"]["players"][1 - side]["hand"] = cards
        yield name, json.dumps(episode)


def shift(members):
    for name, data in members:
        episode = json.loads(data)
        steps = episode["steps"]
        for t in range(1, len(steps) - 1):                                                     # the decks stay
            for side in (0, 1):
                if t > 1:
                    steps[t][side]["action"] = steps[t + 1][side]["action"]
        yield name, json.dumps(episode)


def visualize(members, mib):
    blob = [{"depth": ["]}\"\\", {"x": [1, 2, None]}], "text": "v" * 1000}] * (int(mib) << 10)
    for name, data in members:
        episode = json.loads(data)
        episode["steps"][0][0]["visualize"] = blob
        yield name, json.dumps(episode)


if __name__ == "__main__":
    verb, source, out, *rest = sys.argv[1:]
    if verb == "cut":
        open(out, "wb").write(open(source, "rb").read()[: int(rest[0])])
    elif verb == "hostile":
        hostile(read(source), out)
    else:
        write(out, {"copies": copies, "scramble": scramble, "shift": shift, "visualize": visualize}[verb](read(source), *rest))
