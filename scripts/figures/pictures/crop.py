#!/usr/bin/env python3
"""crop.py FILE.png: ends a picture of a page where the page has a gap, so that no line of it is cut in half.

A gap is some rows of one colour, that of the lower left corner of the page's margin. The picture is written in place. Only
what Chromium writes is understood: 8 bits for each channel, not interlaced."""
import struct, sys, zlib

GAP = 6   # the rows of a gap


def chunks(data):
    at = 8
    while at < len(data):
        length, = struct.unpack_from('>I', data, at)
        yield data[at + 4:at + 8], data[at + 8:at + 8 + length]
        at += 12 + length


def unfiltered(raw, stride, channels):
    """The rows of pixels (PNG specification, section 9)."""
    rows, before = [], bytearray(stride)
    for at in range(0, len(raw), stride + 1):
        kind, row = raw[at], bytearray(raw[at + 1:at + 1 + stride])
        for i in range(stride):
            left = row[i - channels] if i >= channels else 0
            corner = before[i - channels] if i >= channels else 0
            up = before[i]
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
                row[i] = (row[i] + near[2]) & 255
        rows.append(bytes(row))
        before = row
    return rows


def end(rows, channels):
    """The row after which the picture may end: the last gap, or the whole picture."""
    blank = [row == row[:channels] * (len(row) // channels) for row in rows]
    for last in range(len(rows) - 1, len(rows) // 2, -1):
        if all(blank[last - GAP + 1:last + 1]):
            return last + 1
    return len(rows)


def chunk(name, body):
    return struct.pack('>I', len(body)) + name + body + struct.pack('>I', zlib.crc32(name + body))


def main():
    path = sys.argv[1]
    data = open(path, 'rb').read()
    parts = list(chunks(data))
    width, _, depth, colour, _, _, interlaced = struct.unpack('>IIBBBBB', dict(parts)[b'IHDR'])
    channels = {2: 3, 6: 4}[colour]
    assert depth == 8 and not interlaced, path
    raw = zlib.decompress(b''.join(body for name, body in parts if name == b'IDAT'))
    rows = unfiltered(raw, width * channels, channels)
    kept = rows[:end(rows, channels)]
    header = struct.pack('>IIBBBBB', width, len(kept), 8, colour, 0, 0, 0)
    packed = zlib.compress(b''.join(b'\0' + row for row in kept), 9)
    with open(path, 'wb') as file:
        file.write(data[:8] + chunk(b'IHDR', header) + chunk(b'IDAT', packed) + chunk(b'IEND', b''))


main()
