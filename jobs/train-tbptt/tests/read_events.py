#!/usr/bin/env python3
"""Reads a TensorBoard event file by its specification, checks every checksum, and prints {tag: [[step, value], ...]}."""

import json
import struct
import sys


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def fields(data):
    """(number, value) of a protocol buffer's fields."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        tag = varint()
        size = {1: 8, 5: 4}.get(tag & 7)
        if tag & 7 == 0:
            yield tag >> 3, varint()
            continue
        size = varint() if size is None else size
        yield tag >> 3, data[at : at + size]
        at += size


def main(path):
    data, at, tags, first = open(path, "rb").read(), 0, {}, True
    while at < len(data):
        head = data[at : at + 8]
        (length,) = struct.unpack("<Q", head)
        assert struct.unpack("<I", data[at + 8 : at + 12])[0] == masked(head)
        message = data[at + 12 : at + 12 + length]
        assert struct.unpack("<I", data[at + 12 + length : at + 16 + length])[0] == masked(message)
        at += 16 + length
        event = dict(fields(message))
        if first:
            assert event[3] == b"brain.Event:2"
            first = False
            continue
        for _, value in fields(event[5]):
            value = dict(fields(value))
            tags.setdefault(value[1].decode(), []).append((event[2], struct.unpack("<f", value[2])[0]))
    print(json.dumps(tags))


if __name__ == "__main__":
    main(sys.argv[1])
