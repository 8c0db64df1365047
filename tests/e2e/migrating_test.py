#!/usr/bin/env python3
"""What evaluators read first: docs/migrating.md runs from top to bottom with a log and a database of a kdb+tick stack, the
configurations of docs/machines.md pass `tickstack check`, and the program gives the sizes of docs/capacity.md."""

import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import desk, page_blocks, stack  # noqa: E402

DOCS = stack.ROOT / "docs"
KDB = "kdb/SirCsimbok-kdb-tick"
DATE = "2024.01.29"
# The schema with which that stack ran.
SCHEMA = """quote:([]time:`timespan$();sym:`g#`symbol$();bid:`float$();ask:`float$();bsize:`long$();asize:`long$();mode:`char$();ex:`char$())
trade:([]time:`timespan$();sym:`g#`symbol$();price:`float$();size:`long$();stop:`boolean$();cond:`char$();ex:`char$())
"""


def blocks_of(page, folder):
    """Returns the blocks of a page of docs/, also those in lists."""
    path = folder / page
    path.write_text(re.sub(r"(?m)^   (?=\S)", "", (DOCS / page).read_text(encoding="utf-8")), encoding="utf-8")
    return page_blocks.blocks_of(path)


class MigratingTest(stack.StackTest):
    def test_every_command(self):
        source = self.fixture(KDB)
        at = desk.Desk()
        self.addCleanup(at.close)
        (at.folder / "sym.q").write_text(SCHEMA, encoding="utf-8")
        (at.folder / "tick").mkdir()
        shutil.copy(source / f"schema{DATE}", at.folder / f"tick/sym{DATE}")
        shutil.copytree(source / "hdb", at.folder / "db")
        commands = [command for block in blocks_of("migrating.md", at.folder) if block.language == "sh"
                    for command in page_blocks.commands_of(block)]
        self.assertGreaterEqual(len(commands), 13)
        for command in commands:
            at.check(command)
        self.assertEqual(["quote", "trade"], sorted(path.name for path in (at.folder / "new" / DATE).iterdir()))


class MachinesTest(stack.StackTest):
    def test_every_configuration_passes_the_check(self):
        users = self.folder / "users"
        done = subprocess.run([stack.PROGRAM, "user", "add", "ops", "--users", users, "--query", "*"],
                              input=desk.PASSWORD + "\n", capture_output=True, text=True, check=False)
        self.assertEqual(0, done.returncode, done.stderr)
        secret = self.folder / "stack.credentials"
        secret.write_text("stack:a secret\n", encoding="ascii")
        secret.chmod(0o600)
        configs = [block.text for block in blocks_of("machines.md", self.folder) if block.language == "toml"]
        self.assertEqual(3, len(configs))
        for text in configs:
            for shown, here in (("/var/lib/tickstack/users", users), ("/etc/tickstack/stack.credentials", secret),
                                ("/var/lib/tickstack/hdb", self.folder / "hdb"), ("/mnt", self.folder)):
                text = text.replace(shown, str(here))
            path = self.folder / "stack.toml"
            path.write_text(text, encoding="utf-8")
            checked = self.run_program("check", str(path), cwd=self.folder)
            self.assertEqual((0, ""), (checked.returncode, checked.stderr), text + checked.stdout)


class CapacityTest(stack.StackTest):
    def test_the_program_gives_the_sizes_of_the_page(self):
        config = self.folder / "stack.toml"
        config.write_text("[tickerplant]\n[[rdb]]\n", encoding="utf-8")
        page = (DOCS / "capacity.md").read_text(encoding="utf-8")
        planned = re.findall(r"(?m)^tickstack tiers stack.toml --rows (\S+) .*: ([\d.]+ GiB)$", page)
        self.assertEqual(2, len(planned))
        for rows, size in planned:
            self.assertIn(f"need {size}", self.run_program("tiers", str(config), "--rows", rows).stdout)
        shown = re.findall(r"(?m)^\| `(trade|quote)` \| ([\d.]+ MiB) \| ([\d.]+ MiB) \|$", page)
        self.assertEqual(2, len(shown))
        checked = self.run_program("check", str(config), cwd=self.folder).stdout
        for table, log, partition in shown:
            self.assertRegex(checked, rf"(?m)^  {table} .* {log} +{partition}$")


if __name__ == "__main__":
    stack.main()
