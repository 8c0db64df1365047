"""Certificates for tests, issued by the program openssl: NAME.pem and NAME.key in a folder."""

import ssl
import subprocess


class Certificates:
    """Begins with a root `ca` and a certificate `server` for this machine, which it signed."""

    def __init__(self, folder):
        self.folder = folder
        self.issue_root("ca")
        self.issue("server", "IP:127.0.0.1,DNS:localhost")

    def path(self, name):
        return str(self.folder / name)

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise AssertionError(f"openssl {' '.join(arguments)}: {done.stderr}")

    def new_key(self, name, subject=None):
        return ("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key",
                "-subj", subject or f"/CN={name}")

    def issue_root(self, name):
        self.openssl(*self.new_key(name), "-x509", "-days", "2", "-out", f"{name}.pem")

    def issue(self, name, names, ca="ca", days=2, subject=None):
        """`days`: how long it is valid from now on; -1: it expired yesterday. `subject`: default: a CN, the name."""
        self.openssl(*self.new_key(name, subject), "-out", f"{name}.csr")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial",
                     "-days", str(days), "-extfile", f"{name}.ext", "-out", f"{name}.pem")

    def context(self, name=None):
        """Returns the context of a client that trusts `ca` and, if it is given, shows the certificate `name`."""
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if name is not None:
            context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        return context
