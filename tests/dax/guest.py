"""A small Linux that runs in QEMU's emulator for the length of one test: Debian's cloud kernel, unpacked but not
installed, and a file system in memory with the programs that the test needs.

Nothing here needs root, KVM or a network inside the guest.
"""

import os
import pathlib
import platform
import re
import shutil
import stat
import subprocess
import tempfile
import threading

META_PACKAGE = "linux-image-cloud-amd64"


class GuestError(Exception):
    """The guest could not be created or returned no result: no verdict about the test."""


def find_tool(name):
    """Returns the path of a program; mkfs and similar ones are outside a user's PATH."""
    path = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")
    if path is None:
        raise GuestError(f"{name} is not installed; packaging/debian-packages-dax.txt lists what is needed")
    return path


class Kernel:
    """An unpacked kernel package: the image and its modules."""

    def __init__(self, root):
        self.image = self._only(root, "boot/vmlinuz-*")
        self.release = self.image.name.removeprefix("vmlinuz-")
        self.modules = self._only(root, f"lib/modules/{self.release}")

    @staticmethod
    def _only(root, pattern):
        found = sorted(root.glob(pattern))
        if len(found) != 1:
            raise GuestError(f"{root}: {len(found)} files match {pattern}, expected 1")
        return found[0]

    def module_files(self, names):
        """Returns the files of these modules in load order, each after its dependencies."""
        # A module may be called crc32c_generic, and its file crc32c-generic.ko.
        files = {path.stem.replace("-", "_"): path for path in self.modules.rglob("*.ko")}
        builtin = {pathlib.PurePath(line).stem.replace("-", "_") for line in
                   (self.modules / "modules.builtin").read_text(encoding="utf-8").split()}
        order = []

        def add(name):
            if name in builtin or files.get(name) in order:
                return
            if name not in files:
                raise GuestError(f"kernel {self.release} has no module {name}")
            depends = re.search(rb"\0depends=([^\0]*)\0", files[name].read_bytes())
            for needed in filter(None, depends[1].decode().split(",") if depends else []):
                add(needed.replace("-", "_"))
            order.append(files[name])

        for name in names:
            add(name)
        return order


def fetch_kernel(cache):
    """Returns Debian's cloud kernel from the package archive, cached below `cache`. Raises GuestError if unavailable."""
    if platform.machine() != "x86_64":
        raise GuestError(f"this is a {platform.machine()} machine; the guests are made for x86_64")
    unpacked = cache / "kernel"
    if not unpacked.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as work:
            package = _download_kernel(pathlib.Path(work))
            whole = pathlib.Path(work) / "kernel"
            _run(["dpkg-deb", "-x", str(package), str(whole)], "unpack the kernel")
            whole.rename(unpacked)  # All or nothing: an interrupted fetch leaves no partial kernel.
    return Kernel(unpacked)


def _run(command, purpose, **options):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise GuestError(f"cannot {purpose}: `{' '.join(command)}` ended with {done.returncode}:\n"
                         f"{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout


def _download_kernel(work):
    # Own package lists: those of the machine may be absent, or so old that they name versions which the archive
    # has replaced, and updating them takes root.
    for folder in ("lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    apt = [f"-oDir::State::Lists={work}/lists", f"-oDir::Cache={work}", "-oAPT::Sandbox::User=",
           "-oDebug::NoLocking=1", "-oAcquire::Retries=2", "-oAcquire::Languages=none",
           "-oAPT::Update::Error-Mode=any"]
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        find_tool(tool)
    _run(["apt-get", *apt, "-qq", "update"], "read the package lists")
    depends = _run(["apt-cache", *apt, "depends", META_PACKAGE], f"look up {META_PACKAGE}")
    named = re.search(r"Depends: (linux-image-\S+)", depends)
    if named is None:
        raise GuestError(f"the configured package archives do not have {META_PACKAGE}; it is part of Debian 12")
    _run(["apt-get", *apt, "download", named[1]], f"download {named[1]}", cwd=work)
    found = list(work.glob("linux-image-*.deb"))
    if len(found) != 1:
        raise GuestError(f"download of {named[1]}: {len(found)} packages came, expected 1")
    return found[0]


class Image:
    """What the guest's memory contains at start: an archive in the format `newc` of cpio."""

    def __init__(self):
        self._entries = {}  # path -> (mode, content)

    def add_folder(self, path):
        for parent in reversed(pathlib.PurePosixPath(path).parents):
            if parent.name:
                self._entries.setdefault(str(parent), (stat.S_IFDIR | 0o755, b""))
        self._entries.setdefault(str(path), (stat.S_IFDIR | 0o755, b""))

    def add(self, path, content, mode=0o644):
        self.add_folder(str(pathlib.PurePosixPath(path).parent))
        self._entries[str(path)] = (stat.S_IFREG | mode, content)

    def add_link(self, path, target):
        self.add_folder(str(pathlib.PurePosixPath(path).parent))
        self._entries[str(path)] = (stat.S_IFLNK | 0o777, target.encode())

    def add_program(self, source, path):
        """Adds a program without its debugging sections, and the libraries that it is linked with."""
        with tempfile.TemporaryDirectory() as work:
            stripped = pathlib.Path(work) / "stripped"
            _run([find_tool("strip"), "--strip-debug", "-o", str(stripped), str(source)], f"strip {source}")
            self.add(path, stripped.read_bytes(), 0o755)
        listed = subprocess.run(["ldd", str(source)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                check=False).stdout  # It fails for a static program, which needs no libraries.
        for missing in re.findall(r"(\S+) => not found", listed):
            raise GuestError(f"{source}: library {missing} is not found")
        for library in re.findall(r"(/\S+) \(0x", listed):
            self.add(library.lstrip("/"), pathlib.Path(library).read_bytes(), 0o755)

    def add_busybox(self):
        busybox = find_tool("busybox")
        self.add_program(busybox, "bin/busybox")
        for applet in _run([busybox, "--list"], "list busybox's applets").split():
            if applet != "busybox":
                self.add_link(f"bin/{applet}", "/bin/busybox")

    def write(self, path):
        with open(path, "wb") as out:
            trailer = {"TRAILER!!!": (0, b"")}
            for number, (name, (mode, content)) in enumerate({**self._entries, **trailer}.items(), start=1):
                encoded = name.encode() + b"\0"
                # magic, then 13 fields of 8 hex digits: inode, mode, uid, gid, links, mtime, size, the
                # file's device, its own device if it is one, bytes of the name, check sum.
                fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(encoded), 0)
                header = b"070701" + b"".join(b"%08x" % field for field in fields) + encoded
                out.write(header + b"\0" * (-len(header) % 4))
                out.write(content + b"\0" * (-len(content) % 4))


def boot(kernel, image, machine, command_line, prefix, timeout_s):
    """Boots, prints the console's lines after `prefix`, and returns what the guest wrote to its second serial line:
    its verdict. Raises GuestError if there is none in time."""
    with tempfile.TemporaryDirectory(prefix="tickstack-guest-") as folder:
        work = pathlib.Path(folder)
        image.write(work / "image.cpio")
        command = [
            find_tool("qemu-system-x86_64"),
            # Always emulates: KVM inside another hypervisor may accept a guest and never run it.
            "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", *machine,
            "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none",
            "-serial", "stdio", "-serial", f"file:{work}/verdict",
            "-kernel", str(kernel.image), "-initrd", str(work / "image.cpio"),
            "-append", f"console=ttyS0 quiet panic=-1 mitigations=off tsc=reliable no_timer_check {command_line}"]
        with subprocess.Popen(command, cwd=work, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace") as qemu:
            watchdog = threading.Timer(timeout_s, qemu.kill)
            watchdog.start()
            try:
                for line in qemu.stdout:
                    print(f"{prefix}{line.rstrip()}", flush=True)
            finally:
                in_time = watchdog.is_alive()
                watchdog.cancel()
                qemu.kill()
        verdict = (work / "verdict").read_text(encoding="utf-8", errors="replace").strip() \
            if (work / "verdict").exists() else ""
    if not verdict:
        why = f"QEMU ended with {qemu.returncode}" if in_time else f"it was stopped after {timeout_s} s"
        raise GuestError(f"the guest gave no verdict: {why}")
    return verdict
