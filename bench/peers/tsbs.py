"""bench/peers/run tsbs: the ten questions of the Time Series Benchmark Suite about hosts' processors, in q for a
table in memory and for a database of several days, beside DuckDB's SQL, on generated readings."""

import sys

import numpy as np

from bench.peers.questions import Duck, Here, Names, Question, compare, parser_of, run, write_tables

FIRST_DAY = np.datetime64("2016-01-01")
INTERVAL_S = 10
READINGS = ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")
USAGES = tuple(f"usage_{name}" for name in READINGS)


def readings(day, hosts, rng):
    """Returns one day: a reading of each host every ten seconds, hosts in turn; readings walk within 0 to 100."""
    times = 86_400 // INTERVAL_S
    start = (FIRST_DAY + day).astype("M8[ns]")
    time = np.repeat(start + np.arange(times) * np.timedelta64(INTERVAL_S, "s"), hosts)
    names = [f"host_{number}" for number in range(hosts)]
    columns = {
        "time": time,
        "sym": Names(np.tile(np.arange(hosts), times), names),
        "region": Names(np.tile(np.arange(hosts) % 9, times), [f"region-{number}" for number in range(9)]),
        "os": Names(np.tile(np.arange(hosts) % 3, times), ["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"]),
    }
    for usage in USAGES:
        walk = rng.integers(0, 101, hosts) + np.cumsum(rng.integers(-1, 2, (times, hosts)), axis=0)
        columns[usage] = np.abs((walk + 100) % 200 - 100).reshape(-1).astype(np.int64)
    return columns


def questions(days, hosts):
    """Questions for the last day in memory (`cpu` and `today`) and for all days on disk (`cpu`)."""
    last = FIRST_DAY + days - 1
    begin, end = (last.astype("M8[s]") + np.timedelta64(hours, "h") for hours in (11, 12))
    eight = ",".join(f"'host_{number * 7 % hosts}'" for number in range(8))
    eight_q = "".join(f"`host_{number * 7 % hosts}" for number in range(8))

    def within(first, final):
        """Returns conditions in q, for a table in memory and for partitions, and in SQL."""
        text = f"time within {q_time(first)} {q_time(final)}"
        dates = f"date within {q_date(first)} {q_date(final)}"
        return text, f"{dates},{text}", f"time between timestamp '{first}' and timestamp '{final}'"

    hour, half = within(begin, end), within(begin - np.timedelta64(7, "h"), end)

    def both(name, period, q, sql):
        """Returns q and SQL with %w for the conditions on time and %t for SQL's table."""
        return [
            Question(
                f"{name}, memory", q.replace("%w", period[0]), sql.replace("%w", period[2]).replace("%t", "today")
            ),
            Question(
                f"{name}, disk", q.replace("%w", period[1]), sql.replace("%w", period[2]).replace("%t", "cpu"), "disk"
            ),
        ]

    def maxima(usages):
        return ",".join(f"max {name}" for name in usages), ", ".join(f"max({name}) {name}" for name in usages)

    def means(usages):
        return ",".join(f"avg {name}" for name in usages), ", ".join(f"avg({name}) {name}" for name in usages)

    def by_minute(name, usages):
        q, sql = maxima(usages)
        return both(
            name,
            hour,
            f"select {q} by 0D00:01 xbar time from cpu where %w,sym in {eight_q}"
            if name != "maximum of one reading by minute"
            else f"max {{select {q} by 0D00:01 xbar time from cpu where %w,sym=x}} peach {eight_q}",
            f"select date_trunc('minute', time) \"time\", {sql} from %t where %w and sym in ({eight}) group by all",
        )

    def by_hour(name, usages):
        q, sql = means(usages)
        return both(
            name,
            half,
            f"select {q} by 0D01 xbar time,sym from cpu where %w",
            f"select date_trunc('hour', time) \"time\", sym, {sql} from %t where %w group by all",
        )

    all_q, all_sql = maxima(USAGES)
    raw = ", ".join(("time", "sym", "region", "os", *USAGES))
    raw_q = raw.replace(" ", "")
    out = by_minute("maximum of one reading by minute", USAGES[:1]) + by_minute("maxima of five readings", USAGES[:5])
    out += both(
        "maxima of all readings by hour",
        half,
        f"select {all_q} by 0D01 xbar time from cpu where %w,sym in {eight_q}",
        f"select date_trunc('hour', time) \"time\", {all_sql} from %t where %w and sym in ({eight}) group by all",
    )
    out += by_hour("mean of one reading by hour and host", USAGES[:1])
    out += by_hour("means of five readings by hour and host", USAGES[:5])
    out += by_hour("means of all readings by hour and host", USAGES)
    out += both(
        "high readings",
        half,
        f"select {raw_q} from cpu where %w,usage_user>90",
        f"select {raw} from %t where %w and usage_user > 90",
    )
    out += both(
        "high readings of eight hosts",
        half,
        f"select {raw_q} from cpu where %w,sym in {eight_q},usage_user>90",
        f"select {raw} from %t where %w and sym in ({eight}) and usage_user > 90",
    )
    last_sql = f"select {raw} from %t qualify row_number() over (partition by sym order by time desc) = 1"
    out += [
        Question("last reading of each host, memory", "select by sym from cpu", last_sql.replace("%t", "today")),
        Question(
            "last reading of each host, disk",
            "delete date from select by sym from cpu where date=last date",
            last_sql.replace("%t", "cpu"),
            "disk",
        ),
    ]
    five_sql = (
        "select date_trunc('minute', time) \"time\", max(usage_user) usage_user from %t where time < timestamp '{}' "
        "group by all order by all desc limit 5"
    ).format(end)
    until = f"time<{q_time(end)}"
    five_q = "-5 sublist select max usage_user by 0D00:01 xbar time from cpu where "
    out += [
        Question("five last minutes, memory", five_q + until, five_sql.replace("%t", "today")),
        Question(
            "five last minutes, disk", f"{five_q}date={q_date(end)},{until}", five_sql.replace("%t", "cpu"), "disk"
        ),
    ]
    return out


def q_date(time):
    return str(time.astype("M8[D]")).replace("-", ".")


def q_time(time):
    return str(time.astype("M8[s]")).replace("-", ".").replace("T", "D")


def main():
    parser = parser_of("tsbs", "Questions of the Time Series Benchmark Suite.")
    parser.add_argument("--hosts", type=int, default=100, help="(default: %(default)s)")
    parser.add_argument("--days", type=int, default=3, help="on disk; the last one is in memory (default: %(default)s)")
    options = parser.parse_args()

    def compare_in(folder):
        rng = np.random.default_rng(1)
        duck, today, disk = Duck(options.threads), None, None
        try:
            for day in range(options.days):
                if today is not None:
                    today.close()
                columns = readings(day, options.hosts, rng)
                write_tables(folder / f"day{day}", {"cpu": columns})
                today = Here(
                    [options.programs / "peers_tables", "--dir", folder / f"day{day}"], options.threads, folder
                )
                today.talk.ask({"write": q_date(FIRST_DAY + day), "db": str(folder / "db")})
                duck.load("today", columns)
                duck.database.execute("create table if not exists cpu as select * from today limit 0")
                duck.database.execute("insert into cpu select * from today")
                if day + 1 < options.days:
                    duck.database.execute("drop table today")
            disk = Here([options.programs / "peers_history", "--db", folder / "db"], options.threads, folder)
            asked = questions(options.days, options.hosts)
            return compare(options, asked, {"memory": today, "disk": disk}, duck)
        finally:
            for system in (today, disk):
                if system is not None:
                    system.close()

    return run(options, compare_in)


if __name__ == "__main__":
    sys.exit(main())
