#!/usr/bin/env python3
"""No folder includes upwards.

    base <- mem <- table <- disk <- interchange, query, wire <- tplog, security <- s3, kafka, serve, measure <- the processes <- loadtest <- cli

backup, above disk and tplog, is used by cli alone.
The processes are the rows of cli/process_table.h.

An include only looks left; query and wire do not include each other, wire does not know files, and the processes never include
one another: they meet on the wire. Inside query/ it is columns <- kernels <- joins <- grouping, language, remote:
`by` evaluates expressions, a query is an expression, and its source may be a table of other processes, so these three
are one layer. loadtest/report uses nothing else of loadtest/, feed/market nothing else of feed/, feed/live only
feed/market, and feed/sources only these two. Only tests of such a part use the whole of its folder. tests/, bench/ and
fuzz/ may use everything. A *_test.cc may also use tests/support/.

Also, a file that names its interpreter in its first line can be run as it is.
"""

import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent

LIBRARIES = ["base", "mem", "table", "disk", "interchange", "query", "wire", "tplog", "security", "s3", "kafka", "serve", "measure"]
# The rows of the table of processes: `Row<...>("ROLE",`.
PROCESSES = re.findall(r'Row<[^>]*>\("(\w+)"', (ROOT / "cli/process_table.h").read_text(encoding="utf-8"))
MAY_INCLUDE = {
    "base": set(),
    "mem": {"base"},
    "table": {"base", "mem"},
    "disk": {"base", "mem", "table"},
    "interchange": {"base", "table", "disk"},
    "query": {"base", "mem", "table", "disk"},
    "wire": {"base", "mem", "table"},
    "tplog": {"base", "table", "wire"},
    "security": {"base", "wire"},
    "s3": {"base", "disk", "security"},
    "kafka": {"base", "wire"},
    "serve": {"base", "mem", "table", "disk", "interchange", "query", "wire", "security"},
    "measure": {"base", "table", "disk", "query", "wire"},
    **{process: set(LIBRARIES) for process in PROCESSES},
    "loadtest": set(LIBRARIES + PROCESSES),
    "backup": {"base", "mem", "table", "disk", "wire", "tplog"},
    "cli": set(LIBRARIES + PROCESSES + ["backup", "loadtest"]),
}
# Subfolders that are layers as well, lowest first; those of one entry may include one another.
PARTS = {"query": [["columns"], ["kernels"], ["joins"], ["grouping", "language", "remote"]], "feed": [["market"], ["live"], ["sources"]], "loadtest": [["report"]]}
USE_EVERYTHING = {"tests", "bench", "fuzz"}
NOT_SOURCES = {"build", "data"}

# A name of the protocol as a string of its own. wire/protocol.h is its only spelling outside of tests;
# texts that mention one, such as errors, are not meant.
SPELLED = re.compile(r'(?<!\\)"\.u\.\w+"')
SPELLING = pathlib.PurePosixPath("wire/protocol.h")

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def sources(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        hidden = any(part.startswith(".") for part in relative.parts)
        if path.suffix in (".h", ".cc") and not hidden and relative.parts[0] not in NOT_SOURCES:
            yield relative


def part_complaint(source, target):
    """What is wrong with a file of a subfolder including `target` of the same folder, or None."""
    parts = PARTS.get(source.parts[0], [])
    if len(source.parts) == 2 or source.name.endswith("_test.cc") or not parts:
        return None
    own = next((number for number, part in enumerate(parts) if source.parts[1] in part), None)
    if own is None:
        return f"{source.parent}/ has no layer: give it one in tests/layers_test.py"
    lower = [name for part in parts[: own + 1] for name in part]
    if len(target.parts) > 2 and target.parts[1] in lower:
        return None
    return f"{source.parent} may include {', '.join(lower)} of {source.parts[0]}/"


def complaint(root, source, target):
    """What is wrong with `source` including `target`, or None."""
    folder, included = source.parts[0], target.parts[0]
    if not (root / target).is_file():
        if len(target.parts) > 1 and not (root / included).is_dir():
            return None  # A library's header.
        return "no such file: includes are written from the root of the repository"
    if folder == included:
        return part_complaint(source, target)
    if folder in USE_EVERYTHING:
        return None
    if source.name.endswith("_test.cc") and target.parts[:2] == ("tests", "support"):
        return None
    if folder not in MAY_INCLUDE:
        return f"{folder}/ has no layer: give it one in tests/layers_test.py"
    if included not in MAY_INCLUDE[folder]:
        allowed = ", ".join(sorted(MAY_INCLUDE[folder])) or "nothing"
        return f"{folder} may include {allowed}, not {included}"
    return None


def violations(root):
    found = []
    for source in sources(root):
        for number, line in enumerate((root / source).read_text(encoding="utf-8").splitlines(), 1):
            match = INCLUDE.match(line)
            what = match and complaint(root, source, pathlib.PurePosixPath(match[1]))
            if what:
                found.append(f'{source}:{number}: "{match[1]}": {what}')
    return found


def spellings(root):
    found = []
    for source in sources(root):
        if source == SPELLING or source.parts[0] in USE_EVERYTHING or source.stem.endswith(("_test", "_testing")):
            continue
        for number, line in enumerate((root / source).read_text(encoding="utf-8").splitlines(), 1):
            found += [f"{source}:{number}: {name} is spelled in {SPELLING}"
                      for name in SPELLED.findall(line.split("//")[0])]
    return found


def scripts(root):
    """Files whose first line begins with `#!`, outside of what was built."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in ("build", ".git")]
        for path in (pathlib.Path(folder) / name for name in files):
            if not path.is_symlink() and path.is_file():
                with path.open("rb") as file:
                    if file.read(2) == b"#!":
                        yield path


def built_libraries(cmake):
    """The folders before the processes in the root's CMakeLists.txt, whose order is that of the layers."""
    return re.findall(r"^add_subdirectory\((\w+)\)$", cmake[: cmake.index("TICKSTACK_PROCESSES")], re.MULTILINE)


def described_libraries(page):
    """The first column of the table under the heading "The libraries"."""
    section = re.search(r"^## The libraries\n(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^\| (?!library|---)(\S+) \|", section, re.MULTILINE)


class LibrariesTest(unittest.TestCase):
    NUMBERS = {number: word for number, word in enumerate("ten eleven twelve thirteen fourteen fifteen sixteen".split(), 10)}

    def test_the_page_about_the_architecture_lists_what_is_built(self):
        built = built_libraries((ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))
        page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
        self.assertEqual(LIBRARIES + ["backup"], built)
        self.assertEqual(LIBRARIES, described_libraries(page))
        self.assertIn(f"{self.NUMBERS[len(LIBRARIES)]} libraries", " ".join(page.split()))

    def test_rows_and_folders_are_found(self):
        page = "## The libraries\n\n| library | content |\n| --- | --- |\n| base | a |\n| mem | b |\n\n## Next\n| x | y |\n"
        self.assertEqual(["base", "mem"], described_libraries(page))
        self.assertEqual(["base"], built_libraries("add_subdirectory(base)\nset(TICKSTACK_PROCESSES)\nadd_subdirectory(cli)\n"))


class ScriptsTest(unittest.TestCase):
    def test_scripts_can_be_run(self):
        found = list(scripts(ROOT))
        self.assertGreater(len(found), 50)
        self.assertEqual([], [str(path.relative_to(ROOT)) for path in found if not os.access(path, os.X_OK)])


class LayersTest(unittest.TestCase):
    def violations_of(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text, encoding="utf-8")
            return violations(root)

    def test_the_processes_are_known_from_their_table(self):
        self.assertIn("rdb", PROCESSES)
        for process in PROCESSES:
            self.assertTrue((ROOT / process / f"{process}_main.h").is_file(), process)

    def test_this_repository_includes_only_downwards(self):
        self.assertGreater(len(list(sources(ROOT))), 10)
        self.assertEqual([], violations(ROOT))

    def test_names_of_the_protocol_are_spelled_once(self):
        self.assertEqual([], spellings(ROOT))
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "rdb").mkdir()
            (root / "rdb/a.cc").write_text('a(".u.sub");  // ".u.end"\nb("type: .u.sub[x]");\n', encoding="utf-8")
            self.assertEqual(['rdb/a.cc:1: ".u.sub" is spelled in wire/protocol.h'], spellings(root))

    def test_an_upward_include_is_named_with_its_line(self):
        found = self.violations_of({"table/a.h": "// a\n#include \"wire/b.h\"\n", "wire/b.h": ""})
        self.assertEqual(['table/a.h:2: "wire/b.h": table may include base, mem, not wire'], found)

    def test_query_and_wire_do_not_meet(self):
        files = {"query/a.h": '#include "wire/a.h"', "wire/a.h": '#include "query/a.h"'}
        self.assertEqual(2, len(self.violations_of(files)))

    def test_processes_do_not_include_one_another(self):
        files = {"rdb/a.cc": '#include "feed/a.h"', "feed/a.h": ""}
        self.assertEqual(1, len(self.violations_of(files)))

    def test_a_process_includes_libraries_and_cli_includes_processes(self):
        files = {"rdb/a.h": '#include "wire/a.h"\n#include "query/a.h"', "wire/a.h": "",
                 "query/a.h": '#include "base/a.h"', "base/a.h": "", "cli/a.cc": '#include "rdb/a.h"'}
        self.assertEqual([], self.violations_of(files))

    def test_parts_of_query_include_only_downwards(self):
        files = {"query/columns/a.h": '#include "query/kernels/b.h"', "query/kernels/b.h": '#include "query/columns/a.h"',
                 "query/query.h": '#include "query/kernels/b.h"', "query/kernels/b_test.cc": '#include "query/query.h"'}
        found = self.violations_of(files)
        self.assertEqual(['query/columns/a.h:1: "query/kernels/b.h": query/columns may include columns of query/'], found)
        self.assertEqual(1, len(self.violations_of({"query/joins/a.h": '#include "query/query.h"', "query/query.h": ""})))
        self.assertIn("has no layer", self.violations_of({"query/a/a.h": '#include "query/a/b.h"', "query/a/b.h": ""})[0])

    def test_only_tests_use_test_support(self):
        files = {"base/a_test.cc": '#include "tests/support/a.h"', "base/a.cc": '#include "tests/support/a.h"',
                 "tests/support/a.h": ""}
        self.assertEqual(1, len(self.violations_of(files)))

    def test_a_new_folder_must_be_given_a_layer(self):
        files = {"utils/a.h": '#include "base/a.h"', "base/a.h": ""}
        self.assertIn("has no layer", self.violations_of(files)[0])

    def test_includes_are_written_from_the_root(self):
        files = {"base/a.cc": '#include "a.h"', "base/a.h": ""}
        self.assertIn("from the root", self.violations_of(files)[0])
        self.assertIn("from the root", self.violations_of({"base/a.cc": '#include "base/b.h"'})[0])

    def test_headers_of_libraries_are_not_ours_to_judge(self):
        self.assertEqual([], self.violations_of({"base/a.cc": '#include "absl/status/status.h"'}))


if __name__ == "__main__":
    unittest.main(verbosity=1 if len(sys.argv) == 1 else 2)
