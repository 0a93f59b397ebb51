"""Fixtures of the tests that need packages beyond tools/requirements.txt (tools/packages.txt)."""

import pytest

NOTES = pytest.StashKey[list]()


@pytest.fixture(scope="session")
def note(pytestconfig):
    """A function that puts a line among the figures, which are printed after all tests."""
    return pytestconfig.stash.setdefault(NOTES, []).append


def pytest_terminal_summary(terminalreporter, config):
    if notes := config.stash.get(NOTES, []):
        terminalreporter.section("figures")
        for line in notes:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def _nodes():
    pytest.importorskip("ray")
    from ray_cluster import ThreeNodes

    nodes = ThreeNodes()
    yield nodes
    nodes.close()


@pytest.fixture
def cluster(_nodes):
    """Three nodes, of which an earlier test may have killed some, which are replaced."""
    _nodes.complete()
    return _nodes
