#!/usr/bin/env python3
"""An engineer's first evening: every command, configuration and log line in a fenced block of docs/operating is tried as the
page shows it (tests/support/page_blocks.py describes the blocks).

docs/operating/first-evening.md runs from top to bottom. The stack that it leaves behind serves the other pages, except those
that begin with a stack of their own. A block that cannot run here is in EXCUSED, with the reason.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import desk, kdb_ipc, page_blocks, stack  # noqa: E402
from tests.support.kdb_ipc import Typed  # noqa: E402

PAGES = stack.ROOT / "docs/operating"
FIRST = "first-evening.md"
SYSTEMD = "needs systemd: package_test.py runs it in a machine with the package"
# Pages, a text of the block, and why it is not tried here.
EXCUSED = {
    ("archive.md", "tickstack hdb archive"): "needs an S3 service; archive_test.py runs the commands with one",
    ("backup.md", "systemctl stop tickstack"): SYSTEMD,
    ("gateway.md", "--rdbs capture1:5011"): "needs other machines; gateway_test.py has rdbs and an hdb on this one",
    ("gateway.md", "side address"): "its figures vary; gateway_test.py compares the states",
    ("history-queries.md", "--years 1"): "generates and asks for minutes; hdb_queries_test.py runs it small",
    ("http.md", "ws.onmessage ="): "needs KX's c.js, which is not part of this project; http_test.py sends the same frames",
    ("import.md", "import polars"): "needs Polars, which is not a package of Debian; export_test.py runs the same call",
    ("import.md", "import pyarrow"): "needs pyarrow, which is not a package of Debian; export_test.py runs the same loop",
    ("install.md", "podman build"): "needs a container engine; package_test.py runs the steps of the Containerfile",
    ("install.md", "podman run --rm"): "needs a container engine; users_test.py runs this configuration and health check",
    ("install.md", "systemctl status tickstack"): SYSTEMD,
    ("kafka.md", "fastavro.reader"): "needs fastavro; kafka_bridge_test.py reads such files with it",
    ("kafka.md", "sasl.password=..."): "needs a broker with TLS and passwords",
    ("shards.md", "tickstack shard of"): "needs a sharded stack; shards_test.py runs the command with one",
    ("shards.md", "tickstack shard plan"): "needs a sharded stack; shards_test.py runs the command with one",
    ("standby.md", "etcdctl user add"): "needs an etcd; standby_etcd_test.py makes the same user and role",
    ("standby.md", ".u.replica[]"): "needs an etcd; standby_test.py asks with one",
    ("storage.md", "fio --name=read"): "needs fio, and writes 8 GB",
    ("storage.md", "tickstack hdb bench /data"): "writes gigabytes for minutes; storage_bench_test.py runs it small",
    ("upgrade.md", "SuccessExitStatus=3"): "lines for a unit that the reader writes",
    ("watch.md", "systemctl kill"): SYSTEMD,
}
SECTIONS = {"[tickerplant]": "port = 5010\n", "[[rdb]]": "port = 5011\n", "[hdb]": "port = 5012\n"}
# Paths and sizes of the pages, and what this machine has.
HERE = (("/mnt/pmem0", "tier"), ("/var/lib/tickstack/older", "tier"), ("/etc/tickstack/", "etc/"),
        ("/var/lib/tickstack/users", "etc/users"), ('"256GiB"', '"64MiB"'), ('"64GiB"', '"64MiB"'), ('"16GiB"', '"16MiB"'))
FULL_TIERS = """
[stack]
log_format = "json"
[tier.pmem]
kind = "filesystem"
path = "pmem"
size = "32MiB"
[tier.cold]
kind = "filesystem"
path = "cold"
size = "16MiB"
overflow = "dram"
overflow_size = "64MiB"
[placement]
quote = "pmem"
trade = "cold"
[tickerplant]
port = 5010
[[rdb]]
port = 5011
[feed]
rate = 0
rows = 3000000
quotes_per_trade = 3
"""


def excuse_of(block):
    return next((why for (page, text), why in EXCUSED.items() if page == block.page and text in block.text), None)


def first_config(page):
    return next(block.text for block in page_blocks.blocks_of(PAGES / page) if block.language == "toml")


def config_with(text):
    """Returns a whole configuration that has the sections of a page."""
    return "".join(f"{section}\n{keys}" for section, keys in SECTIONS.items()
                   if not re.search(rf"(?m)^{re.escape(section)}", text)) + text


def damage(path):
    """Changes a byte in the middle of a file, as a failing disk does: times stay as they were."""
    was = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.with_name("damaged").write_bytes(data)
    os.utime(path.with_name("damaged"), ns=(was.st_atime_ns, was.st_mtime_ns))
    path.with_name("damaged").rename(path)


class OperatingPagesTest(unittest.TestCase):
    lived = None  # Why the first page failed; empty: it did not.

    @classmethod
    def setUpClass(cls):
        cls.tried = {"run": 0, "checked": 0, "excused": 0}
        cls.evening = desk.Desk()
        cls.addClassCleanup(cls.evening.close)

    @classmethod
    def tearDownClass(cls):
        print("blocks: " + ", ".join(f"{count} {how}" for how, count in cls.tried.items()), file=sys.stderr)

    def new_desk(self, config=None):
        """A directory for a page with a stack of its own."""
        other = desk.Desk()
        self.addCleanup(other.close)
        if config is not None:
            (other.folder / "stack.toml").write_text(config, encoding="utf-8")
            other.fit_config()
        return other

    def path(self, *parts):
        return self.evening.folder.joinpath(*parts)

    def today(self, *parts):
        """A path in the partition of the day that the first page ended."""
        return self.path("data/hdb", self.evening.names.here("2020.03.09"), *parts)

    def ask(self, port, query, at=None):
        at = at or self.evening
        with kdb_ipc.connect_within(at.names.port(port)) as connection:
            return connection.call(query)

    def live_the_evening(self):
        """Runs the first page, once, and starts its stack again for the other pages."""
        if self.lived is None:
            type(self).lived = f"docs/operating/{FIRST} failed"
            self.try_page(FIRST)
            self.assertEqual([], self.evening.running(), f"{FIRST}: the last thing to do is to stop what runs")
            self.evening.start("tickstack up stack.toml").wait_until_up()
            type(self).lived = ""
        self.assertEqual("", self.lived)

    # The blocks.

    def try_page(self, page, at=None):
        for block in page_blocks.blocks_of(PAGES / page):
            self.try_block(block, at or self.evening)

    def try_block(self, block, at):
        if excuse_of(block) is not None:
            self.tried["excused"] += 1
            return
        how = {"sh": self.run_commands, "console": self.run_commands, "toml": self.check_config, "log": self.find_lines}
        self.assertIn(block.language, list(how), f"{block}: not a block that can be tried, and not excused")
        before, after = HOOKS.get((block.page, self.hook_of(block)), (None, None))
        try:
            if before is not None:
                before(self, at)
            how[block.language](block, at)
            if after is not None:
                after(self, at)
        except AssertionError as error:
            raise AssertionError(f"docs/operating/{block}: {error}") from None
        self.tried["run" if block.language in ("sh", "console") else "checked"] += 1

    @staticmethod
    def hook_of(block):
        return next((text for page, text in HOOKS if page == block.page and text in block.text), None)

    def run_commands(self, block, at):
        for command in page_blocks.commands_of(block):
            at.check(command)

    def check_config(self, block, at):
        """A configuration is right as it is shown, and with the lines that are comments."""
        text = block.text
        for shown, here in HERE:
            text = text.replace(shown, here)
        for folder in ("tier", "etc"):
            (at.folder / folder).mkdir(exist_ok=True)
        if "[users." in text:
            return self.check_users(text, at)
        if "[[column]]" in text:
            return self.check_mapping(text, at)
        self.write_certificates(at.folder / "etc")
        if not (at.folder / "etc/users").exists():
            (at.folder / "etc/password").write_text("three plain words\n", encoding="ascii")
            code, said = at.run("tickstack user add alice --users etc/users --query '*' <etc/password")
            self.assertEqual(0, code, said)
        for name in ("stack", "etcd"):
            (at.folder / f"etc/{name}.credentials").write_text(f"{name}:a secret\n", encoding="ascii")
            (at.folder / f"etc/{name}.credentials").chmod(0o600)
        for variant in {text, re.sub(r"(?m)^# (\w+ = )", r"\1", text)}:
            (at.folder / "shown.toml").write_text(config_with(variant), encoding="utf-8")
            code, said = at.run("tickstack check shown.toml")
            self.assertEqual(0, code, f"{variant}\n{said}")

    def check_users(self, text, at):
        users = (at.folder / "users").read_text(encoding="utf-8")
        password = re.search(r'(?m)^password = "(.*)"$', users)[1]
        path = at.folder / "shown.users"
        path.write_text(re.sub(r'(?m)^password = ".*\.\.\."$', f'password = "{password}"', text), encoding="utf-8")
        path.chmod(0o600)
        code, said = at.run("tickstack user list --users shown.users")
        self.assertEqual(0, code, said)

    def check_mapping(self, text, at):
        (at.folder / "shown.toml").write_text(text, encoding="utf-8")
        code, said = at.run("tickstack hdb import data/mapped trades-1.csv --mapping shown.toml")
        self.assertEqual(0, code, said)

    def write_certificates(self, folder):
        if not (folder / "server.pem").exists():
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                            "-days", "2", "-subj", "/CN=capture.example.com", "-keyout", "server.key", "-out", "server.pem"],
                           cwd=folder, capture_output=True, check=True)
            for name in ("clients.pem", "ca.pem"):
                shutil.copy(folder / "server.pem", folder / name)

    def find_lines(self, block, at):
        def logs():
            paths = [*(at.folder / "data/logs").glob("*.log"), *(server.path for server in at.servers)]
            return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in paths)
        for line in block.text.splitlines():
            stack.wait_until(lambda shown=line: page_blocks.logged(shown, at.names.on_the_page(logs())), 60, f"line {line}")

    # What happened before a block, or makes it good again.

    def damage_a_price(self, at):
        shutil.copytree(self.today("trade"), self.path("undamaged"), copy_function=shutil.copy2)
        damage(self.today("trade/price"))
        self.ask(5012, "\\l .")

    def replace_the_price(self, at):
        self.path("undamaged/price").rename(self.today("trade/price"))
        shutil.rmtree(self.path("undamaged"))
        self.ask(5012, "\\l .")

    def see_the_repair(self, at):
        self.assertEqual(self.path("undamaged/price").read_bytes(), self.today("trade/price").read_bytes())
        self.replace_the_price(at)

    def move_a_partition_away(self, at):
        self.today().rename(self.path("moved"))

    def see_the_partition(self, at):
        written = {path.name for path in self.today().iterdir()}
        self.assertEqual({path.name for path in self.path("moved").iterdir()}, written)

    def write_trades(self, at):
        (at.folder / "trades.toml").write_text(first_config("import.md"), encoding="utf-8")
        for day in (5, 6):
            (at.folder / f"trades-{day - 4}.csv").write_text(
                f"Symbol,Timestamp,price\nIBM,3/{day}/2020 09:30:00.123,1.5\nAIG,3/{day}/2020 09:30:01,NA\n", encoding="ascii")

    def see_the_days(self, at):
        self.assertEqual(["2020.03.05", "2020.03.06"], sorted(path.name for path in self.path("data/older").glob("2*")))

    def lose_the_data(self, at):
        at.running()[0].interrupt()
        shutil.rmtree(self.path("data"))

    def use_the_section(self, at):
        path = at.folder / "stack.toml"
        path.write_text(path.read_text(encoding="utf-8") + first_config("security.md"), encoding="utf-8")

    def do_what_is_audited(self, at):
        self.assertEqual(1, at.run("TICKSTACK_PASSWORD=wrong tickstack query --user eve :5011 1")[0])
        with kdb_ipc.Connection(at.names.port(5010), user="alice", password=desk.PASSWORD) as feed:
            with self.assertRaisesRegex(kdb_ipc.QError, "alice may not publish to trade"):
                feed.call([b".u.upd", "trade", []])
        code, said = at.run("TICKSTACK_PASSWORD=${TOKEN#boss.} tickstack query --user boss :5010 '.u.endofday[]'")
        self.assertEqual(0, code, said)

    def begin_with_tls(self, at):
        text = first_config("tls.md").replace("/etc/tickstack/", "")
        text = text.replace("# ca = ", "ca = ").replace('"ca.pem"', '"server.pem"')
        (at.folder / "stack.toml").write_text(config_with(text), encoding="utf-8")
        at.fit_config()
        at.start("tickstack up stack.toml").wait_until_up()
        self.assertNotEqual(0, at.run("tickstack query --timeout 5 :5011 1")[0])
        code, said = at.run("tickstack query --ca server.pem tcps://localhost:5011 6*7")
        self.assertEqual((0, "42\n"), (code, said))

    def fill_the_tiers(self, at):
        stack.wait_until(lambda: self.ask(5011, ".rdb.stats[]", at)["rows_refused"] > 0, 60, "a full tier")

    def see_the_take_overs(self, at):
        *_, first, tickerplant, second = (server for server in at.servers if "--take-over" in server.command)
        for server in (tickerplant, second):
            server.wait_until(lambda said: "took over" in said, "the end of the process before")
        self.assertEqual(3, first.process.wait(60), first.said())

    # Pages that need more than their blocks.

    def try_start(self):
        self.try_page("start.md", self.new_desk())

    def try_security(self):
        self.try_page("security.md", self.new_desk(config_with("")))

    def try_tls(self):
        self.try_page("tls.md", self.new_desk())

    def try_corrections(self):
        at = self.new_desk()
        code, said = at.run("tickstack hdb generate data/hdb --days 3 --from 2024.01.01 --symbols 5 --quotes 1000")
        self.assertEqual(0, code, said)
        when = (8767 * 86_400 + 15 * 3_600) * 1_000_000_000  # 15:00 of 2024.01.02, in ns since 2000.
        late = kdb_ipc.encode(["upd", "trade", [Typed("p", [when]), ["IBM"], [1.5], Typed("i", [7]), Typed("b", [0]),
                                                b"c", b"N"]])
        (at.folder / "late.log").write_bytes(b"\xff\x01" + bytes(6) + late)
        shutil.copytree(at.folder / "data/hdb/2024.01.02/trade", at.folder / "fixed/trade")
        shutil.copy(at.folder / "data/hdb/sym", at.folder / "fixed/sym")
        at.start("tickstack hdb --db data/hdb --port 5012").wait_until_up()
        self.try_page("corrections.md", at)

    def try_chained(self):
        at = self.new_desk(first_config("chained.md"))
        at.start("tickstack up stack.toml").wait_until_up()
        stack.wait_until(lambda: self.ask(5020, ".u.upstream[]", at)["state"] == "live", 60, "the end of the log")
        self.try_page("chained.md", at)

    def try_watch(self):
        full = self.new_desk(FULL_TIERS)
        for tier in ("pmem", "cold"):
            (full.folder / tier).mkdir()
        full.start("tickstack up stack.toml")
        for block in page_blocks.blocks_of(PAGES / "watch.md"):
            self.try_block(block, full if "not ready:" in block.text or block.text.startswith("{") else self.evening)
        self.ask_what_the_table_says()

    def ask_what_the_table_says(self):
        """The queries in the table of watch.md, each to the process that its row names."""
        page = (PAGES / "watch.md").read_text(encoding="utf-8")
        text = page.partition("| query | process | answer |\n")[2].partition("\n\n")[0]
        ports = {"tickerplant": 5010, "rdb": 5011, "hdb": 5012, "monitor": 5013, "aggengine": 5014, "feed": 5015}
        rows = [line.split("|")[1:3] for line in text.splitlines()[1:]]
        self.assertGreater(len(rows), 10)
        for queries, process in rows:
            for query in re.findall(r"(?<!`)(`+)(?!`) ?(.+?) ?\1(?!`)", queries):
                self.ask(ports[process.strip()], query[1].replace("`quote;n]", "`quote;0]"))


# Pages and a text of the block: what happens before it, and after it.
HOOKS = {
    ("backup.md", "tickstack restore /backup/today data"): (OperatingPagesTest.lose_the_data, None),
    ("databases.md", "has CRC32C"): (OperatingPagesTest.damage_a_price, OperatingPagesTest.replace_the_price),
    ("databases.md", "tickstack hdb repair"): (OperatingPagesTest.damage_a_price, OperatingPagesTest.see_the_repair),
    ("end-of-day.md", "--date 2020.03.09"): (OperatingPagesTest.move_a_partition_away, OperatingPagesTest.see_the_partition),
    ("import.md", "tickstack hdb import"): (OperatingPagesTest.write_trades, OperatingPagesTest.see_the_days),
    ("security.md", "tickstack up stack.toml"): (OperatingPagesTest.use_the_section, None),
    ("security.md", "audit login"): (OperatingPagesTest.do_what_is_audited, None),
    ("tls.md", "audit refused"): (OperatingPagesTest.begin_with_tls, None),
    ("upgrade.md", "tickstack tickerplant --take-over"): (None, OperatingPagesTest.see_the_take_overs),
    ("watch.md", "not ready:"): (OperatingPagesTest.fill_the_tiers, None),
}


def add_tests():
    """A test for each page: try_PAGE, or its blocks on the stack of the first page."""
    for path in sorted(PAGES.glob("*.md")):
        name = path.stem.replace("-", "_")

        def test(self, page=path.name, special=f"try_{name}"):
            if hasattr(self, special):
                return getattr(self, special)()
            self.live_the_evening()
            if page != FIRST:
                self.try_page(page)
        setattr(OperatingPagesTest, f"test_{name}", test)


def flags_of_commands(command=()):
    """The flags of a command and of those below it, by their words, from --help. All flags are under ()."""
    done = subprocess.run([stack.PROGRAM, *command, "--help"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=True, timeout=60)
    flags = {command: set(re.findall(r"--[a-z][\w-]*", done.stdout))}
    _, _, subcommands = done.stdout.partition("\nSubcommands:\n")
    for name in re.findall(r"(?m)^  ([a-z][\w-]*)", subcommands.partition("\n\n")[0]):
        flags.update(flags_of_commands((*command, name)))
    return flags if command else flags | {(): set().union(*flags.values())}


class WordsTest(unittest.TestCase):
    """What the pages say outside of blocks, and what this test knows of them."""

    def test_the_index_lists_every_page(self):
        listed = re.findall(r"(?m)^\| \[[\w.-]+\]\(([\w-]+\.md)\)", (PAGES / "README.md").read_text(encoding="utf-8"))
        self.assertEqual(sorted(path.name for path in PAGES.glob("*.md") if path.name != "README.md"), sorted(listed))
        self.assertEqual(FIRST, listed[0])

    def test_excuses_and_hooks_are_of_one_block(self):
        blocks = [block for path in PAGES.glob("*.md") for block in page_blocks.blocks_of(path)]
        for page, text in (*EXCUSED, *HOOKS):
            found = [str(block) for block in blocks if block.page == page and text in block.text]
            self.assertEqual(1, len(found), f"{page}: {text}: {found}")
        others = (stack.ROOT / "tests/e2e/package_test.py").read_text(encoding="utf-8")
        for page, text in (block for block, why in EXCUSED.items() if why == SYSTEMD):
            self.assertIn(f'run_block("{page}", "{text}"', others)

    def test_commands_in_the_text_have_the_flags(self):
        flags = flags_of_commands()
        for path in sorted(PAGES.glob("*.md")):
            text = page_blocks.FENCE.sub("", path.read_text(encoding="utf-8"))
            for span in re.findall(r"`(tickstack [^`]+|--[^`]+)`", text):
                words = span.split()
                names = [tuple(words[1:3]), tuple(words[1:2])] if words[0] == "tickstack" else [()]
                known = next((flags[name] for name in names if name in flags), None)
                if words[1:2] == ["COMMAND"] or words[0] in ("--network", "--format", "--isolation"):  # Podman's and buildah's.
                    continue
                if known is None and words[1].startswith("--"):
                    known = flags[()]
                self.assertIsNotNone(known, f"{path.name}: {span}: no such command")
                self.assertLessEqual({word for word in words if word.startswith("--")}, known, f"{path.name}: {span}")

    def test_what_is_shown(self):
        self.assertTrue(page_blocks.is_shown("a ... c\n...\nd\n", "a  b c\nx\ny\nd\n"))
        self.assertTrue(page_blocks.is_shown("a  b\n----\n1  2\n", "a   b\n------\n1   2\n"))
        self.assertFalse(page_blocks.is_shown("1  2\n", "12\n"))
        self.assertFalse(page_blocks.is_shown("", "error\n"))
        self.assertFalse(page_blocks.is_shown("a\n...\n", "b\n"))
        line = "2020-03-09T14:30:00.123456 I rdb audit login user=a host=10.0.0.5:42"
        other = "2026-11-26T01:02:03.000001 I rdb audit login user=a host=127.0.0.1:33333"
        self.assertTrue(page_blocks.logged(line, f"something else\n{other}\n"))
        self.assertFalse(page_blocks.logged(line, other.replace("user=a", "user=b")))


if __name__ == "__main__":
    add_tests()
    stack.main()
