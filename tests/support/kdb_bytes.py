"""Makes the bytes of kdb+ database files. Texts are bytes."""

import struct


def names(*texts):
    """A file of symbols: sym, .d."""
    return b"\xff\x01\x0b\0" + struct.pack("<i", len(texts)) + b"".join(text + b"\0" for text in texts)


def vector(kind, form, values):
    """A column of this kdb+ type; `form` is struct's letter for an element."""
    return b"\xfe\x20" + bytes([kind]) + bytes(5) + struct.pack(f"<q{len(values)}{form}", len(values), *values)


def enum(positions):
    """A column of symbols, by their positions in sym."""
    page = bytearray(4096)
    page[0:2], page[16:19] = b"\xfd\x20", b"sym"
    page[4080:4084] = b"\xfd\0\x14\0"
    page[4088:4096] = struct.pack("<q", len(positions))
    return bytes(page) + struct.pack(f"<{len(positions)}q", *positions)
