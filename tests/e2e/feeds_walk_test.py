#!/usr/bin/env python3
"""docs/feeds/walk.md from top to bottom: a public file of IEX, its rows, bars and database, as the page shows them."""

import pathlib
import shutil
import sys
import tomllib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import desk, page_blocks, stack  # noqa: E402

PAGE = stack.ROOT / "docs/feeds/walk.md"
FIXTURE = "iex-hist/20231002_deep10.pcap.gz"


class FeedsWalkTest(stack.StackTest):
    def test_the_page(self):
        capture = self.fixture(FIXTURE)
        walk = desk.Desk()
        self.addCleanup(walk.close)
        for block in page_blocks.blocks_of(PAGE):
            self.assertIn(block.language, ("toml", "console"), block)
            if block.language == "toml":
                shutil.copy(capture, walk.folder / tomllib.loads(block.text)["feed"]["path"])
                (walk.folder / "stack.toml").write_text(block.text, encoding="utf-8")
                walk.fit_config()
                continue
            for command in page_blocks.commands_of(block):
                with self.subTest(command=command.text):
                    walk.check(command)
        self.assertEqual([], walk.running(), "the last command of the page stops the stack")


if __name__ == "__main__":
    stack.main()
