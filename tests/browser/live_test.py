#!/usr/bin/env python3
"""The live pages of a running stack in a real browser: the monitor's page shows the flow of rows through all processes,
every process shows its own part, a process that hangs is a problem and then a past one; no console messages, no
sideways scrolling, visible focus and enough contrast, on a phone and in dark mode. `make test-browser` runs it.

    live_test.py --program build/release/cli/tickstack [--pictures DIR]
"""

import argparse
import os
import pathlib
import signal
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tests.support import stack  # noqa: E402
from tests.support.chromium import Browser  # noqa: E402

CONFIG = """
[tickerplant]
batch_ms = 5
[[rdb]]
[[rdb]]
name = "second"
[hdb]
[aggengine]
[feed]
rate = 2000
[monitor]
query_ms = 100
"""
PICTURES = None
SHAPES = {"desktop": {}, "dark": {"dark": True}, "phone": {"width": 390, "height": 800},
          "phone-dark": {"width": 390, "height": 800, "dark": True}}

# Visible texts whose contrast with their background is below 4.5 to 1, as WCAG AA requires.
FAINT = """(() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = (rgb) => {
    const [r, g, b] = rgb.map(v => v / 255).map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const faint = [];
  let checked = 0;
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
    if (!own || element.getClientRects().length === 0 || element.closest('noscript, script')) continue;
    ++checked;
    const [a, b] = [light(parse(getComputedStyle(element).color).slice(0, 3)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push([element.textContent.slice(0, 40), ratio]);
  }
  return {faint, checked};
})()"""

# Boxes that reach beyond the page's right edge.
TOO_WIDE = """[...document.querySelectorAll('body *')]
  .filter(e => e.getClientRects().length && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(e => e.outerHTML.slice(0, 80))"""

# What the keyboard has reached: a name, and whether an outline shows it.
FOCUS = """(() => {
  const e = document.activeElement, style = getComputedStyle(e);
  return [e.tagName, e.textContent, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2];
})()"""

EDGES = "[...document.querySelectorAll('.edge')].map(e => e.innerText)"
PROBLEMS = "document.getElementById('problems').innerText"
SHOWN = "[...document.querySelectorAll('section')].filter(s => !s.hidden).map(s => s.id)"


class LivePageTest(stack.StackTest):
    def setUp(self):
        super().setUp()
        self.running = self.start_stack(CONFIG)
        stack.wait_until(lambda: self.running.count("trade", "second") > 0, 30, "trades")

    def open(self, browser, name, events=3, **settings):
        page = browser.open(f"http://localhost:{self.running.port(name)}/", **settings)
        stack.wait_until(lambda: int(page.evaluate("document.body.dataset.events || 0")) >= events, 30, f"events of {name}")
        page.settle()
        return page

    def complaints(self, page):
        return [text for text in page.complaints() if not text.startswith("asked for http://localhost:")]

    def picture(self, page, name):
        if PICTURES is not None:
            page.screenshot(PICTURES / f"live-{name}.png", whole=True)

    def check_looks(self, page, name):
        self.assertEqual([], self.complaints(page), name)
        self.assertEqual([], page.evaluate(TOO_WIDE), name)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"),
                             0, name)
        contrast = page.evaluate(FAINT)
        self.assertGreater(contrast["checked"], 20, name)
        self.assertEqual([], contrast["faint"], name)
        self.picture(page, name)

    def test_the_monitor_shows_the_flow_through_the_stack(self):
        with Browser() as browser:
            page = self.open(browser, "monitor", events=4)
            cards = page.evaluate("[...document.querySelectorAll('.card b')].map(e => e.innerText)")
            self.assertEqual(["feed", "tickerplant", "rdb", "second (rdb)", "aggengine", "hdb"], cards)
            ports = page.evaluate("[...document.querySelectorAll('a.card')].map(a => Number(new URL(a.href).port))")
            self.assertEqual([self.running.port(name) for name in
                              ("feed", "tickerplant", "rdb", "second", "aggengine", "hdb")], ports)
            stack.wait_until(lambda: all("- rows/s" not in edge for edge in page.evaluate(EDGES)), 30, "rates")
            edges = page.evaluate(EDGES)
            self.assertEqual(5, len(edges))
            self.assertRegex(edges[0], r"^[\d,]+ rows/s\s+(on time|lag )")
            self.assertRegex(edges[1], r"^[\d,]+ rows/s\s+(lag [\d.]+ |live)")
            self.assertRegex(edges[3], r"rows/s back")
            self.assertRegex(edges[4], r"^0 days written")
            self.assertEqual({"flow", "latency", "rates", "memory", "tables", "process", "queues", "days"},
                             set(page.evaluate(SHOWN)) - {"problems", "past"})
            self.assertEqual(2, page.evaluate("document.querySelectorAll('.chart canvas').length"))

    def test_pages_are_readable_in_every_shape(self):
        with Browser() as browser:
            for shape, settings in SHAPES.items():
                for name in ("monitor", "rdb", "tickerplant", "feed", "hdb", "aggengine"):
                    if name != "monitor" and shape != "phone":
                        continue
                    page = self.open(browser, name, **settings)
                    self.check_looks(page, f"{name}-{shape}")
                    page.close()

    def test_the_keyboard_reaches_every_link_and_shows_where_it_is(self):
        with Browser() as browser:
            page = self.open(browser, "monitor")
            links = page.evaluate("[...document.querySelectorAll('a')].filter(a => a.getClientRects().length).map(a => a.textContent)")
            reached = []
            for _ in links:
                for kind in ("keyDown", "keyUp"):
                    page.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
                tag, text, visible = page.evaluate(FOCUS)
                self.assertEqual(("A", True), (tag, visible), text)
                reached.append(text)
            self.assertEqual(len(links), len(reached))
            before = page.evaluate("document.body.dataset.events")
            stack.wait_until(lambda: page.evaluate("document.body.dataset.events") != before, 30, "one more event")
            self.assertEqual("A", page.evaluate("document.activeElement.tagName"), "an event keeps the focus")

    def test_a_process_that_hangs_is_a_problem_and_then_a_past_one(self):
        with Browser() as browser:
            page = self.open(browser, "monitor", events=4)
            stack.wait_until(lambda: page.evaluate("document.getElementById('problems').hidden"), 30, "a stack that is well")
            os.kill(self.running.pid("tickerplant"), signal.SIGSTOP)
            try:
                stack.wait_until(lambda: "tickerplant: it has not answered for" in page.evaluate(PROBLEMS), 30, "a sign")
            finally:
                os.kill(self.running.pid("tickerplant"), signal.SIGCONT)
            stack.wait_until(lambda: page.evaluate(PROBLEMS) == "", 30, "its end")
            self.assertRegex(page.evaluate("document.getElementById('past').innerText"),
                             r"to \d\d:\d\d:\d\d tickerplant: it has not answered for")
            self.assertEqual([], self.complaints(page))

    def test_without_scripts_there_is_a_way_to_the_tables(self):
        with Browser() as browser:
            page = browser.open(f"http://localhost:{self.running.port('rdb')}/", scripts=False)
            self.assertIn("needs JavaScript", page.evaluate("document.querySelector('noscript').textContent"))
            self.assertEqual("/?", page.evaluate("document.querySelector('nav a[href=\"/?\"]').getAttribute('href')"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--pictures", type=pathlib.Path)
    options, sys.argv[1:] = parser.parse_known_args()
    PICTURES = options.pictures
    stack.main()
