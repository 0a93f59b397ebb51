"""Shared set-up of the tests in this folder: the summaries at the end of a run, also of one with several workers (pytest-xdist)."""

import os
import signal

import backend_report
import export_report
import native_report
import pytest

# A shell without job control starts background commands with SIGINT ignored; tests of Ctrl-C need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("RONDEL_VERIFY", "1")  # graphs are verified after every pass
os.environ.setdefault("RONDEL_CACHE_DIR", "off")  # what is tested is compiled; tests of the cache have folders of their own


REPORTS = {"onnx backend suite": backend_report, "export": export_report, "native loops": native_report}


def pytest_configure(config):
    config.addinivalue_line("markers", "onnx_coverage: set by onnx's own test runner")


def pytest_sessionfinish(session):
    """A worker sends its counts to the process that prints the summaries."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["reports"] = {title: report.counts() for title, report in REPORTS.items()}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node, error):
    for title, counted in getattr(node, "workeroutput", {}).get("reports", {}).items():  # a worker that crashed sends none
        REPORTS[title].add(counted)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    for title, report in REPORTS.items():
        lines = report.summary()
        if lines:
            terminalreporter.section(title)
        for line in lines:
            terminalreporter.write_line(line)
