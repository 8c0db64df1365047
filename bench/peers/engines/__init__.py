"""The systems that are compared, by name. A module is imported only where its system is asked, since each one
runs in a separate process."""

import importlib
import shutil

MODULES = ("duckdb", "polars", "pandas", "chdb", "questdb", "numpy")


def layouts(name):
    """Returns the layouts that a system's tables may have (day.py). QuestDB keeps tables in the order of time;
    numpy shows what can be done by hand on a sorted day."""
    return {"questdb": ("captured",), "numpy": ("sorted",)}.get(name, ("captured", "sorted"))


def missing(name):
    """Returns what this machine lacks for a system to take part; None if nothing."""
    programs = {"questdb": ("java", "mvn")}.get(name, ())
    return next((f"no `{program}`" for program in programs if shutil.which(program) is None), None)


def load(name):
    """Returns the class of a system. Its constructor takes (day, questions, layout, threads, folder). It has
    `version()`; `lines()`: functions by line name, each of which returns an answer that is complete in memory;
    `columns(name, answer)`: that answer as arrays by name; and `close()`."""
    return importlib.import_module(f"bench.peers.engines.{name}_engine").Engine
