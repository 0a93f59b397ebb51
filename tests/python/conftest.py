"""What the tests of this folder share: the summary of onnx's backend suite at the end of a run."""

import backend_report
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "onnx_coverage: set by onnx's own test runner")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    lines = backend_report.summary()
    if lines:
        terminalreporter.section("onnx backend suite")
        for line in lines:
            terminalreporter.write_line(line)
