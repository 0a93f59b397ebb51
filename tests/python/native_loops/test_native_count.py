"""The number of loops and ifs that run natively as a whole, which may only rise.

A commit that raises the number also raises `LEAST`. The summary of a test run lists why other loops do not run natively.
"""

import importlib
import pathlib
import sys
import warnings

import native_report
import rondel
from models import model, ops_of
from programs import random_program
from backend_suite import cases, model_of

LEAST = {"backend suite": 33, "models of the tests": 58, "random programs": 3184}  # of the loops that are left to run (of the last 3,186, without those that only give a stack that nothing reads)
CONTROL = {"Loop", "Scan", "If"}


def count(models, sources):
    for source in sources:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rondel.ModelWarning)
            report = rondel.inspect(source)
        native_report.note(models, [found["execution"] for found in report.loops + report.branches])
    native = native_report.native[models]
    assert native >= LEAST[models], f"{native} run natively, where {LEAST[models]} did"


def texts_of_tests():
    """Models with a loop or an if among the string constants of the test modules."""
    for path in sorted(pathlib.Path(__file__).parents[1].glob("*/test_*.py")):
        if str(path.parent) not in sys.path:
            sys.path.append(str(path.parent))  # for what its test modules share
        module = importlib.import_module(path.stem)
        for name, value in sorted(vars(module).items()):
            if isinstance(value, str) and "=>" in value and any(f"{op} (" in value or f"{op} <" in value for op in CONTROL):
                try:
                    yield model(value)
                except Exception:
                    continue  # not a complete model


def test_backend_suite():
    found = [model_of(case) for _, case in cases().values()]
    count("backend suite", [m for m in found if ops_of(m) & CONTROL])


def test_models_of_the_tests():
    count("models of the tests", texts_of_tests())


def test_random_programs():
    count("random programs", (random_program(seed)[0] for seed in range(1000)))
