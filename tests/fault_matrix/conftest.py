"""One zygote for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fault_matrix.harness import Harness


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    """Starts sessions of processes."""
    sessions = Harness(tmp_path_factory.mktemp("faults"))
    yield sessions
    sessions.close()
