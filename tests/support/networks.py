"""A network of a test's own, with multicast, that no other process sees.

This process and its children get a network namespace. That needs root, or a kernel on which users may create
namespaces; without either, a test is skipped, or fails if TICKSTACK_REQUIRE_NETWORKS=1.
"""

import ctypes
import os
import socket
import struct
import subprocess
import unittest

CLONE_NEWUSER, CLONE_NEWNET = 0x10000000, 0x40000000
SO_RCVBUFFORCE, SCM_TIMESTAMPNS = 33, 35
INTERFACE = "exchange0"  # Its packets come back to this machine, and go to nobody else.
_libc = ctypes.CDLL(None, use_errno=True)
_entered = False


def _refuse(why):
    if os.environ.get("TICKSTACK_REQUIRE_NETWORKS") == "1":
        raise AssertionError(f"no networks here: {why}")
    raise unittest.SkipTest(f"no networks here: {why}")


def _ip(*arguments):
    try:
        done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        _refuse("no program ip")
    if done.returncode != 0:
        _refuse(f"ip {' '.join(arguments)}: {done.stderr.strip()}")


def enter_namespace():
    """Gives this process a network of its own, once: a loopback interface, and INTERFACE. Call it before other threads
    start."""
    global _entered  # pylint: disable=global-statement
    if _entered:
        return
    user, group = os.getuid(), os.getgid()
    if _libc.unshare(CLONE_NEWNET if user == 0 else CLONE_NEWUSER | CLONE_NEWNET) != 0:
        _refuse(f"unshare: {os.strerror(ctypes.get_errno())}")
    if user != 0:
        for file, line in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as out:
                out.write(line)
    _ip("link", "set", "lo", "up")
    _ip("link", "add", "name", INTERFACE, "type", "veth", "peer", "name", "exchange1")
    _ip("addr", "add", "10.91.0.1/24", "dev", INTERFACE)
    for name in (INTERFACE, "exchange1"):
        _ip("link", "set", name, "up")
    _entered = True


def groups_of(interface=INTERFACE):
    """The multicast groups that this machine's sockets have joined on an interface."""
    found, groups = False, []
    with open("/proc/net/igmp", encoding="ascii") as file:
        for line in file.read().splitlines()[1:]:
            words = line.split()
            if not line.startswith("\t"):
                found = words[1] == interface
            elif found:
                groups.append(socket.inet_ntoa(struct.pack("=I", int(words[0], 16))))
    return groups


def waiting_bytes(port):
    """What the UDP sockets of a port have received, and their processes have not read."""
    with open("/proc/net/udp", encoding="ascii") as file:
        lines = [line.split() for line in file.read().splitlines()[1:]]
    return sum(int(words[4].partition(":")[2], 16) for words in lines if int(words[1].partition(":")[2], 16) == port)


class Receiver:
    """A socket that has joined a group, and keeps what arrives."""

    def __init__(self, line):
        host, port = line.split(":")
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        except PermissionError:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, SCM_TIMESTAMPNS, 1)
        self.socket.bind((host, int(port)))
        index = socket.if_nametoindex(INTERFACE)
        member = struct.pack("=4s4si", socket.inet_aton(host), bytes(4), index)
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)

    def datagrams(self, expected):
        """(time of receipt in ns since 1970, payload) of what arrives, in order. Waits until `expected` datagrams are there,
        and then a moment for others."""
        found = []
        while True:
            self.socket.settimeout(30 if len(found) < expected else 0.2)
            try:
                payload, ancillary, _, _ = self.socket.recvmsg(1 << 16, 64)
            except TimeoutError:
                return found
            seconds_part, ns = struct.unpack("=qq", ancillary[0][2][:16])
            found.append((seconds_part * 1_000_000_000 + ns, payload))

    def close(self):
        self.socket.close()


class Sender:
    """Sends datagrams to a group, as an exchange does."""

    def __init__(self, line):
        host, port = line.split(":")
        self.line = host, int(port)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        interface = struct.pack("=4s4si", bytes(4), bytes(4), socket.if_nametoindex(INTERFACE))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, interface)

    def send(self, payload):
        self.socket.sendto(payload, self.line)

    def close(self):
        self.socket.close()
