"""An exchange that sends the packets of a feed on several lines, which lose, double and reorder them, by a seed."""

import bisect
import collections
import random
import socket
import struct
import threading
import time

from tests.support import networks

EPOCH = 946_684_800_000_000_000


def mold_packets(session, messages, seed, first=1):
    """MoldUDP64 packets of up to 5 messages, and heartbeats: [(number of the first message, number of messages, bytes)]."""
    rng = random.Random(seed)
    packets = []
    while messages:
        count = rng.randrange(1, 6)
        some, messages = messages[:count], messages[count:]
        packets.append((first, len(some), mold_packet(session, first, some)))
        first += len(some)
        if rng.random() < 0.02:
            packets.append((first, 0, mold_packet(session, first, [])))
    return packets


def mold_packet(session, first, messages):
    body = b"".join(len(message).to_bytes(2, "big") + message for message in messages)
    return session.ljust(10).encode() + first.to_bytes(8, "big") + len(messages).to_bytes(2, "big") + body


def disturbed(count, seed, loss=0.0, doubles=0.0, disorder=0.0, keep=()):
    """The packets that a line delivers: indexes below `count`, in the order of their arrival. Those in `keep` are not
    lost."""
    rng = random.Random(seed)
    order = []
    for index in range(count):
        if index in keep or rng.random() >= loss:
            order += [index] * (2 if rng.random() < doubles else 1)
    for at in range(len(order) - 1):
        if rng.random() < disorder:
            other = min(at + rng.randrange(1, 5), len(order) - 1)
            order[at], order[other] = order[other], order[at]
    return order


class Exchange:
    """Sends packets on lines, and remembers when it sent each message."""

    def __init__(self, test, lines, seed=1):
        self.senders = [networks.Sender(line) for line in lines]
        for sender in self.senders:
            test.addCleanup(sender.close)
        self.rng = random.Random(seed)
        self.sent = collections.defaultdict(list)  # Number of a message -> [(ns before, ns after)], since 2000.
        self.packets_of_line = [0] * len(lines)

    def send(self, packets, orders, each_s=0.0):
        """`orders`: for each line, the indexes of the packets that it delivers. The lines take turns at random. Sleeps
        `each_s` between packets."""
        waiting = [collections.deque(order) for order in orders]
        while any(waiting):
            line = self.rng.choice([number for number, queue in enumerate(waiting) if queue])
            first, count, payload = packets[waiting[line].popleft()]
            before = time.time_ns() - EPOCH
            self.senders[line].send(payload)
            after = time.time_ns() - EPOCH
            self.packets_of_line[line] += 1
            for seq in range(first, first + count):
                self.sent[seq].append((before, after))
            if each_s:
                time.sleep(each_s)

    def was_sent(self, seq, recv):
        """True if a line delivered the message at this time."""
        return any(before <= recv <= after for before, after in self.sent[seq])


class RequestServer:
    """Answers requests of MoldUDP64 from a thread: with as many messages as fit into a packet. Ignores a part of the
    requests, by a seed."""

    def __init__(self, test, session, messages, ignores=0.3, seed=1):
        self.session, self.messages, self.ignores = session, messages, ignores
        self.rng = random.Random(seed)
        self.requests = []  # (first number, messages)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.socket.getsockname()[1]}"
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        test.addCleanup(self._stop)

    def _run(self):
        while True:
            request, peer = self.socket.recvfrom(1 << 16)
            if request == b"stop":
                return
            session, first, count = struct.unpack(">10sQH", request)
            self.requests.append((first, count))
            if session.decode().rstrip() != self.session or self.rng.random() < self.ignores:
                continue
            some, size = [], 20
            for message in self.messages[first - 1:first - 1 + count]:
                size += 2 + len(message)
                if size > 1400:
                    break
                some.append(message)
            self.socket.sendto(mold_packet(self.session, first, some), peer)

    def _stop(self):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stop:
            stop.sendto(b"stop", self.socket.getsockname())
        self.thread.join()
        self.socket.close()


def missing(packets, orders):
    """The numbers of the messages that no line delivers, as [(first, last)]."""
    delivered = set().union(*orders)
    numbers = sorted(seq for index, (first, count, _) in enumerate(packets) if index not in delivered
                     for seq in range(first, first + count))
    return ranges(numbers)


def ranges(numbers):
    """Ascending numbers as [(first, last)] of those that follow one another."""
    found = []
    for number in numbers:
        if found and found[-1][1] + 1 == number:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def within(number, sorted_ranges):
    at = bisect.bisect_right(sorted_ranges, (number, float("inf"))) - 1
    return at >= 0 and sorted_ranges[at][0] <= number <= sorted_ranges[at][1]
