#!/usr/bin/env python3
"""The Debian package: what it contains, and its life on a Debian 12 with systemd, in a container: it is installed,
captures rows, is upgraded under load, hangs, is removed and purged.

    tests/e2e/package_test.py --build build/release [CLASS.TEST...]

`make test-package` runs it, as root. What is missing on this machine is named, and its tests are skipped.
  TICKSTACK_REQUIRE_PACKAGE=1        they fail instead
  TICKSTACK_OLD_PACKAGE=FILE.deb     the version to upgrade from; default: this program, packed as version 0.0.1
"""

import gzip
import os
import pathlib
import re
import shutil
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
from tests.support import container, kdb_ipc, stack  # noqa: E402

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
        for library in ("libc6", "libstdc++6", "libisal2", "libmemkind0", "libpmem1", "libnuma1", "libedit2", "adduser"):
            self.assertIn(library, depends)
        self.assertNotIn("-dev", depends)

    def test_files_belong_to_root_and_only_the_configuration_is_the_users(self):
        conffiles = (self.folder / "DEBIAN/conffiles").read_text(encoding="utf-8").split()
        listed = output("dpkg-deb", "--contents", self.package)
        self.assertEqual(sorted(conffiles), sorted(re.findall(r" \.(/etc/\S+[^/])$", listed, re.M)))
        for line in listed.splitlines():
            self.assertRegex(line, r"^[-d]rw[-x]r-[-x]r-[-x] root/root ", line)
        self.assertNotIn(" ./var", listed)  # Data are made by the system, not by the package.

    def test_manual_pages_have_all_commands_and_keys(self):
        page = gzip.decompress((self.folder / "usr/share/man/man1/tickstack.1.gz").read_bytes()).decode()
        for words in ("tickstack up", "tickstack rdb", "tickstack hdb check", "\\-\\-ready\\-file"):
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
        self.assertIn("usr", self.complete("up", ""))
        self.assertIn("--version", self.complete("--"))

    def test_it_has_what_prometheus_and_grafana_need(self):
        for name in ("prometheus/scrape.yml", "prometheus/tickstack.rules.yml", "grafana/tickstack.json"):
            packed = self.folder / "usr/share/tickstack" / name
            self.assertEqual((ROOT / "packaging" / name).read_bytes(), packed.read_bytes())
        rules = (self.folder / "usr/share/tickstack/prometheus/scrape.yml").read_text(encoding="utf-8")
        self.assertIn("/usr/share/tickstack/prometheus/tickstack.rules.yml", rules)

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
        container.run_in_folder(self.root, "apt-get", "install", "-qq", "--no-install-recommends", "procps",
                                "/root/old.deb")
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

    def remove_and_purge(self, rows):
        self.in_machine("systemctl", "start", "tickstack")
        self.in_machine("dpkg", "--remove", "tickstack")
        self.assertIsNone(self.pid_of("rdb"))
        self.assertFalse((self.root / "usr/bin/tickstack").exists())
        self.assertTrue((self.root / "etc/tickstack/stack.toml").exists())
        self.in_machine("dpkg", "--install", "/root/new.deb")  # And it starts.
        self.wait_until_active()
        self.wait_for(lambda: self.rows() == rows, f"{rows} rows after remove and install")
        said = self.in_machine("dpkg", "--purge", "tickstack")
        self.assertIn("removing the captured data", said)
        wanted = "etc/systemd/system/multi-user.target.wants/tickstack.service"
        for path in ("var/lib/tickstack", "etc/tickstack", "etc/logrotate.d/tickstack", "usr/share/doc/tickstack",
                     wanted, "etc/systemd/system/tickstack.service"):
            self.assertFalse(os.path.lexists(self.root / path), path)
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
            self.hang()
            self.wait_for(lambda: self.rows() == rows, f"{rows} rows after the hangs")
            self.run_processes_alone(rows)
            self.remove_and_purge(rows)


if __name__ == "__main__":
    unittest.main(verbosity=2)
