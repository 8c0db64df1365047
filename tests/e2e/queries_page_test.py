#!/usr/bin/env python3
"""The queries of docs/queries.toml on the real ticks of a day, each with the answer that DuckDB gives to its SQL, also
through a gateway; and that docs/queries.md shows what is asked and answered. Run by run_duckdb_test.sh, which installs DuckDB. `--write` writes the page.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import duckdb_archives, query_page, stack  # noqa: E402
from tests.support.real_day import DATE, RealDayTest  # noqa: E402

WRITE = "--write" in sys.argv
if WRITE:
    sys.argv.remove("--write")


class QueriesPageTest(RealDayTest):
    maxDiff = None
    RDBS = ("rdb", "rdb2")
    MORE_PROCESSES = """
[[rdb]]
name = "rdb2"
port = 5016
[hdb]
[eod]
[gateway]
"""

    def setUp(self):
        super().setUp()
        duckdb_archives.use_ticks(self.database, DATE)
        self.queries = [query for section in query_page.source()["section"] for query in section["query"]]
        self.assertGreaterEqual(len(self.queries), 50)
        self.assertEqual(len(self.queries), len({query["title"] for query in self.queries}), "titles")

    def test_answers_are_duckdbs_and_the_page_shows_them(self):
        answers = {}
        for query in self.queries:
            with self.subTest(query["title"]):
                query_page.compare(query, query_page.ask(self.rdb, query["q"]), self.database)
                answers[query["title"]] = query_page.shown(self.running.port("rdb"), query["q"])
        with self.running.connect("gateway") as gateway:
            for query in self.queries:
                with self.subTest(query["title"], through="a gateway"):
                    query_page.compare(query, query_page.ask(gateway, query["q"]), self.database)
            replicas = gateway.call(".gateway.replicas[]")
        asked = dict(zip(replicas["address"], replicas["answers"]))
        self.assertTrue(all(asked[f"127.0.0.1:{self.running.port(rdb)}"] > 0 for rdb in self.RDBS), asked)
        if len(answers) < len(self.queries):
            return  # Those that failed have been reported.
        page = query_page.page(answers)
        if WRITE:
            query_page.PAGE.write_text(page + self.times())
        self.assertEqual(page, query_page.PAGE.read_text().partition(query_page.TIMES_TITLE)[0],
                         "docs/queries.md is not what `make queries-page` writes")

    def times(self):
        lines = [query_page.TIMES_TITLE, "", query_page.source()["times"].strip(), "", "| query | tickstack | DuckDB |", "|---|--:|--:|"]
        for query in self.queries:
            ours = query_page.best_ms(lambda: query_page.ask(self.rdb, query["q"]))
            theirs = query_page.best_ms(lambda: self.database.execute(query["sql"]).fetchnumpy())
            lines.append(f"| {query['title']} | {ours:,.1f} ms | {theirs:,.1f} ms |")
        return "\n".join(lines) + "\n"


if __name__ == "__main__":
    stack.main()
