"""A second reader of kdb+'s files, written from the description of the formats and sharing nothing with
the one that is tested: what both agree about is what the files say. Slow, plain, standard library only.

Values are as in kdb_ipc: numbers are ints and floats, times ints in their type's unit, null integers
None, symbols str, strings bytes, guids bytes of 16.

    table = read_table("db/2024.01.29/trade", Domains("db"))
    table.rows, table["price"].values, table["sym"].index.starts
"""

import os
import struct
import zlib

from tests.support import kdb_ipc

WIDTHS = {1: 1, 2: 16, 4: 1, 5: 2, 6: 4, 7: 8, 8: 4, 9: 8, 10: 1, 12: 8, 13: 4, 14: 4, 15: 8, 16: 8, 17: 4,
          18: 4, 19: 4}
NULL32, NULL64 = -(1 << 31), -(1 << 63)
PAGE = 4096


class Damaged(Exception):
    """The bytes are not what the format says."""


def need(condition, what):
    if not condition:
        raise Damaged(what)


# Compression


def _expand_q(block, size):
    """Expands q's own compression: a whole compressed message around a stream of groups of eight items."""
    need(block[:4] == b"\1\0\1\0", "not a compressed message")
    stored, declared = struct.unpack_from("<II", block, 4)
    need(stored == len(block) and declared == size + 8, "lengths of a compressed message")
    out = bytearray(8)
    table, entered, at, flags, bit = [0] * 256, 8, 12, 0, 256
    while len(out) < declared:
        if bit == 256:
            flags, at, bit = block[at], at + 1, 1
        if flags & bit:
            source, count = table[block[at]], block[at + 1] + 2
            at += 2
            first = len(out)
            for i in range(count):
                out.append(out[source + i])
            while entered + 1 < first + 2:
                table[out[entered] ^ out[entered + 1]] = entered
                entered += 1
            entered = len(out)
        else:
            out.append(block[at])
            at += 1
            while entered + 1 < len(out):
                table[out[entered] ^ out[entered + 1]] = entered
                entered += 1
        bit <<= 1
    need(at == len(block) and len(out) == declared, "a stream that ends elsewhere")
    return bytes(out[8:])


def _copy_back(out, distance, count):
    need(0 < distance <= len(out), "a copy from before the start")
    for _ in range(count):
        out.append(out[-distance])


def _expand_lz4(block, size):
    out, at = bytearray(), 0

    def length(number):
        nonlocal at
        if number == 15:
            while True:
                number += block[at]
                at += 1
                if block[at - 1] != 255:
                    break
        return number

    while at < len(block):
        token = block[at]
        at += 1
        literals = length(token >> 4)
        out += block[at:at + literals]
        at += literals
        if at == len(block):
            break
        distance = block[at] | block[at + 1] << 8
        at += 2
        _copy_back(out, distance, length(token & 15) + 4)
    need(len(out) == size, "an lz4 block of another length")
    return bytes(out)


def _expand_snappy(block, size):
    at = shift = declared = 0
    while True:
        declared |= (block[at] & 127) << shift
        shift += 7
        at += 1
        if block[at - 1] < 128:
            break
    out = bytearray()
    while at < len(block):
        tag = block[at]
        at += 1
        kind, number = tag & 3, tag >> 2
        if kind == 0:
            if number >= 60:
                width = number - 59
                number = int.from_bytes(block[at:at + width], "little")
                at += width
            out += block[at:at + number + 1]
            at += number + 1
        elif kind == 1:
            _copy_back(out, (tag >> 5) << 8 | block[at], (number & 7) + 4)
            at += 1
        else:
            width = 2 if kind == 2 else 4
            _copy_back(out, int.from_bytes(block[at:at + width], "little"), number + 1)
            at += width
    need(len(out) == declared == size, "a snappy block of another length")
    return bytes(out)


EXPAND = {0: lambda block, size: block, 1: _expand_q, 2: lambda block, size: zlib.decompress(block),
          3: _expand_snappy, 4: _expand_lz4}


class CompressedFile:
    """The parts of a kxzipped file. `image` is the uncompressed file; `blocks` are (algorithm, stored bytes). zstd (5) is
    not in the standard library: then `image` is None."""

    def __init__(self, raw):
        need(raw[:8] == b"kxzipped", "no kxzipped")
        (count,) = struct.unpack_from("<q", raw, len(raw) - 8)
        trailer = len(raw) - 8 - 8 * count - 32
        need(count >= 0 and trailer >= 8, "count of blocks")
        (self.version, self.algorithm, self.level, zeros, self.image_bytes, place,
         self.block_bytes) = struct.unpack_from("<IBBHqqq", raw, trailer)
        need(self.version in (2, 3) and zeros == 0 and place == trailer, "trailer")
        need(count == -(-self.image_bytes // self.block_bytes), "count of blocks against the length")
        self.blocks, at, image = [], 8, []
        for i in range(count):
            length, algorithm = struct.unpack_from("<II", raw, trailer + 32 + 8 * i)
            block = raw[at:at + length]
            at += length
            self.blocks.append((algorithm, block))
            size = min(self.block_bytes, self.image_bytes - i * self.block_bytes)
            if algorithm in EXPAND and image is not None:
                image.append(EXPAND[algorithm](block, size))
                need(len(image[-1]) == size, f"block {i}: {len(image[-1])} bytes, expected {size}")
            else:
                image = None
        need(at == trailer, "blocks end before the trailer")
        self.image = None if image is None else b"".join(image)


def read_image(path):
    """Returns the bytes of a file, uncompressed."""
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:8] != b"kxzipped":
        return raw
    image = CompressedFile(raw).image
    if image is None:
        raise NotImplementedError(f"{path}: zstd")
    return image


# Names and domains


def names_of(image):
    need(image[:3] == b"\xff\x01\x0b" and image[3] == 0, "no symbol vector")
    need(len(image) == 8 or image[-1] == 0, "a torn name")
    names = [name.decode("utf-8", "surrogateescape") for name in image[8:].split(b"\0")[:-1]]
    (count,) = struct.unpack_from("<i", image, 4)
    need(0 <= count <= len(names), f"{count} names in the header, {len(names)} in the file")
    return names


class Domains:
    """The domains of a database, read when they are first needed."""

    def __init__(self, root):
        self.root, self.known = root, {}

    def __getitem__(self, name):
        if name not in self.known:
            self.known[name] = names_of(read_image(os.path.join(self.root, name)))
        return self.known[name]

    def symbol(self, name, position):
        if position in (None, NULL64):
            return ""
        names = self[name]
        need(0 <= position < len(names), f"position {position} of {len(names)} in {name}")
        return names[position]


# The index of a parted column


class PartedIndex:
    """The index: keys in the order of their rows, starts (one more than keys, the last one is the count), and the hash
    table: numbers of keys, -1 for empty."""

    def __init__(self, keys, slots, starts):
        self.keys, self.slots, self.starts = keys, slots, starts


def _power_of_two(n):
    power = 1
    while power < n:
        power *= 2
    return power


def _bucket(size):
    m = 0
    while 16 << m < size:
        m += 1
    return m


def groups_of(positions):
    """Returns (keys, starts) of parted positions; raises Damaged if a key occurs in two places."""
    keys, starts = [], []
    for row, position in enumerate(positions):
        if not keys or keys[-1] != position:
            keys.append(position)
            starts.append(row)
    need(len(set(keys)) == len(keys), "a key in two places")
    return keys, starts + [len(positions)]


def hash_slots(keys, capacity):
    slots = [-1] * (2 * capacity)
    for number, key in enumerate(keys):
        slot = ((key * 2654435761) & (1 << 64) - 1) >> 11 & (len(slots) - 1)
        while slots[slot] != -1:
            slot = (slot + 1) % len(slots)
        slots[slot] = number
    return slots


def parted_index(positions, wide=True):
    """Returns the bytes that follow parted positions (None is the null symbol), built only from these, with zeros where
    kdb+ has undefined bytes."""
    null = NULL64 if wide else NULL32
    keys, starts = groups_of([null if position is None else position for position in positions])
    capacity = max(_power_of_two(len(keys)), 1 if wide else 2)
    form, slot = ("q", b"\0" * 8) if wide else ("i", b"")
    out = slot if wide else b"\0" * (-(24 + 4 * len(positions)) % 8)
    size = 16 + struct.calcsize(form) * capacity + len(slot) + 16 * capacity
    out += struct.pack("<BBBBIq", _bucket(size), 0, 0x14, 2, 0, len(keys))
    out += struct.pack(f"<{capacity}{form}", *(keys + [0] * (capacity - len(keys)))) + slot
    out += struct.pack(f"<{2 * capacity}q", *hash_slots(keys, capacity))
    out += struct.pack("<BBBBIq", _bucket(16 + 8 * len(starts)), 0, 7, 0, 0, len(starts))
    return out + struct.pack(f"<{len(starts)}q", *starts)


def _read_index(image, at, rows, wide):
    at = at + 8 if wide else -(-at // 8) * 8
    form = "q" if wide else "i"
    kind, attribute, count = image[at + 2], image[at + 3], struct.unpack_from("<q", image, at + 8)[0]
    need((kind, attribute) == (0x14, 2) and 0 <= count <= rows, "keys of the index")
    capacity = max(_power_of_two(count), 1 if wide else 2)
    keys = list(struct.unpack_from(f"<{count}{form}", image, at + 16))
    at += 16 + struct.calcsize(form) * capacity + (8 if wide else 0)
    slots = list(struct.unpack_from(f"<{2 * capacity}q", image, at))
    at += 16 * capacity
    need(image[at + 2] == 7 and struct.unpack_from("<q", image, at + 8)[0] == count + 1, "starts of the index")
    starts = list(struct.unpack_from(f"<{count + 1}q", image, at + 16))
    need(at + 16 + 8 * (count + 1) == len(image), "the end of the index")
    return PartedIndex(keys, slots, starts)


# Values


class _Stored(kdb_ipc._Reader):
    """Values in files: as in messages, and enums."""

    def __init__(self, data, at, domains):
        super().__init__(data)
        self.at, self.domains = at, domains

    def value(self):
        if 20 <= self.data[self.at] <= 76:
            self.at += 1
            domain = self.text()
            _, count = self.take("Bi")
            return [self.domains.symbol(domain, None if n == NULL32 else n) for n in self.take(f"{count}i")]
        return super().value()


def _elements(kind, data):
    if kind == 10:
        return bytes(data)
    if kind == 2:
        return [bytes(data[i:i + 16]) for i in range(0, len(data), 16)]
    form, null = kdb_ipc.NUMBERS[kind]
    numbers = struct.unpack(f"<{len(data) // WIDTHS[kind]}{form}", data)
    return [None if null is not None and n == null else n for n in numbers]


class _Anymap:
    """Reads the items of `path`, `path#` and `path##`."""

    def __init__(self, path, domains):
        payload = read_image(path + "#")
        need(payload[:2] == b"\xfd\x20" and payload[4080:4083] == b"\xfd\0\x04", "items of an anymap")
        self.payload = payload[PAGE:]
        self.names = names_of(read_image(path + "##")) if os.path.exists(path + "##") else []
        self.domains = domains

    def item(self, reference):
        at = reference & (1 << 56) - 1
        first = self.payload[at]
        if first == 0xfb:
            return self._full(at)
        if first == 0x93:
            name, count = struct.unpack_from("<iB", self.payload, at + 1)
            positions = struct.unpack_from(f"<{count}q", self.payload, at + 6)
            return [self.domains.symbol(self.names[name], p) for p in positions]
        if first > 0x7f:
            kind, count = first - 0x7f, self.payload[at + 1]
            return self._vector(kind, at + 2, count)
        kind = 0x7f - first
        values = self._vector(kind, at + 1, 1)
        return values if kind == 10 else values[0]

    def _vector(self, kind, at, count):
        if kind == 11:
            return [self.names[n] for n in struct.unpack_from(f"<{count}i", self.payload, at)]
        size = count * WIDTHS[kind]
        need(at + size <= len(self.payload), "an item behind the end")
        return _elements(kind, self.payload[at:at + size])

    def _full(self, at):
        zero, kind, _, _, count = struct.unpack_from("<BBBIq", self.payload, at + 1)
        need(zero == 0 and at % 16 == 0, "header of an item")
        data = at + 16
        if kind == 0x4d:
            return [self.item(r) for r in struct.unpack_from(f"<{count}Q", self.payload, data)]
        if kind in (0x62, 0x63):
            keys, values = (self.item(r) for r in struct.unpack_from("<QQ", self.payload, data))
            return (kdb_ipc.Table if kind == 0x62 else _Pairs)(zip(keys, values))
        if kind == 0x14:
            return [self.domains.symbol("sym", p) for p in struct.unpack_from(f"<{count}q", self.payload, data)]
        return self._vector(kind, data, count)


class _Pairs(list):
    """A dictionary as pairs, since its keys may be rows or lists."""


# Columns


class Column:
    """One column file. kind: fixed, enum, symbols, or items. `positions` of an enum hold None for the
    null symbol; `index` is there if the attribute is parted. `rows` is a count."""

    def __init__(self, kind, type_, attribute, header_count, values=None):
        self.kind, self.type, self.attribute, self.header_count = kind, type_, attribute, header_count
        self._values = values
        self.domain = self.domains = self.positions = self.index = None

    @property
    def values(self):
        """Returns the values. An enum's are looked up here; raises Damaged if a position is outside of its domain."""
        if self._values is None:
            self._values = [self.domains.symbol(self.domain, p) for p in self.positions]
        return self._values

    @property
    def rows(self):
        return len(self._values if self.positions is None else self.positions)


def _count(image, attribute, header, data, width):
    """Returns the count by the rule: it follows from the file's length, unless an index follows the data."""
    need(attribute <= 4, f"attribute {attribute}")
    room = (len(image) - data) // width
    need(0 <= header <= room, f"{header} rows in the header, room for {room}")
    return room if attribute < 2 else header


def _enum(image, attribute, header, data, wide, domain, domains):
    form, null = ("q", NULL64) if wide else ("i", NULL32)
    width = struct.calcsize(form)
    rows = _count(image, attribute, header, data, width)
    positions = [None if p == null else p for p in struct.unpack_from(f"<{rows}{form}", image, data)]
    column = Column("enum", 11, attribute, header)
    column.domain, column.domains, column.positions = domain, domains, positions
    column.index = _read_index(image, data + rows * width, rows, wide) if attribute == 3 else None
    return column


def read_column(path, domains=None):
    path = os.fspath(path)
    image = read_image(path)
    if image[:2] == b"\xfe\x20":
        kind, attribute, zeros, header = struct.unpack_from("<BBIq", image, 2)
        need(zeros == 0, "four zeros")
        if kind > 77:
            rows = _count(image, attribute, header, 16, 8)
            ends = struct.unpack_from(f"<{rows}q", image, 16)
            elements = _elements(kind - 77, read_image(path + "#"))
            need(list(ends) == sorted(ends) and (not ends or ends[-1] == len(elements)), "ends of the rows")
            values = [elements[begin:end] for begin, end in zip((0,) + ends, ends)]
            return Column("items", 0, attribute, header, values)
        rows = _count(image, attribute, header, 16, WIDTHS[kind])
        return Column("fixed", kind, attribute, header, _elements(kind, image[16:16 + rows * WIDTHS[kind]]))
    if image[:2] == b"\xff\x20":
        kind, header = struct.unpack_from("<II", image, 8)
        rows = _count(image, 0, header, 16, WIDTHS[kind])
        return Column("fixed", kind, 0, header, _elements(kind, image[16:16 + rows * WIDTHS[kind]]))
    if image[:2] == b"\xfd\x20":
        need(image[2:16] == bytes(14) and image[4080] == 0xfd, "a page")
        name = image[16:4080].rstrip(b"\0").decode()
        flag, kind, attribute, zeros, header = struct.unpack_from("<BBBIq", image, 4081)
        need(zeros == 0, "four zeros")
        if kind == 0x14:
            return _enum(image, attribute, header, PAGE, True, name, domains)
        need((flag, kind, name) == (1, 0x4d, ""), f"a page of type {kind}")
        rows = _count(image, attribute, header, PAGE, 8)
        anymap = _Anymap(path, domains)
        values = [anymap.item(r) for r in struct.unpack_from(f"<{rows}Q", image, PAGE)]
        return Column("items", 0, attribute, header, values)
    if image[:3] == b"\xff\x01\x0b":
        names = names_of(image)
        return Column("symbols", 11, image[3], struct.unpack_from("<i", image, 4)[0], names)
    if image[:3] == b"\xff\x01\x00":
        reader, values = _Stored(image, 8, domains), []
        while reader.at < len(image):
            values.append(reader.value())
        return Column("items", 0, image[3], struct.unpack_from("<i", image, 4)[0], values)
    need(image[:1] == b"\xfe", f"{path}: begins with {image[:2].hex()}")
    name = image[1:image.index(b"\0", 1)].decode()
    at = (len(name) + 2 + 7) // 8 * 8
    attribute, zeros, header = struct.unpack_from("<BIq", image, at + 3)
    need(zeros == 0, "four zeros")
    return _enum(image, attribute, header, at + 16, False, name, domains)


def read_value(path, domains=None):
    """Returns the value in a flat file."""
    image = read_image(path)
    if image[:2] == b"\xff\x01" and image[2] not in (0, 11):
        reader = _Stored(image, 2, domains)
        value = reader.value()
        need(reader.at == len(image), "bytes behind the value")
        return value
    return read_column(path, domains).values


# Tables and databases


class Table(dict):
    """Column name -> Column, in the order of .d."""

    @property
    def rows(self):
        counts = {column.rows for column in self.values()}
        need(len(counts) <= 1, f"columns of {sorted(counts)} rows")
        return counts.pop() if counts else 0


def read_table(directory, domains=None):
    names = names_of(read_image(os.path.join(directory, ".d")))
    return Table((name, read_column(os.path.join(directory, name), domains)) for name in names)


def partitions(root):
    """Yields (name, directory) of every partition in every segment, by name."""
    segments = [root]
    if os.path.exists(os.path.join(root, "par.txt")):
        with open(os.path.join(root, "par.txt"), encoding="utf-8") as file:
            segments = [os.path.join(root, line.strip().rstrip("/")) for line in file if line.strip()]
    found = [(name, os.path.join(segment, name)) for segment in segments for name in os.listdir(segment)
             if name.replace(".", "").isdigit() and os.path.isdir(os.path.join(segment, name))]
    return sorted(found)
