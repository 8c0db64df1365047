"""File systems of a test's own: of a limited size, and made read-only while processes run.

They are mounted in a mount namespace that only this process and its children see. That needs root, or a kernel on which
users may create namespaces; without either, a test is skipped.
"""

import ctypes
import os
import subprocess
import unittest

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
_libc = ctypes.CDLL(None, use_errno=True)
_entered = False


def _call(done, what):
    if done != 0:
        raise unittest.SkipTest(f"no mounts here: {what}: {os.strerror(ctypes.get_errno())}")


def enter_namespace():
    """Gives this process mounts of its own, once. Call it before other threads start."""
    global _entered  # pylint: disable=global-statement
    if _entered:
        return
    user, group = os.getuid(), os.getgid()
    if user == 0:
        _call(_libc.unshare(CLONE_NEWNS), "unshare")
    else:
        _call(_libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "unshare")
        for file, line in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{file}", "w", encoding="ascii") as out:
                out.write(line)
    _call(_libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None), "mount")
    _entered = True


class Tmpfs:
    """A file system in memory at a directory, which is created, until `unmount`."""

    def __init__(self, path, kib):
        enter_namespace()
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._mount("-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(path))

    def _mount(self, *arguments):
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise unittest.SkipTest(f"no mounts here: {done.stderr.strip()}")

    def resize(self, kib):
        self._mount("-o", f"remount,size={kib}k", str(self.path))

    def set_read_only(self, read_only):
        """Only while no process has a file open for writing."""
        self._mount("-o", f"remount,{'ro' if read_only else 'rw'}", str(self.path))

    def unmount(self):
        subprocess.run(["umount", "--lazy", str(self.path)], check=False)
