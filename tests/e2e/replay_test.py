#!/usr/bin/env python3
"""`tickstack replay` sends a capture as the exchange did. Everything happens in a network namespace of the test."""

import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import captures, networks, stack  # noqa: E402

ITCH = "itch/moldudp64/Nasdaq.Equities.TotalView.Itch.v5.0.20230822/LULDAuctionCollar.pcap"
DEEP = "iex-hist/20231002_deep10.pcap.gz"
LINE_A, LINE_B = "239.9.1.1:5000", "239.9.2.1:5001"


def datagram(group, payload, port=1000):
    """An Ethernet frame with a UDP datagram to 239.0.0.`group`."""
    udp = struct.pack(">HHHH", 2000, port, len(payload) + 8, 0) + payload
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, len(udp) + 20, 0, 0, 1, 17, 0, bytes(4), bytes([239, 0, 0, group]))
    return bytes(12) + b"\x08\x00" + ip + udp


def capture(path, packets, cut=0):
    """Writes a pcap file of (ns, frame); the last `cut` bytes of each frame are not captured."""
    data = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    for ns, frame in packets:
        data += struct.pack("<IIII", ns // 10**9, ns % 10**9, len(frame) - cut, len(frame)) + frame[:len(frame) - cut]
    path.write_bytes(data)
    return path


class ReplayTest(stack.StackTest):
    @classmethod
    def setUpClass(cls):
        networks.enter_namespace()

    def receiver(self, line):
        receiver = networks.Receiver(line)
        self.addCleanup(receiver.close)
        return receiver

    def replay(self, *arguments):
        """Returns the counts that it prints."""
        ran = self.run_program("replay", "--json", "--interface", networks.INTERFACE, *map(str, arguments))
        self.assertEqual(0, ran.returncode, ran.stderr)
        return json.loads(ran.stdout)

    def refusal(self, *arguments):
        ran = self.run_program("replay", *map(str, arguments))
        self.assertNotEqual(0, ran.returncode)
        return ran.stderr

    def test_every_payload_of_a_real_capture_arrives_in_order(self):
        for name in (ITCH, DEEP):
            with self.subTest(name=name):
                path = self.fixture(name)
                expected = [payload for _, _, payload in captures.datagrams(path)]
                receiver = self.receiver(LINE_A)
                counts = self.replay(path, "--to", LINE_A, "--speed", 0)
                self.assertEqual(expected, [payload for _, payload in receiver.datagrams(len(expected))])
                self.assertEqual((len(expected), 0), (counts["sent"], counts["cut_off"]))
                self.assertEqual(sum(map(len, expected)), sum(line["bytes"] for line in counts["lines"]))
                receiver.close()

    def test_the_pace_is_that_of_the_recording(self):
        """Times of receipt follow the recorded ones, which also go back once. A busy machine may delay them, but not in each of
        many tries."""
        times = [0, 10, 10, 250, 240, 600]
        path = capture(self.folder / "paced.pcap", [(10**18 + ms * 10**6, datagram(1, bytes([ms % 251]))) for ms in times])
        for speed in (1, 3):
            for _ in range(10):
                receiver = self.receiver(LINE_A)
                counts = self.replay(path, "--to", LINE_A, "--speed", speed)
                found = receiver.datagrams(len(times))
                receiver.close()
                self.assertEqual([bytes([ms % 251]) for ms in times], [payload for _, payload in found])
                begun = found[0][0]
                early = [ms for (when, _), ms in zip(found, times) if (when - begun) / 1e6 <= ms / speed - 2]
                took_ms = [(found[-1][0] - begun) / 1e6, counts["took_ns"] / 1e6]
                if not early and max(took_ms) < 600 / speed + 400:
                    break
            self.assertEqual([], early, speed)
            self.assertLess(max(took_ms), 600 / speed + 400)
            self.assertGreater(took_ms[1], 600 / speed - 50)
            self.assertEqual(600 * 10**6, counts["recorded_ns"])

    def test_destinations_of_the_capture_go_to_lines(self):
        packets = [(10**18 + number, datagram(group, bytes([group, number]))) for number, group in enumerate([2, 1, 3, 2, 1])]
        packets.append((10**18 + 9, bytes(12) + b"\x08\x06" + bytes(46)))
        path = capture(self.folder / "lines.pcap", packets)
        cases = (
            (["--to", LINE_A, "--to", LINE_B], [2], [1], 4),
            (["--to", LINE_A], [1, 2, 3], [], 5),
            (["--line", "239.0.0.3:1000", "--line", "239.0.0.2:1000", "--to", LINE_A, "--to", LINE_B], [3], [2], 3),
            (["--line", "239.0.0.1:1000", "--to", LINE_B], [], [1], 2),
            (["--to", f"{LINE_A}@{networks.INTERFACE}"], [1, 2, 3], [], 5),
        )
        for arguments, in_a, in_b, sent in cases:
            with self.subTest(arguments=arguments):
                receivers = self.receiver(LINE_A), self.receiver(LINE_B)
                counts = self.replay(path, *arguments)
                for receiver, groups in zip(receivers, (in_a, in_b)):
                    expected = [bytes([group, number]) for number, group in enumerate([2, 1, 3, 2, 1]) if group in groups]
                    self.assertEqual(expected, [payload for _, payload in receiver.datagrams(len(expected))])
                    receiver.close()
                self.assertEqual((sent, 6, 1), (counts["sent"], counts["packets"], counts["other"]))
                self.assertEqual(["239.0.0.2:1000", "239.0.0.1:1000", "239.0.0.3:1000"], [line["from"] for line in counts["lines"]])

    def test_without_loopback_this_machine_gets_nothing(self):
        path = capture(self.folder / "one.pcap", [(10**18, datagram(1, b"x"))])
        receiver = self.receiver(LINE_A)
        self.assertEqual(1, self.replay(path, "--to", LINE_A, "--no-loopback")["sent"])
        self.assertEqual([], receiver.datagrams(0))

    def test_what_is_no_capture_of_udp_is_refused_by_name(self):
        text = self.folder / "text"
        text.write_text("no capture", encoding="ascii")
        arp = capture(self.folder / "arp.pcap", [(10**18, bytes(12) + b"\x08\x06" + bytes(46))])
        cut_off = capture(self.folder / "cut.pcap", [(10**18, datagram(1, b"0123456789"))], cut=4)
        good = capture(self.folder / "good.pcap", [(10**18, datagram(1, b"x"))])
        to = ("--to", LINE_A)
        for arguments, said in (
                ((text, *to), f"{text}: expected a capture (pcap or pcapng)"),
                ((self.folder / "none", *to), "none"),
                ((arp, *to), f"{arp}: none of its 1 packets has a whole UDP datagram over IP"),
                ((cut_off, *to), f"{cut_off}: no whole datagram to any destination; it has 239.0.0.1:1000"),
                ((good, *to, "--line", "239.0.0.9:1"), "no whole datagram to 239.0.0.9:1; it has 239.0.0.1:1000"),
                ((good,), "--to is required"),
                ((good, "--to", "239.1.1.1"), "--to: '239.1.1.1': expected an IPv4 address and a port"),
                ((good, "--to", "localhost:5000"), "expected an IPv4 address and a port"),
                ((good, "--to", "239.1.1.1:70000"), "expected an IPv4 address and a port"),
                ((good, "--to", "239.1.1.1:5000@none0"), "239.1.1.1:5000: this machine has no interface 'none0'"),
                ((good, *to, "--line", "a", "--line", "b", "--line", "c", "--to", LINE_B), "3 of --line and 2 of --to"),
                ((good, *to, "--speed", "-1"), "--speed"),
                ((good, *to, "--ttl", "256"), "--ttl")):
            with self.subTest(said=said):
                self.assertIn(said, self.refusal(*arguments))

    def test_a_capture_that_is_cut_off_is_sent_up_to_there(self):
        path = capture(self.folder / "torn.pcap", [(10**18 + n, datagram(1, bytes([n]))) for n in range(3)])
        path.write_bytes(path.read_bytes()[:-1])
        receiver = self.receiver(LINE_A)
        ran = self.run_program("replay", str(path), "--to", LINE_A, "--interface", networks.INTERFACE)
        self.assertEqual(1, ran.returncode)
        self.assertIn(f"{path}: packet 3: truncated", ran.stderr)
        self.assertIn("2 of 2 packets sent", ran.stdout)
        self.assertEqual([b"\0", b"\1"], [payload for _, payload in receiver.datagrams(2)])


if __name__ == "__main__":
    stack.main()
