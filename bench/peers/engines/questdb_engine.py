"""QuestDB: its server from the Maven jar, on loopback, with tables by hour and indexed symbols, over the
PostgreSQL protocol in binary. A time ends when libpq has the last byte; the bytes are not converted."""

import ctypes
import pathlib
import shutil
import signal
import socket
import subprocess
import time

import numpy as np
import psycopg
from psycopg import pq

from bench.peers.engines.chdb_engine import write_parquet
from bench.peers.lines import EXCHANGES

VERSION = "9.3.4"
ARTIFACT = f"org.questdb:questdb:{VERSION}"
UNIX_US_OF_PG_EPOCH = 946_684_800_000_000
START_S = 60
NBBO_QUOTES_MAX = 5_000_000  # With more quotes, the answer takes minutes over this protocol.
PIECE_ROWS = 1 << 18
KINDS = {701: ">f8", 20: ">i8", 23: ">i4", 1114: ">i8", 1184: ">i8"}  # PostgreSQL's type numbers.

CONFIGURATION = """
http.enabled=false
http.min.enabled=false
line.tcp.enabled=false
line.udp.enabled=false
metrics.enabled=false
telemetry.enabled=false
pg.net.bind.to=127.0.0.1:{port}
pg.worker.count=1
shared.worker.count={threads}
shared.query.worker.count={threads}
cairo.sql.copy.root={root}
"""


def _jar():
    """Returns the jar from Maven's local repository, where Maven puts it if it is missing."""
    group, name, version = ARTIFACT.split(":")
    jar = pathlib.Path.home() / ".m2/repository" / group.replace(".", "/") / name / version / f"{name}-{version}.jar"
    if not jar.exists():
        subprocess.run(
            ["mvn", "-q", "-B", "dependency:get", "-Dtransitive=false", f"-Dartifact={ARTIFACT}"],
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            timeout=300,
        )
    return jar


def _die_with_parent():
    """Runs between fork and exec of the server: it will get SIGTERM if this process is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


class Engine:
    def __init__(self, day, questions, layout, threads, folder):
        self.day, self.questions = day, questions
        self.numbers = {text.encode(): number for number, text in enumerate(day.names)}
        self.folder = pathlib.Path(folder) / "questdb"
        (self.folder / "conf").mkdir(parents=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        (self.folder / "conf/server.conf").write_text(
            CONFIGURATION.format(port=port, threads=threads, root=folder), encoding="ascii"
        )
        with open(self.folder / "log", "wb") as log:
            self.server = subprocess.Popen(
                ["java", "-p", str(_jar()), "-m", "io.questdb/io.questdb.ServerMain", "-d", str(self.folder)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                preexec_fn=_die_with_parent,
            )
        self.connection = self._connect(port)
        for table in ("trade", "quote"):
            path = pathlib.Path(folder) / f"questdb.{table}.parquet"
            write_parquet(day, table, layout, path)
            names = ", ".join(
                f"{name}::{'symbol' if name in ('sym', 'ex') else 'timestamp'} as {name}"
                if name in ("sym", "ex", "time")
                else name
                for name in day.columns(table, layout)
                if name not in ("row", "order_ns")
            )
            self.execute(
                f"create table {table} as (select {names} from read_parquet('{path.name}')), "
                f"cast(sym as symbol capacity {2 * len(day.names)} cache), index(sym) "
                "timestamp(time) partition by hour bypass wal"
            )
            path.unlink()

    def _connect(self, port):
        give_up = time.monotonic() + START_S
        while True:
            try:
                return psycopg.connect(
                    host="127.0.0.1", port=port, user="admin", password="quest", dbname="qdb", autocommit=True
                )
            except psycopg.OperationalError:
                if self.server.poll() is not None or time.monotonic() > give_up:
                    log = (self.folder / "log").read_text(encoding="utf-8", errors="replace")
                    raise RuntimeError(f"QuestDB does not answer: {log[-2000:]}") from None
                time.sleep(0.1)

    @staticmethod
    def version():
        return VERSION

    def close(self):
        self.connection.close()
        self.server.send_signal(signal.SIGTERM)
        try:
            self.server.wait(20)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def execute(self, sql):
        """Returns the result as libpq holds it, with values in binary."""
        result = self.connection.pgconn.exec_params(sql.encode(), None, result_format=pq.Format.BINARY)
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK):
            raise RuntimeError(result.error_message.decode(errors="replace").strip())
        return result

    def lines(self):
        questions = self.questions
        symbols = ",".join(f"'{self.day.names[number]}'" for number in questions.basket)
        last = (
            "last_value(case when ex = '{0}' then {1} end) ignore nulls over "
            "(partition by sym rows between unbounded preceding and current row)"
        )
        bids = ", ".join(last.format(ex, "bid") + f" b{ex}" for ex in EXCHANGES)
        asks = ", ".join(last.format(ex, "ask") + f" a{ex}" for ex in EXCHANGES)
        best_bid = f"greatest({', '.join(f'b{ex}' for ex in EXCHANGES)})"
        best_ask = f"least({', '.join(f'a{ex}' for ex in EXCHANGES)})"
        texts = {
            # Without the hint it searches separately for each trade, which takes a hundred times as long.
            "asof_all": "select /*+ asof_linear(t q) */ t.time, t.sym, t.price, t.size, q.bid, q.ask "
            "from trade t asof join quote q on (sym)",
            "bars": """select sym, time_floor minute, open, high, low, close, volume, value / volume vwap from (
                         select sym, timestamp_floor('m', time) time_floor, first(price) open, max(price) high,
                           min(price) low, last(price) close, sum(size) volume, sum(size * price) value
                         from trade group by sym, time_floor)""",
            "last": "select sym, bid, ask from quote latest on time partition by sym",
            "basket": f"""select sym, sum(bsize * bid) / sum(bsize) bid from quote where sym in ({symbols})
                          and time between '{np.datetime64(questions.begin_ns, "ns")}Z'
                            and '{np.datetime64(questions.end_ns, "ns")}Z'""",
            "nbbo": f"select time, sym, {best_bid} bid, {best_ask} ask "
            f"from (select time, sym, {bids}, {asks} from quote)",
            "max_time": "select max(time) time from quote",
        }
        if self.day.rows("quote") > NBBO_QUOTES_MAX:
            del texts["nbbo"]
        for name in ("asof_tenth", "asof_busiest"):
            symbol = self.day.names[questions[name].symbol]
            texts[name] = (
                "select t.time, t.sym, t.price, t.size, q.bid, q.ask from "
                f"(select * from trade where sym = '{symbol}') t "
                f"asof join (select * from quote where sym = '{symbol}') q"
            )
        return {name: lambda text=text: self.execute(text) for name, text in texts.items()}

    def columns(self, name, answer):
        out = {}
        for column in range(answer.nfields):
            title = answer.fname(column).decode()
            # In pieces, because all values at once would take 50 bytes each as Python objects.
            out[title] = np.concatenate(
                [self._piece(answer, column, title, begin) for begin in range(0, max(1, answer.ntuples), PIECE_ROWS)]
            )
        for title in ("time", "minute"):
            if title in out:
                out[title] = (out[title] + UNIX_US_OF_PG_EPOCH) * 1000
        if "minute" in out:
            out["minute"] = out["minute"] // 60_000_000_000 % (24 * 60)
        return out

    def _piece(self, answer, column, title, begin):
        values = [answer.get_value(row, column) for row in range(begin, min(begin + PIECE_ROWS, answer.ntuples))]
        if title == "sym":
            return np.array([self.numbers[value] for value in values], np.int32)
        kind = np.dtype(KINDS[answer.ftype(column)])
        null = np.array(np.nan if kind.kind == "f" else np.iinfo(kind).min, kind).tobytes()
        numbers = np.frombuffer(b"".join(null if value is None else value for value in values), kind)
        return numbers.astype(kind.newbyteorder("="))
