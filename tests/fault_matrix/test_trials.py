"""Faults beyond the matrix: what users see of them, and that nothing is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from python.tests.cells import full
from tests.fault_matrix.harness import Harness


@pytest.fixture(scope="module")
def tried(harness: Harness, request: pytest.FixtureRequest) -> Iterator[dict[str, Future[object]]]:
    """All trials that are asked for, some at a time: they wait most of their time."""
    chosen = [
        item.callspec.params["trial"]
        for item in request.session.items
        if item.module is request.module
    ]
    with ThreadPoolExecutor(2 + (os.cpu_count() or 1)) as pool:
        yield {trial: pool.submit(harness.run, trial) for trial in chosen}


@pytest.mark.parametrize(
    "trial",
    # The contract has two loaders, a fork of the parent and workers in workers in any run.
    [
        "a_silent_next_logs_all_stacks",
        full("a_stall_report_spares_what_is_starting"),
        "a_stall_report_spares_what_is_prepared",
        "a_stall_report_tells_of_a_stopped_worker",
        "ending_a_worker_names_code_and_sample",
        "a_sample_that_kills_each_process_is_named",
        "processes_that_cannot_start_end_it",
        "workers_that_die_together_are_not_confused",
        "exceptions_keep_type_and_traceback",
        "the_first_bad_sample_of_a_batch_is_raised",
        "what_cannot_be_sent_is_named_by_its_path",
        "few_descriptors_and_little_shared_memory",
        full("a_fork_of_the_parent_changes_nothing"),
        "a_thread_that_ends_takes_no_worker_along",
        full("workers_have_no_workers"),
        full("two_loaders_at_once"),
        full("hundreds_of_iterators_leave_no_descriptor"),
        "an_exit_ends_a_stopped_worker",
        "a_loader_in_a_daemon_thread_does_not_hold_up_the_exit",
        "an_interrupted_shutdown_leaves_nothing",
        "a_serial_pass_that_is_left_is_made_to_its_window",
    ],
)
def test_trial(trial: str, tried: dict[str, Future[object]]) -> None:
    tried[trial].result()
