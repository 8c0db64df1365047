#!/usr/bin/env python3
"""A small S3 service for tests: objects of one bucket in memory. It checks the signature of each request on its own,
and can be slow, wrong or gone.

    s3_server.py PORT_FILE         serves on a port that the kernel chooses, until its standard input ends

Requests below /-control/ are not signed and change how it behaves; ControlledServer sends them.
"""

import hashlib
import hmac
import http.server
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import urllib.request

ACCESS_KEY, SECRET_KEY, BUCKET, REGION = "test-key", "test/secret+key", "history", "us-east-1"


class State:
    def __init__(self):
        self.lock = threading.Lock()
        self.objects = {}
        self.gets = self.puts = self.get_bytes = self.running = self.running_max = 0
        self.refused = []  # Why requests had no right signature.
        self.fault, self.delay, self.failures = "", 0.0, 0


STATE = State()


def signature_fault(method, path, headers, body_hash):
    """What is wrong with the signature of a request (AWS Signature Version 4), or None."""
    match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/s3/aws4_request, ?"
                         r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})", headers.get("Authorization", ""))
    if not match:
        return f"Authorization: {headers.get('Authorization')!r}"
    key, day, region, signed, signature = match.groups()
    if key != ACCESS_KEY or region != REGION:
        return f"key {key} region {region}"
    names = signed.split(";")
    if names != sorted(names) or "host" not in names or "x-amz-date" not in names:
        return f"signed headers {signed}"
    missing = [name for name in names if name not in headers]
    if missing:
        return f"signed headers that are not there: {missing}"
    said = headers.get("x-amz-content-sha256", "")
    if said != body_hash:
        return f"the body has SHA-256 {body_hash}, the request says {said!r}"
    stamp = headers["x-amz-date"]
    canonical = "\n".join([method, path, "", *(f"{name}:{headers[name].strip()}" for name in names), "", signed,
                           said])
    scope = f"{day}/{region}/s3/aws4_request"
    to_sign = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, hashlib.sha256(canonical.encode()).hexdigest()])
    secret = ("AWS4" + SECRET_KEY).encode()
    for part in (day, region, "s3", "aws4_request"):
        secret = hmac.new(secret, part.encode(), hashlib.sha256).digest()
    expected = hmac.new(secret, to_sign.encode(), hashlib.sha256).hexdigest()
    return None if hmac.compare_digest(expected, signature) else f"signature of {canonical!r}"


class Handler(http.server.BaseHTTPRequestHandler):
    disable_nagle_algorithm = True
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", name="", headers=()):
        if name:
            body = f'<?xml version="1.0"?><Error><Code>{name}</Code></Error>'.encode()
        self.send_response(code)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def handle_request(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/-control/"):
            return self.control(json.loads(body or b"{}"))
        with STATE.lock:
            fault = STATE.fault
            if STATE.failures > 0:
                STATE.failures -= 1
                fault = "unavailable"
        if STATE.delay:
            time.sleep(STATE.delay)
        if fault == "unavailable":
            return self.answer(503, name="SlowDown")
        if fault == "cut":
            self.close_connection = True
            return None
        wrong = signature_fault(self.command, self.path, self.headers, hashlib.sha256(body).hexdigest())
        if wrong:
            STATE.refused.append(wrong)
            return self.answer(403, name="SignatureDoesNotMatch")
        if not self.path.startswith(f"/{BUCKET}/"):
            return self.answer(404, name="NoSuchBucket")
        key = self.path[len(BUCKET) + 2:]
        return {"GET": self.get, "PUT": self.put}[self.command](key, body, fault)

    do_GET = do_PUT = handle_request

    def get(self, key, _, fault):
        with STATE.lock:
            STATE.gets += 1
            STATE.running += 1
            STATE.running_max = max(STATE.running_max, STATE.running)
            content = STATE.objects.get(key)
        try:
            if content is None:
                return self.answer(404, name="NoSuchKey")
            match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if not match:
                return self.answer(400, name="InvalidRange")
            begin, last = map(int, match.groups())
            if begin >= len(content):
                return self.answer(416, name="InvalidRange")
            part = content[begin:last + 1]
            STATE.get_bytes += len(part)
            if fault == "short":
                part = part[:-1]
            if fault == "long":
                part += b"x"
            if fault == "corrupt":
                part = part[:len(part) // 2] + bytes([part[len(part) // 2] ^ 1]) + part[len(part) // 2 + 1:]
            if fault == "half":  # The connection breaks in the middle of the answer.
                self.send_response(206)
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                self.wfile.write(part[:len(part) // 2])
                self.wfile.flush()
                self.close_connection = True
                return None
            return self.answer(206, part, headers=[("Content-Range", f"bytes {begin}-{last}/{len(content)}")])
        finally:
            with STATE.lock:
                STATE.running -= 1

    def put(self, key, body, _):
        with STATE.lock:
            STATE.puts += 1
            STATE.objects[key] = body
        self.answer(200)

    def control(self, changes):
        with STATE.lock:
            for name, value in changes.items():
                setattr(STATE, name, value)
            facts = {name: getattr(STATE, name) for name in ("gets", "puts", "get_bytes", "running_max", "refused")}
            facts["keys"] = sorted(STATE.objects)
        self.answer(200, json.dumps(facts).encode())


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # Clients that leave.


class ControlledServer:
    """The server as a process of its own, so that a test can kill or stop it."""

    def __init__(self, folder, port=0):
        self.folder = pathlib.Path(folder)
        port_file = self.folder / "s3.port"
        port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen([sys.executable, __file__, str(port_file), str(port)],
                                        stdin=subprocess.PIPE)
        until = time.monotonic() + 30
        while not port_file.exists():
            if time.monotonic() > until or self.process.poll() is not None:
                raise AssertionError("the S3 server did not start")
            time.sleep(0.01)
        self.port = int(port_file.read_text(encoding="utf-8"))
        self.url = f"http://127.0.0.1:{self.port}"

    def control(self, **changes):
        """Changes fields of State, and returns the counters and the keys."""
        request = urllib.request.Request(f"{self.url}/-control/", json.dumps(changes).encode(), method="PUT")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()


def main():
    server = Server(("127.0.0.1", int(sys.argv[2]) if len(sys.argv) > 2 else 0), Handler)
    path = pathlib.Path(sys.argv[1])
    made = path.with_suffix(".new")
    made.write_text(str(server.server_address[1]), encoding="utf-8")
    made.rename(path)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
