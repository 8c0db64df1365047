#!/usr/bin/env python3
"""The list of mutants fits the sources, and mutants.py notices when it does not."""

import re
import sys
import unittest

import mutants

TWO = """
mutant one
breaks a promise
file a.cc
- x = 1;
+ x = MUTANT ? 2 : 1;

mutant two
breaks another
file a.cc
- Sync();
"""


def plant(text, source):
    return mutants.planted(mutants.parse(text), lambda _: source)["a.cc"]


class MutantsTest(unittest.TestCase):
    def test_each_fits_the_sources(self):
        listed = mutants.parse(mutants.LIST.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len(listed), 60)
        sources = mutants.planted(listed, lambda file: (mutants.ROOT / file).read_text(encoding="utf-8"))
        for name, text in sources.items():
            self.assertNotIn("MUTANT", text, name)

    def test_a_mutant_replaces_text_or_leaves_a_statement_out(self):
        text = plant(TWO, "#pragma once\nx =\n    1;\nSync();\n")
        one, two = (mutant.number for mutant in mutants.parse(TWO))
        self.assertIn(f"x = (::tickstack::mutant == {one}) ? 2 : 1;", text)
        self.assertIn(f"if (!(::tickstack::mutant == {two})) {{\nSync();\n}}", text)
        self.assertTrue(text.startswith("#pragma once\nnamespace tickstack"))

    def test_every_folder_of_the_sources_is_copied(self):
        cmake = (mutants.ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        folders = mutants.source_folders(mutants.ROOT)
        self.assertLessEqual(set(re.findall(r"^add_subdirectory\(([a-z_]+)\)", cmake, re.M)), set(folders))
        self.assertNotIn("build", folders)

    def test_old_text_must_occur_once(self):
        for source in ("x = 1;", "x = 1;\nSync();\nSync();\n"):
            with self.assertRaisesRegex(mutants.Invalid, r"two: a.cc: occurs \d times, expected once: Sync"):
                plant(TWO, source)

    def test_two_mutants_cannot_change_the_same_text(self):
        with self.assertRaisesRegex(mutants.Invalid, "one and two change the same text"):
            plant(TWO.replace("- Sync();", "- 1;"), "x = 1;\n")

    def test_a_replacement_depends_on_the_mutant(self):
        with self.assertRaisesRegex(mutants.Invalid, "one: a.cc: no MUTANT"):
            plant(TWO.replace("MUTANT ? 2 : 1", "2"), "x = 1;\nSync();\n")

    def test_a_harmless_mutant_is_not_one_that_lives_are_to_notice(self):
        text = TWO.replace("breaks another\n", "breaks another\nharmless another call does it\n")
        one, two = listed = mutants.parse(text)
        self.assertEqual([one.harmless, two.harmless], ["", "another call does it"])
        last = mutants.summary(listed, {"one": (3, ""), "two": (None, "")}).splitlines()[-1]
        self.assertEqual(last, "| all | 1 | 1 | 0 | 1 | 0 | 0 | 0 |")

    def test_a_mutant_may_have_lives_of_another_kind(self):
        for kind in ("standbys", "gateway"):
            one, two = mutants.parse(TWO.replace("breaks another\n", f"breaks another\nlives {kind}\n"))
            self.assertEqual([one.lives, two.lives], ["", kind])
        with self.assertRaisesRegex(mutants.Invalid, "line 10: lives other"):
            mutants.parse(TWO.replace("breaks another\n", "breaks another\nlives other\n"))

    def test_a_line_that_is_neither(self):
        with self.assertRaisesRegex(mutants.Invalid, "line 3: whatever"):
            mutants.parse("mutant one\nfile a.cc\nwhatever\n")


if __name__ == "__main__":
    sys.exit(unittest.main())
