#!/usr/bin/env python3
"""Reads MPK1 streams, written from docs/formats/mpk1.md alone; needs the standard library only.

  read_mpk1.py FILE [N]    print the first N records (all of them without N) as JSON lines
"""
import itertools, json, math, struct, sys

HEADER = struct.Struct("<4sHHBBHHHfI")
FIELDS = "magic version packed_len pov policy_source mate_scale fv_scale mate_slack eval_coef flags".split()
FIXED = struct.Struct("<HffH")      # ply value_z value_q n_cand
CANDIDATE = struct.Struct("<HIh")   # mv visits cp
NO_VISITS, NO_CP = 0, -32768
HAND, SET = "PLNSGBR", (18, 4, 4, 4, 4, 2, 2)
KINDS = ("K", "R", "B", "G", "S", "N", "L", "P", "+R", "+B", "+S", "+N", "+L", "+P")
PIECES = {0xFF: "1"} | dict(enumerate(KINDS)) | {0x10 | i: kind.lower() for i, kind in enumerate(KINDS)}


def read_header(file):
    """The header's fields; a ValueError where this is no MPK1 stream."""
    raw = file.read(HEADER.size)
    if len(raw) < HEADER.size or raw[:4] != b"MPK1":
        raise ValueError(f"header at byte 0: {raw!r} where 24 bytes from b'MPK1' on are expected")
    h = dict(zip(FIELDS, HEADER.unpack(raw)))
    limits = dict(version=(1, 1), packed_len=(1, 4096), pov=(0, 1), policy_source=(0, 1), mate_scale=(0, 32767),
                  flags=(0, 0))
    bad = [name for name, (low, high) in limits.items() if not low <= h[name] <= high]
    bad += ["mate_slack"] if 0 < h["mate_scale"] <= (h["mate_slack"] or 320) else []
    bad += [] if math.isfinite(h["eval_coef"]) and h["eval_coef"] >= 0 else ["eval_coef"]
    if bad:
        raise ValueError("header at byte 0: " + ", ".join(f"{name} is {h[name]}" for name in bad))
    return h


def read_records(file, header):
    """(ply, value_z, value_q, packed, [(mv, visits or cp)]) a record; a ValueError at a torn tail or a broken rule."""
    number, offset, fixed = 0, HEADER.size, FIXED.size + header["packed_len"]
    while raw := file.read(fixed):
        ply, z, q, n = FIXED.unpack_from(raw) if len(raw) == fixed else (0, 0, 0, 0)
        raw += file.read(n * CANDIDATE.size)
        if len(raw) < (want := fixed + n * CANDIDATE.size):
            raise ValueError(f"record {number} at byte {offset} is cut off: {len(raw)} bytes where {want} are expected")
        packed, found = raw[FIXED.size:fixed], list(CANDIDATE.iter_unpack(raw[fixed:]))
        scored = header["policy_source"] == 1
        halves = found and all((v != NO_VISITS, c != NO_CP) == (not scored, scored) for _, v, c in found)
        moves = all(m < 1 << 15 and m & 127 <= 80 and m >> 7 & 127 <= (80 if m >> 14 else 87) for m, _, _ in found)
        if not (z in (-1, 0, 1) and -1 <= q <= 1 and halves and moves and is_position(packed)):
            raise ValueError(f"record {number} at byte {offset} breaks a rule: {ply, z, q, packed.hex(), found}")
        yield ply, z, q, packed, [(m, c if scored else v) for m, v, c in found]
        number, offset = number + 1, offset + want


def is_position(p):
    pieces = all(byte in PIECES for byte in p[:81]) and p.count(0x00, 0, 81) == p.count(0x10, 0, 81) == 1
    return len(p) != 96 or (pieces and p[95] < 2 and all(held <= most for held, most in zip(p[81:95], SET + SET)))


def usi(mv):
    square = lambda i: f"{9 - i // 9}{'abcdefghi'[i % 9]}"
    origin = mv >> 7 & 127
    return (square(origin) if origin < 81 else HAND[origin - 81] + "*") + square(mv & 127) + "+" * (mv >> 14)


def sfen(p):
    """Board, side and hands of 96 bytes; the move number is no part of a position."""
    board = "/".join("".join(PIECES[p[file * 9 + rank]] for file in range(9)) for rank in range(9))
    for run in range(9, 1, -1):
        board = board.replace("1" * run, str(run))
    hands = [*zip(p[81:88], HAND)][::-1] + [*zip(p[88:95], HAND.lower())][::-1]
    return f"{board} {'bw'[p[95]]} " + ("".join(f"{n if n > 1 else ''}{kind}" for n, kind in hands if n) or "-")


if __name__ == "__main__":
    with open(sys.argv[1], "rb") as stream:
        try:
            count = int(sys.argv[2]) if len(sys.argv) > 2 else None
            for ply, z, q, p, moves in itertools.islice(read_records(stream, read_header(stream)), count):
                board = dict(sfen=sfen(p)) if len(p) == 96 else dict(packed=p.hex())
                print(json.dumps(dict(ply=ply, z=int(z), q=q, **board, candidates=[(usi(mv), n) for mv, n in moves])))
        except ValueError as error:
            sys.exit(f"{sys.argv[1]}: {error}")
