#!/usr/bin/env python3
"""The Markdown pages hold together: links and their anchors exist, paragraphs have at most five lines of 100 columns,
and each page of docs/ that a source, an example or a script names is there. Tables, code and lines that are only
a link may be longer."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
COLUMNS_MAX = 100
PARAGRAPH_LINES_MAX = 5
FOREIGN = {"build", "third_party", ".git"}
NAMING = {".h", ".cc", ".py", ".sh", ".toml", ".txt", ".cmake"}


def files(suffixes):
    for path in sorted(ROOT.rglob("*")):
        if path.suffix in suffixes and not FOREIGN & set(path.relative_to(ROOT).parts):
            yield path


def prose(text):
    """(line number, line) outside of code blocks; a line of a code block is empty."""
    in_code = False
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        yield number, "" if fence or in_code else line
        in_code ^= fence


def anchors(text):
    """The anchors that GitHub makes of a page's headings."""
    found = set()
    for _, line in prose(text):
        if match := re.match(r"#+ (.*)", line):
            heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).lower()
            found.add(re.sub(r"[^\w\- ]", "", heading).strip().replace(" ", "-"))
    return found


def dead_links(page, text):
    without_code = re.sub(r"`[^`\n]*`", "", "\n".join(line for _, line in prose(text)))
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        if not file.exists():
            yield f"{target}: no such file"
        elif anchor and anchor not in anchors(file.read_text(encoding="utf-8")):
            yield f"{target}: no such heading"


def long_prose(text):
    begin, lines = 0, 0
    for number, line in [*prose(text), (0, "")]:
        is_text = bool(line.strip()) and not line.lstrip().startswith(("|", "#", "<", "[", "!"))
        if is_text and len(line) > COLUMNS_MAX:
            yield f"line {number}: {len(line)} columns"
        starts_item = re.match(r"\s*([-*]|\d+\.) ", line)
        if not is_text or starts_item:
            if lines > PARAGRAPH_LINES_MAX:
                yield f"line {begin}: a paragraph of {lines} lines"
            lines = 0
        if is_text:
            begin = begin if lines else number
            lines += 1


def picture_program(*arguments):
    """Runs pictures.py with a program and a browser that do not exist."""
    environment = {name: value for name, value in os.environ.items() if name != "TICKSTACK_BIN"}
    return subprocess.run([sys.executable, str(ROOT / "tests/browser/pictures.py"), "--program", "/nothing", *arguments],
                          capture_output=True, text=True, check=False,
                          env={**environment, "TICKSTACK_CHROMIUM": "/nothing/chromium"})


class PicturesTest(unittest.TestCase):
    """Pictures of reports show measured figures: pictures.py refuses a run that tests invented, before it needs a
    browser."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def refusal(self, run):
        done = picture_program("--run", str(run), "--out", str(self.folder / "out"))
        self.assertEqual(1, done.returncode)
        self.assertFalse((self.folder / "out").exists())
        return done.stderr

    def run_with(self, **changes):
        run = self.folder / "run"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(ROOT / "tests/data/loadtest_run", run)
        path = run / "environment.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
        return run

    def test_invented_runs_are_refused(self):
        self.assertIn("invented", self.refusal(ROOT / "tests/data/loadtest_run"))
        self.assertIn("invented", self.refusal(self.run_with()))
        self.assertIn("invented", self.refusal(self.run_with(commit=self.head())))
        made = self.folder / "made"
        subprocess.run([sys.executable, str(ROOT / "tests/data/make_loadtest_run.py"), str(made)], check=True)
        self.assertIn("invented", self.refusal(made))

    def test_a_run_of_an_unknown_commit_is_refused(self):
        for commit in ("0" * 40, "", "unknown", "--help"):
            self.assertIn("not a commit of this repository", self.refusal(self.run_with(cpu="A CPU", commit=commit)))

    def test_what_is_no_run_is_refused(self):
        self.assertIn("give the folder of a run", self.refusal(self.folder / "nothing"))

    def test_a_run_of_a_commit_is_accepted(self):
        done = picture_program("--run", str(self.run_with(cpu="A CPU", commit=self.head())), "--out", str(self.folder / "out"))
        self.assertIn("No such file or directory: '/nothing'", done.stderr)

    def head(self):
        return subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=True, capture_output=True,
                              text=True).stdout.strip()


class PagesTest(unittest.TestCase):
    def test_links_lead_to_files_and_headings(self):
        for page in files({".md"}):
            with self.subTest(page.relative_to(ROOT)):
                self.assertEqual([], list(dead_links(page, page.read_text(encoding="utf-8"))))

    def test_paragraphs_are_short(self):
        for page in files({".md"}):
            with self.subTest(page.relative_to(ROOT)):
                self.assertEqual([], list(long_prose(page.read_text(encoding="utf-8"))))

    def test_sources_name_pages_that_exist(self):
        for source in files(NAMING):
            for name in re.findall(r"\bdocs/[\w/.-]+\.(?:md|toml)\b", source.read_text(encoding="utf-8")):
                with self.subTest(source.relative_to(ROOT)):
                    self.assertTrue((ROOT / name).exists(), f"{name}: no such file")

    def test_every_alert_has_a_runbook(self):
        """The annotation `runbook` of each alert rule is a page and a heading that exist, and each heading is of a rule."""
        rules = (ROOT / "packaging/prometheus/tickstack.rules.yml").read_text(encoding="utf-8")
        found = dict(alert.groups() for alert in re.finditer(
            r'- alert: (\w+)\n(?:(?! +- alert: ).*\n)*? +runbook: "([^"]+)"\n', rules))
        self.assertEqual(re.findall(r"- alert: (\w+)", rules), list(found))
        for alert, runbook in found.items():
            page, _, anchor = runbook.partition("#")
            with self.subTest(alert):
                self.assertEqual(alert.lower(), anchor)
                self.assertIn(anchor, anchors((ROOT / page).read_text(encoding="utf-8")))
        page = (ROOT / "docs/operating/alerts.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^## (\w+)$", page), list(found))

    def test_the_ports_of_processes_are_those_of_the_program(self):
        """docs/machines.md lists the default port of each row of the table of processes."""
        table = (ROOT / "cli/process_table.h").read_text(encoding="utf-8")
        ports = dict(re.findall(r'(?:Row|Variant)<[^>]*>\("(\w+)",\s*"[^"]*",\s*(\d+),', table))
        self.assertGreaterEqual(len(ports), 10)
        page = (ROOT / "docs/machines.md").read_text(encoding="utf-8")
        rows = page.partition("| process | port by default |")[2].partition("\n\n")[0].splitlines()[2:]
        shown = {name: re.match(r"\d+", row.split("|")[2].strip())[0] for row in rows
                 for name in re.findall(r"`(\w+)`", row.split("|")[1])}
        self.assertEqual(ports, shown)

    def test_the_checks_find_what_they_look_for(self):
        page = ROOT / "docs/README.md"
        self.assertEqual(2, len(list(dead_links(page, "# A b\n[a](nothing.md) [b](README.md#none) [c](README.md)"))))
        self.assertEqual({"a-b", "the-state-logstate"}, anchors("# A b\n```\n# code\n```\n## The state, `LOG.state`\n"))
        self.assertEqual(1, len(list(long_prose("a\n" * 6))))
        self.assertEqual([], list(long_prose("a\n" * 5 + "\n" + "- a\n" * 9 + "```\n" + "a\n" * 9 + "```\n")))
        self.assertEqual(1, len(list(long_prose("a " * 60))))


if __name__ == "__main__":
    unittest.main()
