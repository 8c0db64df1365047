"""Packets of pcap and pcapng files, standard library only."""

import gzip
import struct


def read(path):
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def packets(path):
    """Yields (ns since 1970, bytes) of each whole packet."""
    data = read(path)
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        yield from _pcapng(data)
        return
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    unit = 1 if data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1000
    at = 24
    while at + 16 <= len(data):
        seconds, fraction, captured, _ = struct.unpack_from(order + "IIII", data, at)
        at += 16
        if at + captured > len(data):
            return
        yield seconds * 1_000_000_000 + fraction * unit, data[at:at + captured]
        at += captured


def _pcapng(data):
    at, order, units = 0, "<", []
    while at + 12 <= len(data):
        if data[at:at + 4] == b"\x0a\x0d\x0d\x0a":
            order = "<" if data[at + 8:at + 12] == b"\x4d\x3c\x2b\x1a" else ">"
            units = []
        kind, length = struct.unpack_from(order + "II", data, at)
        if at + length > len(data):
            return
        if kind == 1:
            units.append(_unit(data, at + 16, at + length - 4, order))
        if kind == 6:
            interface, high, low, captured, _ = struct.unpack_from(order + "IIIII", data, at + 8)
            stamp = high << 32 | low
            yield stamp * 1_000_000_000 // units[interface], data[at + 28:at + 28 + captured]
        at += length


def _unit(data, at, end, order):
    """The time stamps per second of an interface."""
    while at + 4 <= end:
        code, length = struct.unpack_from(order + "HH", data, at)
        if code == 9:
            return 1 << (data[at + 4] & 0x7F) if data[at + 4] & 0x80 else 10 ** data[at + 4]
        if code == 0:
            break
        at += 4 + (length + 3) // 4 * 4
    return 1_000_000


def datagrams(path):
    """Yields (ns since 1970, "address:port" of the destination, payload) of each UDP packet over IPv4."""
    for when, packet in packets(path):
        at = 14
        kind = packet[12:14]
        while kind in (b"\x81\x00", b"\x88\xa8"):
            kind = packet[at + 2:at + 4]
            at += 4
        if kind != b"\x08\x00" or len(packet) < at + 20 or packet[at] >> 4 != 4 or packet[at + 9] != 17:
            continue
        destination = ".".join(str(byte) for byte in packet[at + 16:at + 20])
        at += (packet[at] & 15) * 4
        _, port, length, _ = struct.unpack_from(">HHHH", packet, at)
        yield when, f"{destination}:{port}", packet[at + 8:at + length]


def write(path, packets):
    """Writes (ns since 1970, "address:port" of the destination, payload) as UDP over IPv4 in Ethernet, in pcap format."""
    data = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65_535, 1)
    for when, destination, payload in packets:
        address, port = destination.split(":")
        udp = struct.pack(">HHHH", 9_999, int(port), 8 + len(payload), 0) + payload
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 8, 17, 0, bytes((10, 0, 0, 1)),
                         bytes(int(part) for part in address.split(".")))
        frame = bytes(12) + b"\x08\x00" + ip + udp
        data += struct.pack("<IIII", *divmod(when, 1_000_000_000), len(frame), len(frame)) + frame
    path.write_bytes(data)
