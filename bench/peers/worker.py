"""One system in a process of its own: it creates its tables, then reads requests from standard input, one JSON
object per line, and answers on standard output.

    {"run": LINE}                    -> {"ns": ...}: one answer, complete in memory; freeing it is not timed
    {"summarise": LINE, "path": P}   -> an answers.Summary

    python -m bench.peers.worker SYSTEM LAYOUT DIR THREADS FOLDER
"""

import gc
import json
import os
import sys
import time
import warnings

from bench.peers import answers, engines
from bench.peers.day import Day
from bench.peers.lines import questions


def main(system, layout, directory, threads, folder):
    # Output of libraries must not be mistaken for answers.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    def reply(message):
        print(json.dumps(message), file=replies, flush=True)

    day = Day(directory)
    asked = questions(day)
    begin = time.perf_counter_ns()
    engine = engines.load(system)(day, asked, layout, int(threads), folder)
    lines = engine.lines()
    gc.freeze()
    reply({"version": engine.version(), "lines": list(lines), "load_ns": time.perf_counter_ns() - begin})
    for command in map(json.loads, sys.stdin):
        try:
            if "run" in command:
                begin = time.perf_counter_ns()
                answer = lines[command["run"]]()
                reply({"ns": time.perf_counter_ns() - begin})
            else:
                name = command["summarise"]
                answer = lines[name]()
                reply(answers.summarise(asked[name], engine.columns(name, answer), command["path"]).as_json())
            del answer
        except Exception as error:  # pylint: disable=broad-except
            # What a system cannot do is a line of the report, not the end of it.
            reply({"error": f"{type(error).__name__}: {error}"})
    engine.close()
    # Exits without the interpreter's shutdown: some libraries print many complaints there.
    replies.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
