#!/usr/bin/env python3
"""The Debian package: what it contains, and its life on a Debian 12 with systemd, in a container: it is installed,
captures rows, is upgraded under load, hangs, gets users and TLS, loses its data and restores them, is removed and
purged.

    tests/e2e/package_test.py --build build/release [CLASS.TEST...]

`make test-package` runs it, as root. What is missing on this machine is named, and its tests are skipped.
  TICKSTACK_REQUIRE_PACKAGE=1        they fail instead
  TICKSTACK_OLD_PACKAGE=FILE.deb     the version to upgrade from; default: this program, packed as version 0.0.1
"""

import base64
import gzip
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))


def _build():
    if "--build" not in sys.argv:
        return ROOT / "build/release"
    at = sys.argv.index("--build")
    build = pathlib.Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
    return build


BUILD = _build()
from tests.support import container, kdb_ipc, page_blocks, stack  # noqa: E402

PASSWORD = "a long password"
UNITS = ("tickstack.service", "tickstack@.service")
EXPOSURE_MAX = 2.0


def missing(what):
    if os.environ.get("TICKSTACK_REQUIRE_PACKAGE") == "1":
        raise AssertionError(what)
    print(f"package_test: SKIPPED: {what}", file=sys.stderr)
    raise unittest.SkipTest(what)


def package():
    found = sorted(BUILD.glob("tickstack_*.deb"))
    if len(found) != 1:
        missing(f"{BUILD} has {len(found)} packages, expected one: make package")
    return found[0]


def output(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


class ContentTest(unittest.TestCase):
    """What is in the package, without installing it."""

    @classmethod
    def setUpClass(cls):
        if shutil.which("dpkg-deb") is None:
            missing("no dpkg-deb")
        cls.package = package()
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-package-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        output("dpkg-deb", "--raw-extract", cls.package, cls.folder)

    def test_its_version_is_that_of_the_program(self):
        said = output(self.folder / "usr/bin/tickstack", "--version").split()[1]
        packed = output("dpkg-deb", "--field", self.package, "Version").strip()
        self.assertEqual(said.replace("-", "~"), packed)

    def test_it_depends_on_the_libraries_that_it_is_linked_with(self):
        depends = output("dpkg-deb", "--field", self.package, "Depends")
        named = {part.split()[0] for part in depends.split(",")}
        self.assertLessEqual({"libc6", "libstdc++6", "libssl3", "libsodium23", "libmemkind0", "libedit2", "libcurl4", "librdkafka1", "adduser"}, named)
        self.assertNotIn("-dev", depends)
        if shutil.which("readelf") is None:
            missing("no readelf")
        linked = re.findall(r"NEEDED.*\[(\S+)\]", output("readelf", "--dynamic", self.folder / "usr/bin/tickstack"))
        self.assertIn("libcrypto.so.3", linked)
        for library in linked:
            # The dynamic linker of libc6 has a path of its own.
            owners = {line.split(":")[0] for line in output("dpkg-query", "--search", f"*/{library}").splitlines()}
            # libspdlog1.10 provides libspdlog1.10-fmt9, a name for its binary interface.
            found = any(name == owner or name.startswith(f"{owner}-") for name in named for owner in owners)
            self.assertTrue(found, f"{library} is of {owners}, which are not among {named}")

    def test_files_belong_to_root_and_only_the_configuration_is_the_users(self):
        conffiles = (self.folder / "DEBIAN/conffiles").read_text(encoding="utf-8").split()
        listed = output("dpkg-deb", "--contents", self.package)
        self.assertEqual(sorted(conffiles), sorted(re.findall(r" \.(/etc/\S+[^/])$", listed, re.M)))
        for line in listed.splitlines():
            self.assertRegex(line, r"^[-d]rw[-x]r-[-x]r-[-x] root/root ", line)
        self.assertNotIn(" ./var", listed)  # Data are made by the system, not by the package.

    def test_manual_pages_have_all_commands_and_keys(self):
        page = gzip.decompress((self.folder / "usr/share/man/man1/tickstack.1.gz").read_bytes()).decode()
        for words in ("tickstack up", "tickstack rdb", "tickstack hdb check", "tickstack check", "tickstack backup",
                      "tickstack restore", "tickstack user add", "tickstack metrics", "\\-\\-ready\\-file",
                      "\\-\\-administer"):
            self.assertIn(words, page)
        keys = gzip.decompress((self.folder / "usr/share/man/man5/tickstack.toml.5.gz").read_bytes()).decode()
        for line in (ROOT / "examples/stack.toml").read_text(encoding="utf-8").splitlines():
            key = re.match(r"(?:# )?(\w+) = ", line)
            self.assertIn(key[1] if key else "", keys)
        if shutil.which("man"):
            for name in ("man1/tickstack.1.gz", "man5/tickstack.toml.5.gz"):
                page = self.folder / "usr/share/man" / name
                done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", page],
                                      capture_output=True, text=True, check=True, env={**os.environ, "MANWIDTH": "120"})
                self.assertEqual("", done.stderr)

    def complete(self, *words):
        script = '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tickstack; printf "%s\\n" "${COMPREPLY[@]}"'
        path = self.folder / "usr/share/bash-completion/completions/tickstack"
        return set(output("bash", "-c", script, "bash", path, "tickstack", *words, cwd=self.folder).split())

    def test_bash_completes_commands_flags_and_files(self):
        self.assertEqual({"hdb"}, self.complete("hd"))
        self.assertLessEqual({"check", "balance", "--port"}, self.complete("hdb", ""))
        self.assertEqual({"--ready-file"}, self.complete("up", "usr", "--re"))
        self.assertEqual({"--strict"}, self.complete("hdb", "check", "--s"))
        self.assertLessEqual({"check", "backup", "restore", "user", "metrics"}, self.complete(""))
        self.assertLessEqual({"add", "remove", "passwd", "list"}, self.complete("user", ""))
        self.assertEqual({"--query"}, self.complete("user", "add", "alice", "--qu"))
        self.assertEqual({"--json"}, self.complete("backup", "stack.toml", "--j"))
        self.assertEqual({"--users"}, self.complete("rdb", "--us"))
        self.assertIn("usr", self.complete("up", ""))
        self.assertIn("--version", self.complete("--"))

    def test_it_has_what_prometheus_and_grafana_need(self):
        for name in ("prometheus/scrape.yml", "prometheus/tickstack.rules.yml", "grafana/tickstack.json"):
            packed = self.folder / "usr/share/tickstack" / name
            self.assertEqual((ROOT / "packaging" / name).read_bytes(), packed.read_bytes())
        rules = (self.folder / "usr/share/tickstack/prometheus/scrape.yml").read_text(encoding="utf-8")
        self.assertIn("/usr/share/tickstack/prometheus/tickstack.rules.yml", rules)

    def test_it_has_every_page_that_it_names(self):
        """Pages that the program, the manual pages, the configuration and the alert rules name."""
        documents = self.folder / "usr/share/doc/tickstack"
        texts = [path.read_bytes() for path in self.folder.rglob("*") if path.is_file() and path.suffix in (".toml", ".yml")]
        texts += [gzip.decompress(path.read_bytes()) for path in (self.folder / "usr/share/man").rglob("*.gz")]
        texts.append((self.folder / "usr/bin/tickstack").read_bytes())
        # troff's hyphens are `\\-`.
        named = {name.decode() for text in texts for name in re.findall(rb"docs/[\w/.-]+\.md", text.replace(b"\\-", b"-"))}
        self.assertLessEqual({"docs/operating/alerts.md", "docs/operating/repair.md", "docs/operating/tls.md"}, named)
        self.assertEqual([], [name for name in sorted(named) if not (documents / name).is_file()])
        self.assertTrue((documents / "examples/stack.toml").is_file())

    def test_licences_of_what_is_linked_in_are_there(self):
        text = gzip.decompress((self.folder / "usr/share/doc/tickstack/licences.gz").read_bytes()).decode()
        for name in ("libboost1.81-dev", "libabsl-dev", "libhwy-dev", "libcli11-dev", "uPlot"):
            self.assertIn(f"\n{name}", text)
        self.assertIn("Boost Software License", text)

    def test_the_program_is_hardened(self):
        if shutil.which("readelf") is None:
            missing("no readelf")
        program = self.folder / "usr/bin/tickstack"
        elf = output("readelf", "--wide", "--headers", "--dynamic", "--notes", "--dyn-syms", program)
        for what, pattern in (("position independent", r"Type: +DYN"), ("read-only relocations", "GNU_RELRO"),
                              ("bound at start", r"FLAGS.*(BIND_NOW|NOW)"), ("stack protector", "__stack_chk_fail"),
                              ("checked functions", r"__\w+_chk"), ("no executable stack", r"GNU_STACK .* RW ")):
            self.assertRegex(elf, pattern, what)
        if os.uname().machine == "x86_64":
            self.assertNotIn("not stripped", output("file", program))

    def test_lintian_has_no_errors_and_no_warnings(self):
        if shutil.which("lintian") is None:
            missing("no lintian")
        done = subprocess.run(["lintian", "--allow-root", "--no-tag-display-limit", self.package],
                              capture_output=True, text=True, check=False)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("E:", "W:"))]
        self.assertEqual([], lines)


def pack(folder, version):
    """Packs the program of this build with another version; returns the package's path."""
    environment = {**os.environ, "TICKSTACK_PACKAGE_VERSION": version}
    output("cpack", "--config", BUILD / "CPackConfig.cmake", "-B", folder, env=environment)
    [path] = folder.glob(f"tickstack_{version}_*.deb")
    return path


def instructions(text):
    """The instructions of a Containerfile: pairs of a word and what follows it, without comments."""
    lines = re.sub(r"(?m)^\s*#.*\n", "", text).replace("\\\n", "").splitlines()
    return [tuple(line.split(None, 1)) for line in lines if line.strip()]


class ContainerFileTest(unittest.TestCase):
    """packaging/container/Containerfile: what it says, and its steps in a Debian 12 without a container engine."""

    @classmethod
    def setUpClass(cls):
        cls.steps = instructions((ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8"))

    def values(self, word):
        return [value for found, value in self.steps if found == word]

    def command(self, word):
        return json.loads(self.values(word)[-1].partition("CMD ")[2] if word == "HEALTHCHECK" else self.values(word)[-1])

    def test_it_runs_without_privileges_and_contains_no_secret(self):
        self.assertEqual(("FROM", "debian:bookworm-slim"), self.steps[0])
        self.assertLessEqual({word for word, _ in self.steps}, {"FROM", "RUN", "USER", "WORKDIR", "VOLUME", "EXPOSE",
                                                                "HEALTHCHECK", "STOPSIGNAL", "ENTRYPOINT", "CMD"})
        self.assertEqual(["5010:5010"], self.values("USER"))
        self.assertEqual(["/var/lib/tickstack"], self.values("VOLUME"))
        words = [word for word, _ in self.steps]
        self.assertLess(max(at for at, word in enumerate(words) if word == "RUN"), words.index("USER"))

    def test_its_build_keeps_the_health_check(self):
        """Images in OCI's format, which podman and buildah make by default, have none."""
        for path in ("docs/operating/install.md", "packaging/container/Containerfile"):
            builds = re.findall(r"podman build .*", (ROOT / path).read_text(encoding="utf-8"))
            self.assertTrue(builds, path)
            for build in builds:
                self.assertIn("--format docker ", build, path)

    def test_its_steps_and_its_program_work(self):
        new = package()
        folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-container-"))
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        try:
            container.check_tools()
            root = container.make_root(folder / "root", BUILD / "debian-12.tar")
        except container.Unavailable as why:
            missing(str(why))
        (root / "package").mkdir()
        shutil.copy(new, root / "package")
        for step in self.values("RUN"):
            container.run_in_folder(root, "/bin/sh", "-c", step.replace("--mount=type=bind,source=.,target=/package", ""))
        shutil.rmtree(root / "package")
        data = (root / "var/lib/tickstack").stat()
        self.assertEqual((0o40700, 5010, 5010), (data.st_mode, data.st_uid, data.st_gid))
        self.run_stack(root)

    def run_stack(self, root):
        user, _, _ = self.values("USER")[-1].partition(":")
        with container.Program(root, "tickstack", *self.values("WORKDIR"), *self.command("ENTRYPOINT"),
                               *self.command("CMD")) as program:
            status = pathlib.Path(f"/proc/{program.pid}/status").read_text(encoding="ascii")
            self.assertRegex(status, rf"(?m)^Uid:\s+{user}\s+{user}\s")
            check = ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", *self.command("HEALTHCHECK")]
            stack.wait_until(lambda: program.run(*check, check=False).returncode == 0, 60, "a healthy stack")
            with program.network(), kdb_ipc.Connection(5010) as tickerplant:
                tickerplant.call('.u.upd[`trade;(0Np;`A;1.5;100i;0b;" ";"N")]')
            with program.network():
                stack.wait_until(lambda: self.trades() == 1, what="the row")
            [rdb] = [pid for pid in container.children_of(program.pid)
                     if b"\0rdb\0" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()]
            os.kill(rdb, signal.SIGSTOP)
            self.assertNotEqual(0, program.run("timeout", "5", *check, check=False).returncode)
            os.kill(rdb, signal.SIGCONT)
            os.kill(program.pid, signal.SIGTERM)
            self.assertEqual(0, program.process.wait(120), program.console())

    @staticmethod
    def trades():
        with kdb_ipc.Connection(5011) as rdb:
            return rdb.call("count trade")


class LifeTest(unittest.TestCase):
    """One Debian, from the installation to the purge. The steps depend on each other, so they are one test."""

    def setUp(self):
        new = package()
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tickstack-package-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        try:
            container.check_tools()
            self.root = container.make_root(self.folder / "root", BUILD / "debian-12.tar")
        except container.Unavailable as why:
            missing(str(why))
        given = os.environ.get("TICKSTACK_OLD_PACKAGE")
        old = pathlib.Path(given) if given else pack(self.folder, "0.0.1")
        for source, name in ((old, "old.deb"), (new, "new.deb")):
            shutil.copy(source, self.root / "root" / name)
        shutil.rmtree(self.folder / "_CPack_Packages", ignore_errors=True)

    def in_machine(self, *command):
        return self.machine.run(*command).stdout.strip()

    def property(self, name, unit="tickstack"):
        return self.in_machine("systemctl", "show", "--value", "--property", name, unit)

    def wait_for(self, condition, what, seconds=120):
        try:
            return stack.wait_until(condition, seconds, what)
        except AssertionError:
            status = self.machine.run("systemctl", "status", "--no-pager", "--lines=50", "tickstack", check=False)
            print(status.stdout, file=sys.stderr)
            raise

    def pid_of(self, role):
        found = self.machine.run("pgrep", "--full", f"tickstack {role} ", check=False).stdout.split()
        return found[0] if found else None

    def wait_until_active(self, unit="tickstack"):
        self.wait_for(lambda: self.property("ActiveState", unit) == "active", f"{unit} is active")

    def rows(self):
        """Rows of both tables; None while the rdb does not answer."""
        try:
            with self.machine.network(), kdb_ipc.Connection(5011) as rdb:
                return rdb.call("(count trade)+count quote")
        except (OSError, kdb_ipc.Closed, kdb_ipc.QError):
            return None

    def install_without_systemd(self):
        # A package with a lower version, on a system that does not run yet, as an installer does it.
        container.run_in_folder(self.root, "apt-get", "update", "-qq")
        container.run_in_folder(self.root, "apt-get", "install", "-qq", "--no-install-recommends", "procps", "logrotate",
                                "/root/old.deb")
        # What the new version needs in addition, as apt would install it: the machine will have no network.
        container.run_in_folder(self.root, "apt-get", "satisfy", "-qq", "--no-install-recommends",
                                output("dpkg-deb", "--field", self.root / "root/new.deb", "Depends").strip())
        data = (self.root / "var/lib/tickstack").stat()
        users = (self.root / "etc/passwd").read_text().splitlines()
        [user] = [line.split(":") for line in users if line.startswith("tickstack:")]
        self.assertEqual((0o40700, int(user[2]), int(user[3])), (data.st_mode, data.st_uid, data.st_gid))
        self.assertEqual("/usr/sbin/nologin", user[6])
        self.assertTrue((self.root / "etc/systemd/system/multi-user.target.wants/tickstack.service").is_symlink())
        # The limits of the package would make the test wait for minutes.
        for unit in ("tickstack.service.d", "tickstack@.service.d"):
            drop_in = self.root / "etc/systemd/system" / unit
            drop_in.mkdir()
            (drop_in / "test.conf").write_text("[Service]\nWatchdogSec=4\n", encoding="utf-8")

    def as_service(self, command, check=True):
        """Runs a shell command as the user of the service."""
        return self.machine.run("runuser", "-u", "tickstack", "--", "/bin/sh", "-c", command, check=check)

    def run_block(self, page, text, here=None):
        """Runs the commands of the block of docs/operating that has a text. `here`: names in this machine by those on the
        page."""
        [block] = [block for block in page_blocks.blocks_of(ROOT / "docs/operating" / page) if text in block.text]
        for command in page_blocks.commands_of(block):
            line = command.text
            for shown, name in (here or {}).items():
                line = line.replace(shown, name)
            self.in_machine("/bin/sh", "-c", line)

    def check_configuration(self):
        said = self.as_service("tickstack check /etc/tickstack/stack.toml").stdout
        for words in ("127.0.0.1:5010", "127.0.0.1:5011", "127.0.0.1:5012", "/var/lib/tickstack"):
            self.assertIn(words, said)
        done = self.as_service("sed 's/^port = 5011/prot = 5011/' /etc/tickstack/stack.toml > /tmp/wrong.toml && "
                               "tickstack check /tmp/wrong.toml", check=False)
        self.assertEqual(2, done.returncode, done.stderr)
        self.assertRegex(done.stdout + done.stderr, r"wrong\.toml:\d+:\d+: .*prot")
        self.as_service("rm /tmp/wrong.toml")

    def check_units(self):
        done = self.machine.run("systemd-analyze", "verify", "--man=no", "tickstack.service", "tickstack@rdb.service")
        self.assertEqual("", done.stdout + done.stderr)
        for unit in UNITS:
            done = self.machine.run("systemd-analyze", "security", "--no-pager", "--offline=true",
                                    f"--threshold={int(EXPOSURE_MAX * 10)}", f"/usr/lib/systemd/system/{unit}")
            print(done.stdout.splitlines()[-1], file=sys.stderr)

    def check_service(self):
        self.wait_until_active()
        self.assertEqual("3 of 3 processes answer", self.property("StatusText"))
        self.assertEqual("enabled", self.property("UnitFileState"))
        processes = self.in_machine("ps", "-o", "user:20=,comm=,args=", "-u", "tickstack").splitlines()
        self.assertEqual(4, len(processes), processes)
        for line in processes:
            self.assertEqual(["tickstack", "tickstack", "/usr/bin/tickstack"], line.split()[:3])
        capabilities = self.in_machine("grep", "-h", "-e", "^CapBnd", "-e", "^NoNewPrivs", "-e", "^Seccomp:",
                                       f"/proc/{self.property('MainPID')}/status").split()
        self.assertEqual(["CapBnd:", "0" * 16, "NoNewPrivs:", "1", "Seccomp:", "2"], capabilities)
        self.run_block("install.md", "systemctl status tickstack")

    def upgrade_under_load(self):
        """A feed that numbers its rows sends all the time, while the package is upgraded, a process of the running
        stack dies, and the stack is restarted."""
        rate, seconds = 2000, 20
        with self.machine.network():
            feed = subprocess.Popen([BUILD / "cli/tickstack", "feed", "--tickerplant", "127.0.0.1:5010", "--rate", str(rate),
                                     "--seconds", str(seconds), "--start", "--exit-when-done", "--log-level", "error"],
                                    stdin=subprocess.DEVNULL)
        self.addCleanup(feed.kill)
        self.wait_for(lambda: (self.rows() or 0) > rate, "rows of the feed")
        before = self.property("MainPID"), self.pid_of("tickerplant")
        said = self.in_machine("dpkg", "--install", "/root/new.deb")
        self.assertIn("systemctl restart tickstack", said)
        self.assertEqual(before, (self.property("MainPID"), self.pid_of("tickerplant")))
        # A process that dies now is restarted with the version of its stack.
        rdb = self.pid_of("rdb")
        self.in_machine("kill", "-KILL", rdb)
        self.wait_for(lambda: self.pid_of("rdb") not in (None, rdb) and self.rows() is not None, "a new rdb")
        self.assertIn("(deleted)", self.in_machine("readlink", f"/proc/{self.pid_of('rdb')}/exe"))
        self.in_machine("systemctl", "restart", "tickstack")
        self.assertNotIn("(deleted)", self.in_machine("readlink", f"/proc/{self.pid_of('rdb')}/exe"))
        self.assertEqual(0, feed.wait(300))
        self.wait_for(lambda: self.rows() == rate * seconds, f"{rate * seconds} rows, found {self.rows()}")
        return rate * seconds

    def rotate_logs(self):
        """logrotate renames the files, and the stack opens new ones."""
        folder = self.root / "var/lib/tickstack/logs"
        before = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.log")}
        self.assertLessEqual({"tickerplant.log", "rdb.log", "hdb.log"}, set(before))
        for number in (1, 2):  # The first files are compressed with the second rotation.
            said = self.in_machine("logrotate", "--force", "--verbose", "/etc/logrotate.d/tickstack")
            self.assertNotIn("error:", said)
            self.wait_for(lambda: all((folder / name).exists() for name in before), "new log files")
            self.wait_for(lambda n=number: self.in_machine("journalctl", "--unit=tickstack", "--no-pager").count(
                "log files opened again") == n, "the message of the stack")
            self.in_machine("tickstack", "query", ":5010", ".u.sub[`trade;`]")  # Lines for the tickerplant's log.
        self.run_block("watch.md", "systemctl kill")  # What logrotate does, and other programs must do.
        self.wait_for(lambda: self.in_machine("journalctl", "--unit=tickstack", "--no-pager").count(
            "log files opened again") == 3, "the third message of the stack")
        for name, text in before.items():
            rotated = next(iter(folder.glob(f"{name}.*.gz")), None) or folder / f"{name}.1"
            data = rotated.read_bytes()
            data = gzip.decompress(data) if rotated.suffix == ".gz" else data
            self.assertTrue(data.decode().startswith(text), name)
        log = folder / "tickerplant.log"
        self.wait_for(lambda: "subscriber connected" in log.read_text(encoding="utf-8"), "a line in the new file")
        status = log.stat()
        data = (self.root / "var/lib/tickstack").stat()
        self.assertEqual((0o100600, data.st_uid), (status.st_mode, status.st_uid))

    def reload(self):
        self.in_machine("systemctl", "reload", "tickstack")
        for name in ("stack", "rdb"):
            self.wait_for(lambda n=name: f" I {n} configuration loaded again" in self.in_machine(
                "journalctl", "--unit=tickstack", "--no-pager", "--output=cat"), f"the message of {name}")

    def hang(self):
        """A process that is stopped is silent. The supervisor restarts a child, and systemd the supervisor."""
        main, rdb, tickerplant = self.property("MainPID"), self.pid_of("rdb"), self.pid_of("tickerplant")
        self.in_machine("kill", "-STOP", rdb)
        self.wait_for(lambda: self.pid_of("rdb") not in (None, rdb) and self.rows() is not None, "a new rdb")
        self.assertEqual((main, tickerplant), (self.property("MainPID"), self.pid_of("tickerplant")))
        self.assertIn("hung name=rdb", self.in_machine("journalctl", "--unit=tickstack", "--no-pager"))
        self.in_machine("kill", "-STOP", main)
        self.wait_for(lambda: self.property("MainPID") not in ("0", main), "a new supervisor")
        self.wait_until_active()

    def run_processes_alone(self, rows):
        self.in_machine("systemctl", "stop", "tickstack")
        self.assertEqual("success", self.property("Result"))
        self.in_machine("systemctl", "start", "tickstack@tickerplant", "tickstack@rdb")
        self.wait_for(lambda: self.rows() == rows, "the rows of the log")
        pid = self.property("MainPID", "tickstack@rdb")
        self.in_machine("kill", "-STOP", pid)
        self.wait_for(lambda: self.property("MainPID", "tickstack@rdb") not in ("0", pid), "a new rdb")
        self.wait_until_active("tickstack@rdb")
        self.in_machine("systemctl", "stop", "tickstack@tickerplant", "tickstack@rdb")

    def ask_with_password(self, query):
        """What `tickstack query` prints, an answer or an error, as the user boss and over TLS."""
        done = self.as_service(f"TICKSTACK_PASSWORD='{PASSWORD}' tickstack query --user boss --ca /etc/ssl/capture.pem "
                               f"tcps://127.0.0.1:5011 '{query}'", check=False)
        return (done.stdout + done.stderr).strip()

    def page(self, path, authorization):
        """The status and text of a page of the rdb, over TLS."""
        with self.machine.network():
            trusting = ssl.create_default_context(cafile=str(self.root / "etc/ssl/capture.pem"))
            connection = http.client.HTTPSConnection("localhost", 5011, timeout=60, context=trusting)
            try:
                connection.request("GET", path, headers={"Authorization": authorization} if authorization else {})
                response = connection.getresponse()
                return response.status, response.read().decode()
            finally:
                connection.close()

    def close_to_strangers(self, rows):
        """Adds a user and TLS to the installed configuration. A scrape needs both."""
        self.as_service(f"echo '{PASSWORD}' | tickstack user add boss --users /var/lib/tickstack/users "
                        "--query '*' --metrics")
        self.assertIn("boss", self.as_service("tickstack user list --users /var/lib/tickstack/users").stdout)
        ssl_folder = self.root / "etc/ssl"
        ssl_folder.mkdir(exist_ok=True)
        output("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
               "-subj", "/CN=capture", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout",
               ssl_folder / "capture.key", "-out", ssl_folder / "capture.pem")
        self.in_machine("chown", "root:tickstack", "/etc/ssl/capture.key")
        self.in_machine("chmod", "0640", "/etc/ssl/capture.key")
        path = self.root / "etc/tickstack/stack.toml"
        text = path.read_text(encoding="utf-8")
        changed = text.replace("# [security]\n# users =", "[security]\nusers =") + (
            '\n[tls]\nlisten = "required"\ncertificate = "/etc/ssl/capture.pem"\nkey = "/etc/ssl/capture.key"\n'
            'ca = "/etc/ssl/capture.pem"\n')
        self.assertIn("\n[security]\nusers = ", changed)
        path.write_text(changed, encoding="utf-8")
        self.as_service("tickstack check /etc/tickstack/stack.toml")
        self.in_machine("systemctl", "start", "tickstack")
        self.assertEqual(str(rows), self.ask_with_password("(count trade)+count quote"))
        self.assertIsNone(self.rows(), "neither TLS nor a password")
        authorization = "Basic " + base64.b64encode(f"boss:{PASSWORD}".encode()).decode()
        self.assertEqual(401, self.page("/metrics", None)[0])
        self.assertEqual((200, "ready\n"), self.page("/readyz", None))
        status, text = self.page("/metrics", authorization)
        self.assertEqual(200, status, text)
        self.assertRegex(text, r"(?m)^tickstack_rdb_\w+\{?.*\}? \S+$")
        self.assertIn("audit login user=boss", self.in_machine("journalctl", "--unit=tickstack", "--no-pager"))

    def lose_and_restore(self, rows):
        """A backup while the service runs, its data lost, and restored by the commands of docs/operating/backup.md."""
        self.in_machine("install", "-d", "-m", "0700", "-o", "tickstack", "/srv/backup")
        for _ in range(2):  # The second one copies what is new only.
            said = self.as_service("tickstack backup /etc/tickstack/stack.toml /srv/backup").stdout
            self.assertRegex(said, r"tplog/sym\S+: [\d,]+ messages")
        self.as_service("tickstack restore /srv/backup")
        self.in_machine("systemctl", "stop", "tickstack")
        self.in_machine("mv", "/var/lib/tickstack", "/var/lib/lost")
        self.run_block("backup.md", "systemctl stop tickstack",
                       {"/backup/today": "/srv/backup", "USERS_FILE": "/var/lib/lost/users"})
        self.assertEqual(str(rows), self.ask_with_password("(count trade)+count quote"))
        self.in_machine("rm", "-r", "/var/lib/lost", "/srv/backup")
        self.in_machine("systemctl", "stop", "tickstack")

    def remove_and_purge(self, rows):
        self.in_machine("systemctl", "start", "tickstack")
        self.in_machine("dpkg", "--remove", "tickstack")
        self.assertIsNone(self.pid_of("rdb"))
        self.assertFalse((self.root / "usr/bin/tickstack").exists())
        self.assertTrue((self.root / "etc/tickstack/stack.toml").exists())
        self.in_machine("dpkg", "--install", "/root/new.deb")  # And it starts.
        self.wait_until_active()
        self.wait_for(lambda: self.ask_with_password("(count trade)+count quote") == str(rows),
                      f"{rows} rows after remove and install")
        said = self.in_machine("dpkg", "--purge", "tickstack")
        self.assertIn("removing the captured data", said)
        wanted = "etc/systemd/system/multi-user.target.wants/tickstack.service"
        for path in ("var/lib/tickstack", "etc/tickstack", "etc/logrotate.d/tickstack", "usr/share/doc/tickstack",
                     wanted, "etc/systemd/system/tickstack.service"):
            self.assertFalse(os.path.lexists(self.root / path), path)
        for unit in UNITS:  # The drop-ins of this test.
            shutil.rmtree(self.root / "etc/systemd/system" / f"{unit}.d")
        files = self.in_machine("find", "/", "-xdev", "-name", "*tickstack*", "-not", "-path", "/proc/*", "-not", "-path",
                                "/sys/*", "-not", "-path", "/run/*", "-not", "-path", "/root/*").splitlines()
        self.assertEqual([], [path for path in files if not path.startswith("/var/log/")])
        self.assertEqual("", self.in_machine("find", "/", "-xdev", "-user", "tickstack", "-not", "-path", "/proc/*"))
        self.assertIn("tickstack:", (self.root / "etc/passwd").read_text())

    def test_from_installation_to_purge(self):
        self.install_without_systemd()
        try:
            self.machine = container.Machine(self.root)
        except container.Unavailable as why:
            missing(str(why))
        with self.machine:
            self.check_units()
            self.check_service()
            rows = self.upgrade_under_load()
            self.check_configuration()  # The old program may not know the command.
            self.rotate_logs()
            self.reload()
            self.hang()
            self.wait_for(lambda: self.rows() == rows, f"{rows} rows after the hangs")
            self.run_processes_alone(rows)
            self.close_to_strangers(rows)
            self.lose_and_restore(rows)
            self.remove_and_purge(rows)


if __name__ == "__main__":
    unittest.main(verbosity=2)
