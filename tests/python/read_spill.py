#!/usr/bin/env python3
"""Reads spill files and checks them, written from docs/formats/spill.md alone; needs nothing but Python.

  read_spill.py FILE...    print the header of each as a line of JSON; exit 1 at the first thing that is wrong
"""
import array, json, pathlib, struct, sys, zlib

HEAD, ENTRY, KINDS = struct.Struct("<8sIIQQII32s32s8x"), struct.Struct("<40sIIQQQI4x"), "_BbHhIiqf"


def check(good, what):
    if not good:
        raise ValueError(what)


def read(path):
    data = path.read_bytes()
    magic, head, columns, length, rows, kind, group, dataset, projection = HEAD.unpack_from(data)
    check(magic == b"FLSPILL1", f"{path}: no spill file")
    check(length == len(data), f"{path}: {len(data)} bytes of {length}")
    check(head == HEAD.size + columns * ENTRY.size + 4, f"{path}: a header of {head} bytes")
    check(zlib.crc32(data[:head - 4]) == struct.unpack_from("<I", data, head - 4)[0], f"{path}: its header is damaged")
    found = {}
    for number in range(columns):
        name, code, ends, offsets_at, values_at, count, crc = ENTRY.unpack_from(data, HEAD.size + number * ENTRY.size)
        name, width = name.rstrip(b"\0").decode(), array.array(KINDS[code]).itemsize
        check(offsets_at % 64 == values_at % 64 == 0, f"{path}, {name}: not aligned")
        raw, values = data[offsets_at:offsets_at + 4 * ends], data[values_at:values_at + width * count]
        check(len(values) == width * count, f"{path}, {name}: cut off")
        check(zlib.crc32(values, zlib.crc32(raw)) == crc, f"{path}, {name}: damaged")
        offsets = array.array("I", raw)
        if ends:
            check(offsets[0] == 0 and offsets[-1] == count and sorted(offsets) == list(offsets), f"{path}, {name}: bounds")
        found[name] = offsets, array.array(KINDS[code], values)
    state = dict(kind=kind, group=group, rows=rows, dataset=dataset.hex(), projection=projection.hex())
    return state, found


if __name__ == "__main__":
    try:
        for name in sys.argv[1:]:
            state, columns = read(pathlib.Path(name))
            sums = {name: [len(offsets), sum(map(int, values))] for name, (offsets, values) in columns.items()}
            print(json.dumps(state | {"columns": sums}))
    except (ValueError, LookupError, OSError, struct.error) as error:
        sys.exit(f"{type(error).__name__}: {error}")
