"""The systems as processes: the others, tickstack in a process, and tickstack over IPC. All have the functions
`run(line)` and `summarise(line, path)`; they raise Failed for a line that they cannot answer."""

import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import time

from bench.peers import answers, decode
from tests.support import kdb_ipc

ROOT = pathlib.Path(__file__).resolve().parents[2]
STOP_S = 20
REPLY_BUFFER_BYTES = 1 << 22
QUERY_BYTES_MAX = "8GiB"  # The NBBO of 30 million quotes needs more than the default.


class Failed(Exception):
    """A line could not be answered; args[0] has the reason."""


class Conversation:
    """A process that reads and writes JSON, one object per line. It ends with this object at the latest."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, **options
        )
        self.ready = self._reply()

    def _reply(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed(f"{self.process.args[0]} ended: {self.process.wait()}")
        return json.loads(line)

    def ask(self, message):
        try:
            self.process.stdin.write(json.dumps(message) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Failed(f"{self.process.args[0]} ended: {self.process.wait()}") from None
        reply = self._reply()
        if "error" in reply:
            raise Failed(reply["error"])
        return reply

    def close(self):
        end(self.process)


def end(process):
    """Ends a process that was started here, by closing its input, or else by its pid."""
    if process.stdin:
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
    else:
        process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


class System:
    """Another system, see worker.py."""

    def __init__(self, name, layout, directory, threads, folder):
        environment = os.environ | {
            "PYTHONPATH": str(ROOT),
            "POLARS_MAX_THREADS": str(threads),
            "OMP_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": str(threads),
        }
        # A comparison must not choose old kernels for the sake of this machine.
        for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
            environment.pop(variable, None)
        self.talk = Conversation(
            [sys.executable, "-m", "bench.peers.worker", name, layout, str(directory), str(threads), str(folder)],
            env=environment,
        )
        self.version, self.lines = self.talk.ready["version"], self.talk.ready["lines"]
        self.load_s = self.talk.ready["load_ns"] / 1e9

    def run(self, line):
        return self.talk.ask({"run": line.name})["ns"]

    def summarise(self, line, path):
        return answers.Summary(**self.talk.ask({"summarise": line.name, "path": str(path)}))

    def close(self):
        self.talk.close()


class InProcess:
    """tickstack's evaluation of the q, see peers_day.cc. The constructor creates the day."""

    def __init__(self, program, directory, quotes, seed):
        self.talk = Conversation([str(program), "--dir", str(directory), "--quotes", str(quotes), "--seed", str(seed)])
        self.machine, self.log = self.talk.ready["machine"], self.talk.ready["log"]
        self.day = None  # Set once the layouts exist; answers are read with it.

    def run(self, line, threads):
        return self.talk.ask({"evaluate": line.q, "threads": threads})["ns"]

    def read_memory(self, threads):
        return self.talk.ask({"read_memory": threads})["bytes_per_s"]

    def summarise(self, line, path, threads):
        answer = pathlib.Path(f"{path}.q")
        try:
            self.talk.ask({"evaluate": line.q, "threads": threads, "answer": str(answer)})
            columns = decode.columns_of(decode.decode(answer.read_bytes()), self.day)
            return answers.summarise(line, columns, path)
        finally:
            answer.unlink(missing_ok=True)

    def close(self):
        self.talk.close()


class OverIpc:
    """An RDB that serves the same day's log, asked over loopback like any other."""

    def __init__(self, program, log, day, folder, threads):
        self.day = day
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        with open(pathlib.Path(folder) / "rdb.log", "wb") as output:
            self.process = subprocess.Popen(
                [
                    str(program),
                    "rdb",
                    "--replay",
                    str(log),
                    "--listen-fd",
                    str(listener.fileno()),
                    "--query-helpers",
                    str(threads - 1),
                    "--query-max-bytes",
                    QUERY_BYTES_MAX,
                ],
                pass_fds=[listener.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        listener.close()
        # It answers once the log is replayed; until then the kernel keeps the connection waiting.
        self.connection = kdb_ipc.Connection(port, timeout=300)

    def _ask(self, line):
        """Returns the answer's body, and the time until it arrived."""
        request = kdb_ipc.message(kdb_ipc.SYNC, kdb_ipc.encode(line.q.encode()))
        begin = time.perf_counter_ns()
        self.connection.socket.sendall(request)
        head = self._exactly(8)
        _, _, compressed, _, length = struct.unpack("<BBBBI", head)
        if compressed:
            raise Failed("a compressed answer over loopback")
        body = self._exactly(length - 8)
        ns = time.perf_counter_ns() - begin
        if body[0] == 0x80:
            raise Failed(bytes(body[1:]).split(b"\0")[0].decode())
        return body, ns

    def _exactly(self, count):
        body = memoryview(bytearray(count))
        at = 0
        while at < count:
            got = self.connection.socket.recv_into(body[at:], min(count - at, REPLY_BUFFER_BYTES))
            if not got:
                raise Failed(f"the rdb closed the connection after {at} of {count} bytes")
            at += got
        return body

    def run(self, line):
        """Returns (ns until the bytes have arrived, ns until they are arrays, bytes)."""
        body, ns = self._ask(line)
        begin = time.perf_counter_ns()
        decode.decode(body)
        return ns, ns + time.perf_counter_ns() - begin, len(body)

    def summarise(self, line, path):
        body, _ = self._ask(line)
        return answers.summarise(line, decode.columns_of(decode.decode(body), self.day), path)

    def close(self):
        self.connection.close()
        end(self.process)
