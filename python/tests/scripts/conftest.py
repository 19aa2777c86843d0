"""The process that runs generated scripts."""

import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture(scope="session")
def runner(torchvision, photos):
    assert torchvision
    from python.tests.scripts.runner import Runner

    process = Runner(PHOTOS=str(photos))
    yield process
    process.close()
