"""A Debian 12 with systemd in a container, for tests of the package. Needs root, debootstrap and systemd-nspawn, and
a mirror of Debian: the one that apt uses here.

    root = container.make_root(folder, cache)   # a new Debian 12
    container.run_in_folder(root, "apt-get", "install", ...)
    with container.Machine(root) as machine:    # boots it, without a network but its own loopback
        machine.run("systemctl", "status", "tickstack")
        with machine.network():                 # this process's new sockets are the machine's
            connection = kdb_ipc.Connection(5010)
"""

import contextlib
import ctypes
import os
import pathlib
import shutil
import signal
import subprocess
import time

RELEASE = "bookworm"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
BOOT_SECONDS = 180


class Unavailable(Exception):
    """What a container needs is not here; the text says what."""


def check_tools():
    if os.geteuid() != 0:
        raise Unavailable("not root")
    for tool in ("debootstrap", "systemd-nspawn", "nsenter", "chroot"):
        if shutil.which(tool) is None:
            raise Unavailable(f"no {tool}")


def _run(command, check=True, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def mirror():
    """The URI from which apt gets Debian's packages on this machine."""
    listed = _run(["apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME) $(COMPONENT) $(CREATED_BY)"], check=False)
    for line in listed.stdout.splitlines():
        uri, codename, *rest = line.split()
        if codename == RELEASE and rest == ["main", "Packages"]:
            return uri
    raise Unavailable(f"apt knows no mirror of Debian {RELEASE}")


def make_root(folder, cache):
    """Makes a Debian 12 in `folder`. The tar file `cache` has it from the second time on."""
    check_tools()
    folder.mkdir(parents=True)
    if cache.exists():
        _run(["tar", "-C", folder, "-xf", cache])
        return folder
    uri = mirror()
    done = _run(["debootstrap", "--variant=minbase", "--include=systemd,systemd-sysv,adduser", RELEASE, folder, uri],
                check=False)
    if done.returncode != 0:
        raise Unavailable(f"debootstrap failed: {(done.stdout + done.stderr)[-300:]}")
    # A throw-away system needs no syncs.
    (folder / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text("force-unsafe-io\n", encoding="utf-8")
    _run(["tar", "-C", folder, "-cf", f"{cache}.new", "."])
    os.rename(f"{cache}.new", cache)
    return folder


def run_in_folder(root, *command, check=True):
    """Runs a command in a Debian that is not booted, with this machine's network."""
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf", follow_symlinks=True)
    return _run(["chroot", root, *command], check, env=ENVIRONMENT)


def children_of(pid):
    """The children of a process that has one thread."""
    return [int(child) for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


class Machine:
    """A booted Debian."""

    def __init__(self, root):
        self._start(root, "--boot", "--console=read-only")
        self.pid = self._wait_for_init()

    def _start(self, root, *arguments):
        self.log_path = root.parent / "console.log"
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", "--directory", str(root), "--register=no", "--keep-unit", "--private-network",
                 *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _wait_for_init(self):
        give_up = time.monotonic() + BOOT_SECONDS
        while time.monotonic() < give_up:
            if self.process.poll() is not None:
                raise Unavailable(f"systemd-nspawn ended: {self.console()[-300:]}")
            for pid in children_of(self.process.pid):
                state = self._run_as_init(pid, "systemctl", "is-system-running").stdout.strip()
                if state in ("running", "degraded", "starting"):
                    return pid
            time.sleep(0.2)
        self.stop()
        raise Unavailable(f"the container did not boot within {BOOT_SECONDS} s: {self.console()[-300:]}")

    @staticmethod
    def _run_as_init(pid, *command):
        return _run(["nsenter", "--target", str(pid), "--all", "--", *command], check=False, env=ENVIRONMENT)

    def console(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def run(self, *command, check=True):
        return _run(["nsenter", "--target", str(self.pid), "--all", "--", *command], check, env=ENVIRONMENT)

    @contextlib.contextmanager
    def network(self):
        """Sockets that this process, and programs that it starts, open inside are the machine's."""
        libc = ctypes.CDLL(None, use_errno=True)
        new_network = 0x40000000  # CLONE_NEWNET.
        with open("/proc/self/ns/net", "rb") as own, open(f"/proc/{self.pid}/ns/net", "rb") as other:
            if libc.setns(other.fileno(), new_network) != 0:
                raise OSError(ctypes.get_errno(), "setns")
            try:
                yield
            finally:
                libc.setns(own.fileno(), new_network)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)  # An orderly shutdown.
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Program(Machine):
    """One program as process 1 of a Debian that is not booted, as a container engine runs it."""

    def __init__(self, root, user, folder, *command):
        self._start(root, f"--user={user}", f"--chdir={folder}", "--console=pipe", "--kill-signal=SIGTERM", "--", *command)
        give_up = time.monotonic() + BOOT_SECONDS
        while (pid := self._running(command[0])) is None:
            if self.process.poll() is not None or time.monotonic() > give_up:
                raise Unavailable(f"systemd-nspawn ended: {self.console()[-300:]}")
            time.sleep(0.05)
        self.pid = pid

    def _running(self, program):
        """The child that runs the program; None while systemd-nspawn still prepares it."""
        for pid in children_of(self.process.pid):
            with contextlib.suppress(OSError):
                if pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().startswith(program.encode() + b"\0"):
                    return pid
        return None
