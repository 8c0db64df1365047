#!/usr/bin/env python3
"""A load test's report in a real browser: charts are drawn, nothing is fetched, the console is empty, and nothing
scrolls sideways on a phone; light, dark, printed and without scripts. `make test-browser` runs it.

    report_test.py --program build/release/cli/tickstack
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support.chromium import TOO_WIDE, Browser  # noqa: E402

PROGRAM = None
EVIL = "</script><img src=x onerror=fail()>"

# For a canvas: the number of opaque pixels, and the brightness (0 to 1) of the darkest and the lightest one.
CANVAS = """(() => {
  const canvas = document.querySelector('figure.chart canvas');
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
  let drawn = 0, darkest = 1, lightest = 0;
  for (let i = 0; i < pixels.length; i += 4) {
    if (pixels[i + 3] < 255) continue;
    ++drawn;
    const light = (pixels[i] + pixels[i + 1] + pixels[i + 2]) / 765;
    darkest = Math.min(darkest, light);
    lightest = Math.max(lightest, light);
  }
  return {drawn, darkest, lightest};
})()"""


def make_run(folder, *flags):
    subprocess.run([sys.executable, str(ROOT / "tests/data/make_loadtest_run.py"), str(folder), *flags], check=True)


def make_report(folder):
    subprocess.run([PROGRAM, "report", str(folder)], check=True, stdout=subprocess.DEVNULL, timeout=60)
    return (folder / "report.html").resolve().as_uri()


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="tickstack-report-")
        cls.addClassCleanup(cls.folder.cleanup)
        root = pathlib.Path(cls.folder.name)
        make_run(root / "plain")
        make_run(root / "hard", "--failed", "--simulated", "--rdbs", "--seconds", "12")
        make_run(root / "clients", "--clients", "--seconds", "30")
        evil = root / "evil"
        make_run(evil)
        for name in ("summary.json", "samples.csv"):
            text = (evil / name).read_text(encoding="utf-8").replace("second-1", EVIL)
            (evil / name).write_text(text, encoding="utf-8")
        cls.urls = {name: make_report(root / name) for name in ("plain", "hard", "clients", "evil")}
        browser = Browser()
        cls.browser = browser.__enter__()
        cls.addClassCleanup(browser.__exit__, None, None, None)

    def open(self, name="plain", **settings):
        page = self.browser.open(self.urls[name], **settings)
        self.addCleanup(page.close)
        self.addCleanup(lambda: self.assertEqual([], page.complaints()))
        return page

    def assert_charts_drawn(self, page, figures):
        drawn = page.evaluate("[...document.querySelectorAll('figure.chart')].map(f => Number(f.dataset.drawn || 0))")
        self.assertEqual(figures, len(drawn))
        self.assertTrue(all(count >= 2 for count in drawn), drawn)
        self.assertGreater(page.evaluate(CANVAS)["drawn"], 1000)

    def assert_fits(self, page, width):
        self.assertEqual([], page.evaluate(TOO_WIDE))
        self.assertEqual(width, page.evaluate("document.documentElement.scrollWidth"))

    def test_all_charts_are_drawn(self):
        page = self.open()
        self.assert_charts_drawn(page, 8)
        self.assert_fits(page, 1200)

    def test_clients_have_a_chart_each_and_every_query_of_theirs_can_be_chosen(self):
        page = self.open("clients")
        self.assert_charts_drawn(page, 12)
        self.assert_fits(page, 1200)
        chosen = page.evaluate("""[...document.querySelectorAll('figure.chart')]
          .filter(f => f.dataset.metrics.startsWith('client:analysts:'))
          .map(f => [...f.querySelector('select').options].map(o => o.text))""")
        self.assertEqual([["column_scan", "top_trades", "by_symbol"]] * 2, chosen)
        drawn = page.evaluate("""[...document.querySelectorAll('figure.chart')]
          .filter(f => f.dataset.metrics.startsWith('client:')).map(f => {
            const select = f.querySelector('select');
            return [...select.options].map(o => {
              select.value = o.value;
              select.dispatchEvent(new Event('change'));
              return Number(f.dataset.drawn);
            });
          })""")
        self.assertEqual([[4, 4, 4], [4, 4], [4, 4, 4], [4, 4]], drawn)

    def test_a_phone_shows_it_without_scrolling_sideways(self):
        for name in self.urls:
            page = self.open(name, width=360, height=740, scale=2)
            self.assert_fits(page, 360)
            smallest = page.evaluate("Math.min(...[...document.querySelectorAll('p,td,th,li')]"
                                     ".map(e => parseFloat(getComputedStyle(e).fontSize)))")
            self.assertGreaterEqual(smallest, 12)

    def test_dark_charts_are_light_on_dark(self):
        page = self.open()
        self.assertLess(page.evaluate(CANVAS)["darkest"], 0.2)
        page.emulate(dark=True)
        page.settle()
        canvas = page.evaluate(CANVAS)
        self.assertGreater(canvas["darkest"], 0.15)
        self.assertGreater(canvas["lightest"], 0.8)
        background = page.evaluate("getComputedStyle(document.body).backgroundColor")
        self.assertLess(sum(map(int, background[4:-1].split(","))), 200)
        self.assert_charts_drawn(page, 8)

    def test_text_has_contrast(self):
        """Requires a contrast of 4.5 to 1 between text and background, as WCAG AA does."""
        contrast = """(() => {
          const style = getComputedStyle(document.documentElement);
          const light = (name) => {
            const hex = style.getPropertyValue(name).trim().slice(1);
            const [r, g, b] = [0, 2, 4].map(i => parseInt(hex.slice(i, i + 2), 16) / 255)
              .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
            return 0.2126 * r + 0.7152 * g + 0.0722 * b;
          };
          const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
          const pairs = ['--ink', '--quiet', '--c0', '--c1', '--c2', '--c3', '--c4', '--c5'].map(n => [n, '--paper']);
          pairs.push(['--bad', '--bad-paper'], ['--note', '--note-paper']);
          return pairs.map(([a, b]) => [a, ratio(light(a), light(b))]);
        })()"""
        for dark in (False, True):
            for name, ratio in self.open(dark=dark).evaluate(contrast):
                self.assertGreaterEqual(ratio, 4.5, (name, dark))

    def test_print_is_black_on_white_with_everything_unfolded(self):
        page = self.open(dark=True)
        page.emulate(dark=True, printed=True)
        page.settle()
        self.assertEqual("rgb(255, 255, 255)", page.evaluate("getComputedStyle(document.body).backgroundColor"))
        self.assertEqual(0, page.evaluate("document.querySelectorAll('details.full:not([open])').length"))
        self.assertLess(page.evaluate(CANVAS)["darkest"], 0.1)
        self.assertTrue(page.pdf().startswith(b"%PDF"))

    def test_without_scripts_the_tables_are_there(self):
        page = self.open(scripts=False)
        tables = page.evaluate("document.querySelectorAll('table').length")
        self.assertGreaterEqual(tables, 10)
        self.assertIn("The charts need JavaScript", page.evaluate("document.querySelector('noscript').textContent"))

    def test_failures_are_first_and_simulations_marked(self):
        page = self.open("hard")
        self.assert_charts_drawn(page, 12)
        self.assertEqual("FAILED", page.evaluate("document.querySelector('h2').textContent"))
        self.assertIn("killed by signal 9", page.evaluate("document.querySelector('[role=alert]').innerText"))
        self.assertGreaterEqual(page.evaluate("document.querySelectorAll('.simulated').length"), 10)

    def test_names_are_text(self):
        page = self.open("evil")
        self.assert_charts_drawn(page, 8)
        self.assertEqual(0, page.evaluate("document.images.length"))
        self.assertIn(EVIL, page.evaluate("document.body.innerText"))

    def test_another_metric_can_be_chosen(self):
        page = self.open()
        before = page.evaluate("document.querySelector('figure.chart canvas').toDataURL()")
        page.evaluate("(() => { const s = document.querySelector('figure.chart select'); s.value = 'trade_lag';"
                      " s.dispatchEvent(new Event('change')); })()")
        page.settle()
        self.assertNotEqual(before, page.evaluate("document.querySelector('figure.chart canvas').toDataURL()"))

    def test_what_is_heard_says_what_is_seen(self):
        page = self.open()
        self.assertEqual(0, page.evaluate("document.querySelectorAll('.plot:not([aria-label])').length"))
        self.assertIn("dram-1: median", page.evaluate("document.querySelector('.plot').ariaLabel"))
        self.assertEqual(0, page.evaluate("document.querySelectorAll('th:not([scope])').length"))
        self.assertEqual(0, page.evaluate("document.querySelectorAll('table:not(:has(caption))').length"))
        levels = page.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))")
        self.assertEqual(1, levels[0])
        self.assertTrue(all(after <= before + 1 for before, after in zip(levels, levels[1:])), levels)
        duplicates = page.evaluate("(ids => ids.length - new Set(ids).size)([...document.querySelectorAll('[id]')].map(e => e.id))")
        self.assertEqual(0, duplicates)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    arguments, rest = parser.parse_known_args()
    PROGRAM = arguments.program
    unittest.main(argv=sys.argv[:1] + rest, verbosity=2)
