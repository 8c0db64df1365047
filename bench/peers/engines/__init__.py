"""The systems that are compared, by name. A module is imported only where its system is asked: each runs
in a process of its own."""

import importlib
import shutil

MODULES = ("duckdb", "polars", "pandas", "chdb", "questdb", "numpy")


def layouts(name):
    """What a system's tables may be: see day.py. QuestDB keeps tables in order of time; numpy is there for
    what can be done by hand, once somebody has sorted the day."""
    return {"questdb": ("captured",), "numpy": ("sorted",)}.get(name, ("captured", "sorted"))


def missing(name):
    """What this machine lacks for a system to take part; None if nothing."""
    programs = {"questdb": ("java", "mvn")}.get(name, ())
    return next((f"no `{program}`" for program in programs if shutil.which(program) is None), None)


def load(name):
    """The class of a system. It is made with (day, questions, layout, threads, folder), has
    `version()`, `lines()`: functions by the name of the line, each returning an answer that is
    complete in memory, `columns(name, answer)`: that answer as arrays by name, and `close()`."""
    return importlib.import_module(f"bench.peers.engines.{name}_engine").Engine
