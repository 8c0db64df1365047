"""Stacks with users and TLS, for tests of the clients that connect to them."""

import subprocess

from tests.support import stack
from tests.support.certificates import Certificates

PASSWORD = "a long password"
RIGHTS = {
    "client": ["--query", "*", "--subscribe", "*", "--publish", "*"],
    "reader": ["--query", "quote"],
}
USERS = """
[security]
users = "{folder}/users"
"""
TLS = """
[tls]
listen = "required"
certificate = "{folder}/server.pem"
key = "{folder}/server.key"
ca = "{folder}/ca.pem"
"""


class SecuredTest(stack.StackTest):
    """`certificates` has the folder and files of the last stack with TLS."""

    def add_users(self, rights):
        """Adds a user for each entry {name: flags of tickstack user add}."""
        for user, flags in rights.items():
            done = subprocess.run([stack.PROGRAM, "user", "add", user, *flags, "--users", str(self.folder / "users")],
                                  input=PASSWORD + "\n", capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(0, done.returncode, done.stderr)

    def start_secured(self, config, *, users, tls, more="", name="stack"):
        """Starts a stack with the users of RIGHTS, TLS, or both. `more`: lines for the section [tls]."""
        sections = ""
        if users:
            if not (self.folder / "users").exists():
                self.add_users(RIGHTS)
            sections += USERS.format(folder=self.folder)
        if tls:
            self.certificates = Certificates(self.folder)
            sections += TLS.format(folder=self.folder) + more
        return self.start_stack(sections + config, "--date", "2020.03.09", name=name)
