#!/usr/bin/env python3
"""node-q, the client of editors: it evaluates texts through a lambda that traps errors with their trace, and asks
for each namespace's tables, functions and variables. Run by run_clients_test.sh, which installs it; NODE_PATH is
its path."""

import json
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from tests.support import stack  # noqa: E402
from tests.support.secured import PASSWORD, SecuredTest  # noqa: E402

CONFIG = "[tickerplant]\nbatch_ms = 10\n[[rdb]]\n"

SCRIPT = r"""
const nodeq = require("node-q");
const evaluate = "{[space;text;format] before:string system\"d\";system\"d \",space;" +
  "r:.Q.trp[{`result`failed`error`trace!(value x;0b;\"\";())};\"[::;\",text,\"]\";" +
  "{`result`failed`error`trace!(::;1b;x;.Q.sbt y)}];system\"d \",before;" +
  "if[(not r`failed)&format~\"text\";r[`result]:.Q.s r`result];r}";
const names = "{x!{`tables`functions`variables!system each\"afv\",\\:\" \",string x}each x}` sv'`,'key`";
nodeq.connect({host: "127.0.0.1", port: +process.argv[1]}, async (error, client) => {
  if (error) throw error;
  const ask = (...args) => new Promise((done) => client.k(...args, (failure, answer) => done(failure ? "'" + failure.message : answer)));
  const answers = [];
  for (const text of ["1+1", "double:{x*2}", "double each\n til 3", "t:([]a:1 2;b:`x`y)", "t", "1+`a", "tables[]"]) {
    answers.push(await ask(evaluate, ".", text, "text"));
  }
  console.log(JSON.stringify({answers, names: await ask(names), reserved: await ask(".Q.res")}));
  client.close();
});
"""


# Logs in, publishes a row and reads it; or prints the error of the login. Then a text that the user may not evaluate.
LOGIN = r"""
const nodeq = require("node-q");
const [tickerplant, rdb, user, password, ca] = process.argv.slice(1);
const tls = ca ? {useTLS: true, ca: require("fs").readFileSync(ca)} : {};
const connect = (port, use) => nodeq.connect({host: "127.0.0.1", port: +port, user, password, ...tls}, (error, client) => {
  if (error) return console.log(JSON.stringify({error: error.message}));
  use((...args) => new Promise((done) => client.k(...args, (failure, answer) => done(failure ? "'" + failure.message : answer))), client);
});
connect(tickerplant, async (publish, feed) => connect(rdb, async (ask, reader) => {
  const published = await publish('.u.upd[`trade;(0Np;`IBM;101.5;100i;0b;"@";"N")]');
  let rows = [];
  while (published === null && rows.length === 0) rows = await ask("select sym,price from trade");
  console.log(JSON.stringify({published, rows, counted: await ask("count trade")}));
  feed.close();
  reader.close();
}));
"""


class SecuredNodeTest(SecuredTest):
    def log_in(self, running, user, password, *ca):
        done = subprocess.run(["node", "-e", LOGIN, "--", str(running.port("tickerplant")), str(running.port("rdb")), user,
                               password, *ca], capture_output=True, text=True, timeout=60)
        self.assertEqual("", done.stderr)
        return json.loads(done.stdout)

    def check_client(self, running, *ca):
        stack.wait_until(lambda: self.log_in(running, "reader", PASSWORD, *ca)["counted"] ==
                         "'access: reader may not query trade", what="the tables in the rdb")
        refused = self.log_in(running, "client", "wrong", *ca)
        self.assertEqual({"error": "Connection closes (wrong auth?)"}, refused)
        self.assertIn("access: reader may not call .u.upd", self.log_in(running, "reader", PASSWORD, *ca)["published"])
        seen = self.log_in(running, "client", PASSWORD, *ca)
        self.assertEqual({"published": None, "rows": [{"sym": "IBM", "price": 101.5}], "counted": 1}, seen)

    def test_it_logs_in(self):
        self.check_client(self.start_secured(CONFIG, users=True, tls=False))

    def test_it_logs_in_over_tls(self):
        running = self.start_secured(CONFIG, users=True, tls=True)
        self.check_client(running, self.certificates.path("ca.pem"))
        self.certificates.issue_root("other_ca")
        refused = self.log_in(running, "client", PASSWORD, self.certificates.path("other_ca.pem"))
        self.assertRegex(refused["error"], "certificate")
        self.assertIn("error", self.log_in(running, "client", PASSWORD), "without TLS")


class NodeTest(stack.StackTest):
    def test_it_evaluates_and_explores(self):
        running = self.start_stack(CONFIG, "--date", "2020.03.09")
        done = subprocess.run(["node", "-e", SCRIPT, "--", str(running.port("rdb"))], capture_output=True, text=True, timeout=60)
        self.assertEqual("", done.stderr)
        seen = json.loads(done.stdout)
        texts = [answer["result"] for answer in seen["answers"]]
        self.assertEqual("2\n", texts[0])
        self.assertEqual("0 2 4\n", texts[2])
        self.assertEqual("a b\n---\n1 x\n2 y\n", texts[4])
        self.assertTrue(seen["answers"][5]["failed"])
        self.assertEqual("type", seen["answers"][5]["error"])
        self.assertIn("1+`a", seen["answers"][5]["trace"])
        self.assertIn("`t", texts[6])
        self.assertIn("stats", seen["names"][".rdb"]["functions"])
        self.assertIn("within", seen["reserved"])


if __name__ == "__main__":
    unittest.main()
