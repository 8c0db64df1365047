"""A headless Chromium, driven over its remote debugging pipe: Python's standard library and the browser are all that it
takes. The pipe needs no port, so nobody else can reach the browser, and it ends when we do.

    with Browser() as browser:
        page = browser.open(pathlib.Path("report.html").as_uri(), width=360)
        page.evaluate("document.title")
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
SECONDS_MAX = 60
DESCRIPTOR_MIN = 20
# Boxes that reach beyond the page's right edge, except those in a scrolling box.
TOO_WIDE = """[...document.querySelectorAll('main *')]
  .filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .filter(e => !e.closest('.scroll') && e.getClientRects().length)
  .map(e => e.outerHTML.slice(0, 80))"""


def program():
    """Returns the browser's path; None if there is none. TICKSTACK_CHROMIUM overrides it."""
    asked = os.environ.get("TICKSTACK_CHROMIUM")
    return asked or next(filter(None, map(shutil.which, PROGRAMS)), None)


def _pipe():
    """Returns a pipe with descriptors that the browser's shell does not reuse."""
    low = os.pipe()
    high = tuple(fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, DESCRIPTOR_MIN) for fd in low)
    for fd in low:
        os.close(fd)
    return high


class Browser:
    def __enter__(self):
        if program() is None:
            raise SystemExit(f"no Chromium found: none of {', '.join(PROGRAMS)}, and TICKSTACK_CHROMIUM names none")
        self._profile = tempfile.TemporaryDirectory(prefix="tickstack-chromium-")
        to_browser, self._write = _pipe()
        self._read, from_browser = _pipe()
        # The browser reads commands from descriptor 3 and writes answers to 4. A shell moves them there.
        self._process = subprocess.Popen(
            ["bash", "-c",
             f'exec 3<&{to_browser} 4>&{from_browser} {to_browser}<&- {from_browser}>&-; exec "$@"', "bash",
             program(), "--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--no-sandbox",
             "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
             "--force-color-profile=srgb", f"--user-data-dir={self._profile.name}"],
            pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name})
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._next, self._events = b"", 0, []
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, EOFError, TimeoutError):
            pass
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)
        try:
            self._profile.cleanup()
        except OSError:  # A child of the browser still writes: try once more when it is gone.
            time.sleep(1)
            shutil.rmtree(self._profile.name, ignore_errors=True)

    def _message(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError("the browser did not answer")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise EOFError("the browser has ended")
            self._buffer += got
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        """Sends one command and returns its result. Keeps events that arrive meanwhile in `events`."""
        self._next += 1
        command = {"id": self._next, "method": method, "params": params}
        if session:
            command["sessionId"] = session
        remaining = json.dumps(command).encode() + b"\0"
        while remaining:
            remaining = remaining[os.write(self._write, remaining):]
        deadline = time.monotonic() + SECONDS_MAX
        while True:
            message = self._message(deadline)
            if message.get("id") == self._next:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self._events.append(message)

    def wait_for(self, method, session):
        deadline = time.monotonic() + SECONDS_MAX
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self._events):
            self._events.append(self._message(deadline))

    def events(self, session):
        return [e for e in self._events if e.get("sessionId") == session]

    def open(self, url, **settings):
        return Page(self, url, **settings)


class Page:
    """A page that has loaded. Its style sheet sees `dark` and `printed`; `scripts` is False to disable scripts."""

    def __init__(self, browser, url, width=1200, height=900, dark=False, printed=False, scripts=True, scale=1):
        self._browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=width < 600)
        self.emulate(dark, printed)
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Page.navigate", url=url)
        browser.wait_for("Page.loadEventFired", self._session)
        if scripts:
            self.settle()

    def call(self, method, **params):
        return self._browser.call(method, session=self._session, **params)

    def emulate(self, dark=False, printed=False):
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "screen",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def settle(self):
        """Waits until the page's own work has been painted."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def write(self, text):
        """Enters text where the focus is, as a keyboard does."""
        for character in text:
            self.call("Input.dispatchKeyEvent", type="char", text="\r" if character == "\n" else character)
        self.settle()

    def press(self, key, code=0, control=False):
        """Presses a key by its name, such as `Enter`; `code` is its number in Windows, which Tab and others need."""
        settings = {"key": key, "code": key, "windowsVirtualKeyCode": code, "modifiers": 2 if control else 0}
        if key == "Enter":
            settings["text"] = "\r"  # Without it, a button is not pressed.
        self.call("Input.dispatchKeyEvent", type="keyDown" if key == "Enter" else "rawKeyDown", **settings)
        self.call("Input.dispatchKeyEvent", type="keyUp", **settings)
        self.settle()

    def download_to(self, folder):
        self._browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def complaints(self):
        """Returns errors and warnings of the console, exceptions, and requests that left the page."""
        found = []
        for event in self._browser.events(self._session):
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
                found.append(str(params["args"]))
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Network.requestWillBeSent" and params["request"]["url"].startswith("http"):
                found.append("asked for " + params["request"]["url"])
        return found

    def screenshot(self, path, whole=False, top=0, height=None, form="png", quality=80):
        """Takes a picture. `whole`: of all of the page; otherwise of `height` lines from `top` on."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        options = {"format": form, "captureBeyondViewport": True}
        if form != "png":
            options["quality"] = quality
        options["clip"] = {"x": 0, "y": top, "width": size["width"],
                           "height": size["height"] if whole else min(height or 900, size["height"] - top), "scale": 1}
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"])

    def close(self):
        self.call("Page.close")
