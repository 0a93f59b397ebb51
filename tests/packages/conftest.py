"""Fixtures of the tests that need packages beyond tools/requirements.txt (tools/packages.txt)."""

import pytest


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
