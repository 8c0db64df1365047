#!/usr/bin/env python3
"""The programs of examples/python and the code of docs/python.md do what they say. The feed and the tickerplant are killed
while rows are published: each row is there, once. Run by run_clients_test.sh, which installs the clients."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n[hdb]\n"
DATE = "2020.03.09"
ROWS = 40_000
SYMBOLS = ("AIG", "BAC", "IBM")


def write_trades(path, rows):
    """Writes a CSV file of trades, a second apart, whose sizes are the numbers of their rows."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("time,sym,price,size,stop,cond,ex\n")
        for n in range(rows):
            time = f"2020-03-09T{9 + n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}.123456789"
            file.write(f"{time},{SYMBOLS[n % 3]},{100 + n % 50 / 4},{n},{'true' if n % 7 == 0 else 'false'},@,N\n")


class PythonExamplesTest(SecuredTest):
    def command(self, name, *arguments):
        return [sys.executable, str(stack.ROOT / "examples/python" / name), *map(str, arguments)]

    def run_example(self, name, *arguments, **options):
        done = subprocess.run(self.command(name, *arguments), cwd=self.folder, capture_output=True, text=True, timeout=120,
                              check=False, **options)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        return done.stdout

    def start_example(self, name, *arguments):
        """Returns the running program and the path of its output."""
        path = self.folder / f"{name}.{len(list(self.folder.iterdir()))}.log"
        with open(path, "ab") as log:
            process = subprocess.Popen(self.command(name, *arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def end():
            if process.poll() is None:
                process.kill()
            process.wait()
        self.addCleanup(end)
        return process, path

    def wait_for_line(self, process, path, line):
        def there():
            text = path.read_text(encoding="utf-8")
            self.assertTrue(process.poll() is None or line in text, text)
            return line in text
        stack.wait_until(there, 60, line)

    def publish(self, running, rows):
        write_trades(self.folder / "trades.csv", rows)
        said = self.run_example("feed.py", self.folder / "trades.csv", "--port", running.port("tickerplant"))
        self.assertEqual(f"0 of {rows} rows are logged\nall {rows} rows are logged\n", said)
        stack.wait_until(lambda: running.count("trade") == rows, what="the trades")

    def test_the_feed_resumes_after_its_own_kill_and_the_tickerplants(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        write_trades(self.folder / "trades.csv", ROWS)

        def logged():
            return running.ask("tickerplant", ".u.feed[`trades.csv]")["trade"]

        def start():
            return self.start_example("feed.py", self.folder / "trades.csv", "--port", running.port("tickerplant"),
                                      "--rate", 10_000)
        feed, _ = start()
        stack.wait_until(lambda: logged() > 5_000, what="some rows")
        feed.kill()
        self.assertEqual(-signal.SIGKILL, feed.wait())
        first = logged()
        self.assertLess(first, ROWS)

        feed, output = start()
        stack.wait_until(lambda: logged() > first + 5_000, what="more rows")
        running.kill("tickerplant")
        second = logged()
        self.assertLess(second, ROWS)
        self.assertEqual(0, feed.wait(120), output.read_text(encoding="utf-8"))
        said = output.read_text(encoding="utf-8")
        starts = [int(n) for n in re.findall(rf"^(\d+) of {ROWS} rows are logged$", said, re.MULTILINE)]
        self.assertEqual(2, len(starts), said)
        self.assertGreaterEqual(starts[0], first)
        self.assertGreaterEqual(starts[1], first + 5_000)

        self.assertEqual(ROWS, logged())
        stack.wait_until(lambda: running.count("trade") >= ROWS, what="all rows in the RDB")
        self.assertTrue(running.ask("rdb", f"(til {ROWS})~`long$exec size from trade"), "each row, once, in order")
        self.assertEqual(0, running.stop(), running.log_text())
        checked = self.run_program("log", "check", "--json", str(running.data / "tplog" / f"sym{DATE}"))
        self.assertEqual(ROWS, json.loads(checked.stdout)["rows"]["trade"], checked.stdout)

    def test_a_second_feed_under_the_same_name_waits(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        write_trades(self.folder / "trades.csv", 3000)
        flags = (self.folder / "trades.csv", "--port", running.port("tickerplant"))
        first, output = self.start_example("feed.py", *flags, "--rate", 100)
        self.wait_for_line(first, output, "0 of 3000 rows are logged")
        second, waiting = self.start_example("feed.py", *flags)
        self.wait_for_line(second, waiting, "waiting for the name")
        first.kill()
        first.wait()
        self.assertEqual(0, second.wait(120), waiting.read_text(encoding="utf-8"))
        self.assertEqual(3000, running.ask("tickerplant", ".u.feed[`trades.csv]")["trade"])

    def test_wrong_rows_end_the_feed(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        write_trades(self.folder / "trades.csv", 3)
        text = (self.folder / "trades.csv").read_text(encoding="utf-8").replace(",@,", ",@@,")
        (self.folder / "trades.csv").write_text(text, encoding="utf-8")
        feed, output = self.start_example("feed.py", self.folder / "trades.csv", "--port", running.port("tickerplant"))
        self.assertEqual(1, feed.wait(60))
        self.assertIn("trade.cond is list, expected char: item 0 is a string of length 2", output.read_text(encoding="utf-8"))

    def test_the_subscriber_survives_the_tickerplant(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        subscriber, output = self.start_example("subscriber.py", "--port", running.port("tickerplant"), "--symbols",
                                                "AIG,BAC", "--rows", 4)
        row = '.u.upd[`trade;(0Np;`{};{};{}i;0b;" ";"N")]'
        for attempt in range(2):
            stack.wait_until(lambda: output.read_text(encoding="utf-8").count("subscribed to trade: time, sym") > attempt,
                             what="the subscription")
            running.ask("tickerplant", row.format("AIG", 101.5 + attempt, 100))
            running.ask("tickerplant", row.format("IBM", 7.5, 1))
            running.ask("tickerplant", row.format("BAC", 25.5, 10))
            self.wait_for_line(subscriber, output, f"BAC last=25.5 volume={10 * (attempt + 1)}")
            if attempt == 0:
                running.kill("tickerplant")
        self.assertEqual(0, subscriber.wait(60), output.read_text(encoding="utf-8"))
        lines = [line for line in output.read_text(encoding="utf-8").splitlines() if "last=" in line]
        self.assertEqual(["AIG last=101.5 volume=100", "BAC last=25.5 volume=10", "AIG last=102.5 volume=200",
                          "BAC last=25.5 volume=20"], lines)

    def test_data_frames(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        self.publish(running, 300)
        (self.folder / "orders.csv").write_text("time,sym,lots\n2020-03-09T09:02:00.5,AIG,5\n2020-03-09T09:04:10,IBM,7\n")
        joined = "{select sym,lots,size from aj[`sym`time;x;select time,sym,size from trade]}"
        for client in ("kola", "pykx"):
            with self.subTest(client=client):
                flags = ("--client", client, "--port", running.port("rdb"))
                said = self.run_example("dataframe.py", "select n:count i,last size by sym from trade", *flags)
                for symbol, last in (("AIG", 297), ("BAC", 298), ("IBM", 299)):
                    self.assertRegex(said, rf"{symbol}\W+100\W+{last}\b")
                said = self.run_example("dataframe.py", joined, "--rows", self.folder / "orders.csv", *flags)
                self.assertRegex(said, r"AIG\W+5\W+120\b")
                self.assertRegex(said, r"IBM\W+7\W+248\b")
                # Times keep their nanoseconds.
                (self.folder / "exact.csv").write_text("time,sym,lots\n2020-03-09T09:02:00.500000123,AIG,5\n"
                                                       "2020-03-09T09:02:00.000000456,IBM,7\n2020-03-09T09:02:01,X,7\n")
                said = self.run_example("dataframe.py", "{select sym,ns:(`long$time)mod 1000 from x}", "--rows",
                                        self.folder / "exact.csv", *flags)
                for symbol, ns in (("AIG", 123), ("IBM", 456), ("X", 0)):
                    self.assertRegex(said, rf"{symbol}\W+{ns}\b")

    def test_a_plot(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        self.publish(running, 600)
        said = self.run_example("plot.py", "AIG", "BAC", "--port", running.port("rdb"), "--output", "prices.png")
        self.assertEqual("prices.png: 20 bars of 2 symbols\n", said)
        picture = (self.folder / "prices.png").read_bytes()
        self.assertTrue(picture.startswith(b"\x89PNG"))
        self.assertGreater(len(picture), 20_000)
        none = subprocess.run(self.command("plot.py", "NONE", "--port", running.port("rdb")), cwd=self.folder,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((1, "no trades of NONE today\n"), (none.returncode, none.stderr))

    def test_with_users_and_tls(self):
        running = self.start_secured(CONFIG, users=True, tls=True)
        ca = self.certificates.path("ca.pem")
        secured = {"env": {**os.environ, "SSL_CERT_FILE": ca, "SSL_CA_CERT_FILE": ca}}
        flags = ("--user", "client", "--password", PASSWORD, "--tls")
        write_trades(self.folder / "trades.csv", 30)
        self.assertIn("all 30 rows", self.run_example("feed.py", self.folder / "trades.csv", "--port",
                                                      running.port("tickerplant"), *flags, **secured))
        feed, output = self.start_example("feed.py", self.folder / "trades.csv", "--port", running.port("tickerplant"),
                                          "--user", "client", "--password", "wrong", "--tls")
        self.assertEqual(1, feed.wait(60))
        self.assertIn("Wrong credential", output.read_text(encoding="utf-8"))
        query = "{exec count i from trade}[]"

        def arrived():
            return "30" == self.run_example("dataframe.py", query, "--port", running.port("rdb"), *flags, **secured).strip()
        stack.wait_until(arrived, what="the rows")
        said = self.run_example("plot.py", "AIG", "--port", running.port("rdb"), *flags, **secured)
        self.assertEqual("prices.png: 1 bars of 1 symbols\n", said)

    def test_the_code_of_the_page(self):
        running = self.start_stack(CONFIG, "--date", DATE)
        self.publish(running, 300)
        page = (stack.ROOT / "docs/python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        self.assertGreaterEqual(len(blocks), 3)
        stop = threading.Event()
        quote = '.u.upd[`quote;(0Np;`IBM;1.5;1.6;1;2;" ";"N")]'

        def publish_quotes():
            while not stop.wait(0.05):
                running.ask("tickerplant", quote)
        publisher = threading.Thread(target=publish_quotes)
        publisher.start()
        self.addCleanup(publisher.join)
        self.addCleanup(stop.set)
        for block in blocks:
            with self.subTest(block=block):
                for port, process in (("5010", "tickerplant"), ("5011", "rdb"), ("5012", "hdb")):
                    block = block.replace(port, str(running.port(process)))
                done = subprocess.run([sys.executable, "-c", block], cwd=self.folder, capture_output=True, text=True,
                                      timeout=60, check=False)
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                for shown in re.findall(r"print\(.*\)  # (.+)$", block, re.MULTILINE):
                    self.assertIn(shown, done.stdout)


if __name__ == "__main__":
    unittest.main()
