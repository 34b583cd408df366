#!/usr/bin/env python3
"""Reads a folded set and checks it, written from docs/formats/folded-shard.md alone; needs pyarrow.

  read_shard.py SET.json    print a summary as one JSON line; exit 1 at the first thing that is wrong
"""
import hashlib, json, pathlib, struct, sys
import pyarrow.parquet as pq

COLUMNS = dict(packed="fixed_size_binary[96]", ply="uint16", value_z="float", value_q="float", weight="uint32",
               candidates="list<element: struct<mv: uint16 not null, prob: float not null, cp: int16> not null>")
GROUP_ROWS, MASK = 8192, 2**64 - 1


def siphash128(key, data):
    """SipHash-2-4 with 16 bytes of output."""
    def rounds(n, place, mark):
        v[place] ^= mark
        a, b, c, d = v
        for _ in range(n):
            a = (a + b) & MASK; b = (b << 13 | b >> 51) & MASK ^ a; a = (a << 32 | a >> 32) & MASK
            c = (c + d) & MASK; d = (d << 16 | d >> 48) & MASK ^ c
            a = (a + d) & MASK; d = (d << 21 | d >> 43) & MASK ^ a
            c = (c + b) & MASK; b = (b << 17 | b >> 47) & MASK ^ c; c = (c << 32 | c >> 32) & MASK
        v[:] = a, b, c, d
        return a ^ b ^ c ^ d

    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D ^ 0xEE, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]
    for (word,) in struct.iter_unpack("<Q", data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])):
        rounds(2, 3, word)
        v[0] ^= word
    return struct.pack("<QQ", rounds(4, 2, 0xEE), rounds(4, 1, 0xDD))


def check(good, what):
    if not good:
        raise ValueError(what)


def read_rows(path, shard, conventions):
    """Rows as (packed, weight, candidates); digest, schema, footer and row groups are checked before."""
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    check(digest == shard["sha256"], f"{path}: SHA-256 is {digest}, the set states {shard['sha256']}")
    file = pq.ParquetFile(path, page_checksum_verification=True)
    columns = {field.name: f"{field.type}{' nullable' * field.nullable}" for field in file.schema_arrow}
    check(list(columns.items()) == list(COLUMNS.items()), f"{path}: its columns are {columns}")
    pairs = {key.decode(): text.decode() for key, text in file.metadata.metadata.items() if key != b"ARROW:schema"}
    read = {key: type(conventions[key])(text) for key, text in pairs.items() if key in conventions}
    check(read == conventions and len(pairs) == 9, f"{path}: its footer states {pairs}, the set {conventions}")
    groups = [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)]
    check({GROUP_ROWS}.issuperset(groups[:-1]) and 0 < groups[-1] <= GROUP_ROWS, f"{path}: row groups of {groups}")
    table = file.read()
    return list(zip(*(table[name].to_pylist() for name in ("packed", "weight", "candidates"))))


def read_set(path):
    stated, keys, records = json.loads(path.read_text()), [], 0
    check((stated["format"], stated["version"]) == ("foldline folded set", 1), f"{path}: no folded set of version 1")
    seed = struct.pack("<QQ", stated["conventions"]["shuffle_seed"], 0)
    for shard in stated["shards"]:
        rows = read_rows(path.parent / shard["file"], shard, stated["conventions"])
        for i, (packed, weight, moves) in enumerate(rows):
            mv, prob = [move["mv"] for move in moves], sum(move["prob"] for move in moves)
            check(mv and all(a < b for a, b in zip(mv, mv[1:])), f"{shard['file']}, row {i}: moves {mv} do not ascend")
            check(abs(prob - 1) <= 1e-5, f"{shard['file']}, row {i}: prob sums to {prob}")
            keys.append((siphash128(seed, packed), packed))
            check(keys[-2:-1] < keys[-1:], f"{shard['file']}, row {i}: its key is not above that of the row before")
        total = sum(weight for _, weight, _ in rows)
        check((len(rows), total) == (shard["rows"], shard["records"]), f"{shard} holds {len(rows)} rows of {total}")
        records += total
    found = {"shards": len(stated["shards"]), "rows": len(keys), "records": records}
    check(all(stated[key] == found[key] for key in ("rows", "records")), f"{path}: its shards hold {found}")
    return found


if __name__ == "__main__":
    try:
        print(json.dumps(read_set(pathlib.Path(sys.argv[1]))))
    except (ValueError, LookupError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
