#!/usr/bin/env python3
"""The version of a source tree follows from its git tags (cmake/version.cmake)."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent / "cmake/version.cmake"
# The configuration of whoever runs the test must not matter.
ENVIRONMENT = {**{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
               "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b",
               "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


@unittest.skipUnless(shutil.which("git") and shutil.which("cmake"), "no git or no cmake")
class VersionTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-version-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def git(self, *arguments):
        return subprocess.run(["git", "-C", self.folder, *arguments], capture_output=True, text=True, check=True,
                              env=ENVIRONMENT).stdout.strip()

    def commit(self):
        with open(self.folder / "file", "a", encoding="ascii") as file:
            file.write("line\n")
        self.git("add", "file")
        self.git("commit", "--quiet", "--message", "change")
        return "g" + self.git("rev-parse", "--short=12", "HEAD")

    def version(self, folder=None):
        return subprocess.run(["cmake", "-D", f"SOURCE_DIR={folder or self.folder}", "-D", "RELEASE=0.1.0", "-P", SCRIPT],
                              capture_output=True, text=True, check=True, env=ENVIRONMENT).stdout.strip()

    def test_without_git_it_is_that_of_the_sources(self):
        self.assertEqual("0.1.0", self.version())

    def test_before_the_first_tag_commits_are_counted(self):
        self.git("init", "--quiet")
        self.assertEqual("0.1.0", self.version())  # No commit yet.
        self.commit()
        commit = self.commit()
        self.assertEqual(f"0.1.0-dev.2+{commit}", self.version())

    def test_a_tag_is_the_version_and_commits_after_it_are_counted(self):
        self.git("init", "--quiet")
        self.commit()
        self.git("tag", "v1.2.3")
        self.git("tag", "another")
        self.assertEqual("1.2.3", self.version())
        commit = self.commit()
        self.git("tag", "vendor")
        self.assertEqual(f"1.2.3+1.{commit}", self.version())
        self.git("tag", "--annotate", "v2.0.0-rc1", "--message", "candidate")
        self.assertEqual("2.0.0-rc1", self.version())

    def test_changes_that_are_not_committed_show(self):
        self.git("init", "--quiet")
        self.commit()
        self.git("tag", "v1.2.3")
        (self.folder / "untracked").write_text("")
        self.assertEqual("1.2.3", self.version())
        (self.folder / "file").write_text("changed")
        self.assertEqual("1.2.3+changed", self.version())
        self.git("tag", "--delete", "v1.2.3")
        self.assertRegex(self.version(), r"^0\.1\.0-dev\.1\+g[0-9a-f]{12}\.changed$")

    def test_an_archive_within_a_repository_of_something_else(self):
        self.git("init", "--quiet")
        self.commit()
        self.git("tag", "v1.2.3")
        (self.folder / "archive").mkdir()
        self.assertEqual("0.1.0", self.version(self.folder / "archive"))


if __name__ == "__main__":
    unittest.main()
