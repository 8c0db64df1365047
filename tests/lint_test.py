#!/usr/bin/env python3
"""tests/lint.sh finds sources to check wherever it runs. clang-format and clang-tidy are replaced by stubs."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name) / "repository"
        self.stubs = pathlib.Path(folder.name) / "bin"
        self.log = pathlib.Path(folder.name) / "log"
        (self.root / "tests").mkdir(parents=True)
        self.stubs.mkdir()
        self.stub("clang-format-19", "exit 0")
        self.stub("clang-tidy-19", f'echo "${{@: -1}}" >>{self.log}')
        for name in ("lint.sh", "prose_lint.py", "code_differs.py"):
            shutil.copy(TESTS / name, self.root / "tests")
        (self.root / ".ci").mkdir()
        (self.root / ".ci/run").write_text("", encoding="utf-8")
        self.git("init", "-q", "-b", "main")
        self.git("config", "user.name", "A")
        self.git("config", "user.email", "a@example.com")

    def stub(self, name, text):
        (self.stubs / name).write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
        (self.stubs / name).chmod(0o755)

    def git(self, *arguments):
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self, *names):
        for name in names:
            (self.root / name).parent.mkdir(exist_ok=True)
            with (self.root / name).open("a", encoding="utf-8") as file:
                file.write("int line;\n")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "change", "--allow-empty")

    def lint(self, *arguments, root=None):
        """Returns (exit status, output, the sources that clang-tidy checked)."""
        self.log.unlink(missing_ok=True)
        environment = dict(os.environ, PATH=f"{self.stubs}:{os.environ['PATH']}")
        ran = subprocess.run(["bash", "tests/lint.sh", *arguments], cwd=root or self.root, env=environment,
                             capture_output=True, text=True, check=False)
        checked = sorted(self.log.read_text(encoding="utf-8").split()) if self.log.exists() else []
        return ran.returncode, ran.stdout + ran.stderr, checked

    def test_a_header_of_which_only_comments_differ_is_not(self):
        def write(text):
            (self.root / "c.h").write_text(text, encoding="utf-8")
            self.commit("a.cc")
        self.commit("c.cc", "d.cc")
        write('const char* a = "// no comment";  // One.\nint b;\n')
        for text, checked in (('/* Two\nlines. */ const char* a = "// no comment";\nint b;  // Three.\n', ["a.cc"]),
                              ('const char* a = "// another";  // One.\nint b;\n', ["a.cc", "c.cc"]),
                              ('const char* a = "// another";\nint b;  // NOLINT(all)\n', ["a.cc", "c.cc"])):
            self.git("branch", "-f", "base")
            write(text)
            self.assertEqual(checked, self.lint("changed", "base")[2], text)

    def test_what_differs_from_the_base_is_checked(self):
        self.commit("a.cc", "b.cc", "c.h", "c_test.cc")
        self.git("branch", "base")
        self.commit("b.cc", "c.h")
        self.assertEqual((0, ["b.cc", "c_test.cc"]), self.lint("changed", "base")[::2])
        with (self.root / "a.cc").open("a", encoding="utf-8") as file:
            file.write("// Not committed.\n")
        self.assertEqual(["a.cc", "b.cc", "c_test.cc"], self.lint("changed", "base")[2])
        self.assertEqual(["a.cc", "b.cc", "c_test.cc"], self.lint("all", "base")[2])

    def test_on_a_clone_of_the_commit_it_compares_with_an_earlier_one(self):
        self.commit("old.cc")
        self.commit("new.cc")
        for _ in range(19):
            self.commit()
        for base in ("main", "no-such-commit"):
            status, output, checked = self.lint("changed", base)
            self.assertEqual((0, ["new.cc"]), (status, checked), output)
            self.assertRegex(output, "compares with [0-9a-f]{7,}, .*: change")

    def test_a_history_that_is_too_short_differs_from_nothing(self):
        self.commit("old.cc")
        self.commit("new.cc")
        shallow = self.root.parent / "shallow"
        subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{self.root}", shallow], check=True)
        for root in (self.root, shallow):
            status, output, checked = self.lint("changed", "origin/main", root=root)
            self.assertEqual((0, ["new.cc", "old.cc"]), (status, checked), output)
            self.assertIn("compares with the empty tree", output)

    def test_with_a_bound_it_always_checks_something(self):
        self.commit("old.cc")
        for _ in range(20):
            self.commit("README.md")
        status, output, checked = self.lint("changed", "main", "60")
        self.assertEqual((0, ["old.cc"]), (status, checked), output)
        self.assertIn("all sources are candidates", output)
        status, output, checked = self.lint("changed", "main")
        self.assertEqual((0, []), (status, checked))
        self.assertIn("no source differs", output)

    def test_no_time_for_a_single_source_is_a_failure(self):
        self.commit("a.cc")
        self.stub("date", "n=$(cat $0.n 2>/dev/null || echo 0); echo $((n + 100)) | tee $0.n")
        status, output, checked = self.lint("changed", "main", "60")
        self.assertEqual((1, []), (status, checked))
        self.assertIn("in 0 sources; 1 not looked at", output)

    def test_findings_are_failures(self):
        self.commit("a.cc", "b.cc")
        self.stub("clang-tidy-19", '[[ ${@: -1} != a.cc ]]')
        self.assertNotEqual(0, self.lint("changed", "main")[0])
        self.stub("clang-tidy-19", "exit 0")
        self.assertEqual(0, self.lint("changed", "main")[0])
        (self.root / "b.cc").write_text("// Of the rows.\n", encoding="utf-8")
        self.assertNotEqual(0, self.lint("changed", "main")[0])


if __name__ == "__main__":
    unittest.main(verbosity=1 if len(sys.argv) == 1 else 2)
