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


class NodeTest(stack.StackTest):
    def test_it_evaluates_and_explores(self):
        running = self.start_stack("[tickerplant]\nbatch_ms = 10\n[[rdb]]\n", "--date", "2020.03.09")
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
