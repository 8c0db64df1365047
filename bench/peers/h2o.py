"""bench/peers/run h2o: the ten group-bys and five joins that db-benchmark defines, in q beside DuckDB's SQL, on
generated data of the same shape: ids with 100 values and with a hundredth of the rows, small integers, floats."""

import sys

import numpy as np

from bench.peers.questions import Duck, Here, Names, Question, compare, parser_of, run, write_tables

GROUPS = 100

GROUP_BYS = (
    Question("sum by one id", "select sum v1 by id1 from x", "select id1, sum(v1) v1 from x group by all"),
    Question("sum by two ids", "select sum v1 by id1,id2 from x", "select id1, id2, sum(v1) v1 from x group by all"),
    Question(
        "sum and mean, many groups",
        "select sum v1,avg v3 by id3 from x",
        "select id3, sum(v1) v1, avg(v3) v3 from x group by all",
    ),
    Question(
        "means by a number",
        "select avg v1,avg v2,avg v3 by id4 from x",
        "select id4, avg(v1) v1, avg(v2) v2, avg(v3) v3 from x group by all",
    ),
    Question(
        "sums by a number, many groups",
        "select sum v1,sum v2,sum v3 by id6 from x",
        "select id6, sum(v1) v1, sum(v2) v2, sum(v3) v3 from x group by all",
    ),
    Question(
        "median and deviation",
        "select m:med v3,d:sdev v3 by id4,id5 from x",
        "select id4, id5, median(v3) m, stddev_samp(v3) d from x group by all",
    ),
    Question(
        "range of two columns",
        "select range:(max v1)-min v2 by id3 from x",
        'select id3, max(v1) - min(v2) "range" from x group by all',
    ),
    Question(
        "largest two",
        "ungroup select v3:2 sublist desc v3 by id6 from x where not null v3",
        "select id6, v3 from x where v3 is not null qualify row_number() over (partition by id6 order by v3 desc) <= 2",
    ),
    Question(
        "square of a correlation",
        "select r2:(v1 cor v2) xexp 2 by id2,id4 from x",
        "select id2, id4, corr(v1, v2) ** 2 r2 from x group by all",
    ),
    Question(
        "sum and count by all ids",
        "select v:sum v3,n:count i by id1,id2,id3,id4,id5,id6 from x",
        "select id1, id2, id3, id4, id5, id6, sum(v3) v, count(*) n from x group by all",
    ),
)
JOINS = (
    Question(
        "small inner by a number",
        "l ij `id1 xkey select id1,r4:id4,v2 from small",
        "select l.*, s.id4 r4, s.v2 from l join small s using (id1)",
    ),
    Question(
        "medium inner by a number",
        "l ij `id2 xkey select id2,r1:id1,r4:id4,r5:id5,v2 from medium",
        "select l.*, m.id1 r1, m.id4 r4, m.id5 r5, m.v2 from l join medium m using (id2)",
    ),
    Question(
        "medium outer by a number",
        "l lj `id2 xkey select id2,r1:id1,r4:id4,r5:id5,v2 from medium",
        "select l.*, m.id1 r1, m.id4 r4, m.id5 r5, m.v2 from l left join medium m using (id2)",
    ),
    Question(
        "medium inner by a symbol",
        "l ij `id5 xkey select id5,r1:id1,r2:id2,r4:id4,v2 from medium",
        "select l.*, m.id1 r1, m.id2 r2, m.id4 r4, m.v2 from l join medium m using (id5)",
    ),
    Question(
        "large inner by a number",
        "l ij `id3 xkey select id3,r1:id1,r2:id2,r4:id4,r5:id5,r6:id6,v2 from big",
        "select l.*, b.id1 r1, b.id2 r2, b.id4 r4, b.id5 r5, b.id6 r6, b.v2 from l join big b using (id3)",
    ),
)


def grouped(rows, rng):
    def names(count):
        return Names(rng.integers(0, count, rows), [f"id{number:010}" for number in range(1, count + 1)])

    many = max(1, rows // GROUPS)
    return {
        "id1": names(GROUPS),
        "id2": names(GROUPS),
        "id3": names(many),
        "id4": rng.integers(1, GROUPS + 1, rows),
        "id5": rng.integers(1, GROUPS + 1, rows),
        "id6": rng.integers(1, many + 1, rows),
        "v1": rng.integers(1, 6, rows),
        "v2": rng.integers(1, 16, rows),
        "v3": np.round(rng.random(rows) * 100, 6),
    }


def joined(rows, rng):
    """Returns a left table and three right ones; nine in ten keys are also on the other side."""
    counts = {"id1": max(10, rows // 1_000_000), "id2": max(10, rows // 1_000), "id3": rows}

    def table(count, keys, left):
        columns = {}
        for key in keys:
            known = counts[key]
            # The left side has the lower nine tenths of the numbers and the next tenth; the right side has others.
            own = np.arange(known) + (0 if left else known // 10)
            numbers = np.resize(rng.permutation(own), count)
            columns[key] = rng.permutation(numbers) + 1
            text = "id" + str(int(key[2]) + 3)
            columns[text] = Names(columns[key] - 1, [f"id{number}" for number in range(1, known + known // 10 + 1)])
        return columns

    sides = {
        "l": table(rows, ("id1", "id2", "id3"), True),
        "small": table(counts["id1"], ("id1",), False),
        "medium": table(counts["id2"], ("id1", "id2"), False),
        "big": table(counts["id3"], ("id1", "id2", "id3"), False),
    }
    for name, columns in sides.items():
        columns["v1" if name == "l" else "v2"] = np.round(rng.random(len(columns["id1"])) * 100, 6)
    return sides


def main():
    parser = parser_of("h2o", "Group-bys and joins of db-benchmark.")
    parser.add_argument("--rows", type=int, default=1_000_000, help="(default: %(default)s)")
    options = parser.parse_args()
    rng = np.random.default_rng(1)
    tables = {"x": grouped(options.rows, rng)} | joined(options.rows, rng)

    def compare_in(folder):
        write_tables(folder / "tables", tables)
        duck = Duck(options.threads)
        for name, columns in tables.items():
            duck.load(name, columns)
        here = Here([options.programs / "peers_tables", "--dir", folder / "tables"], options.threads, folder)
        try:
            return compare(options, GROUP_BYS + JOINS, {"memory": here}, duck)
        finally:
            here.close()

    return run(options, compare_in)


if __name__ == "__main__":
    sys.exit(main())
