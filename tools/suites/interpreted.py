"""Suites of the package and of the project as a whole: they need what the first two suites make."""

import sys

from suites.run import ROOT, Run

# What starts many processes stands apart from "python": a fork of a process that has imported as
# much as that one has costs a third more.
CONTRACT = ["python/tests/torch_contract"]
PROCESSES = [
    "python/tests/test_workers.py",
    "python/tests/test_workers_policy.py",
    "python/tests/test_workers_sharing.py",
    "python/tests/test_workers_start_methods.py",
    "python/tests/test_autoscaler.py",
    "python/tests/test_migration.py",
    "python/tests/test_migration_added.py",
    "python/tests/test_accelerate_datasets.py",
    "python/tests/test_accelerate_ends.py",
    "python/tests/test_accelerate_index.py",
    "python/tests/test_accelerate_workers.py",
    "python/tests/test_accelerate_workers_imports.py",
    "python/tests/test_accelerate_workers_kept.py",
    "python/tests/test_kept_batches.py",
    "python/tests/test_large_orders.py",
    "python/tests/test_no_more_processes.py",
    "python/tests/test_torch_odd_objects.py",
    "python/tests/test_torch_seed.py",
]
# Whole scripts, and processes that die: long in a full run.
ENDINGS = ["python/tests/scripts", "tests/fault_matrix"]
STATES = [
    "python/tests/test_checkpointed_states.py",
    "python/tests/test_workers_bad_states.py",
    "python/tests/test_workers_resume.py",
    "python/tests/test_workers_resume_draws.py",
    "python/tests/test_workers_resume_numbers.py",
    "python/tests/test_own_state.py",
    "python/tests/test_own_state_watch.py",
    "python/tests/test_state_edges.py",
    "python/tests/test_state_edits.py",
    "python/tests/test_torch_state.py",
]
# A fork copies page tables, and huge pages have small ones: a sixth less work in these suites.
FORKS = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# They import so much that every fork in one process with them takes several times as long.
TRAINERS = [
    "python/tests/test_hf_loader.py",
    "python/tests/test_hf.py",
    "python/tests/test_docs.py",
    "python/tests/test_examples.py",
    "python/tests/test_recipes.py",
    "python/tests/test_streaming_datasets.py",
    "python/tests/text_lifting",
    "python/tests/trainers",
]
# They leave threads behind, and libraries that few trainings have in one process with torch's.
OTHERS = [
    "python/tests/test_jax.py",
    "python/tests/test_jax_devices.py",
    "python/tests/test_jax_on_device.py",
    "python/tests/test_tensorflow.py",
    "python/tests/test_tensorflow_import.py",
    "python/tests/test_tensorflow_keras.py",
    "python/tests/test_tensorflow_lift.py",
]


def _named(*kinds: str) -> list[str]:
    """Test files of these kinds that no list above has."""
    paths = [path for kind in kinds for path in sorted((ROOT / "python/tests").glob(f"{kind}*.py"))]
    names = [str(path.relative_to(ROOT)) for path in paths]
    return [path for path in names if path not in {*PROCESSES, *STATES, *TRAINERS, *OTHERS}]


# What watches a run and decides, and what it watches: budgets, storages, traces, scenarios.
CONTROL = _named(
    "test_calibration",
    "test_hold",
    "test_policy",
    "test_scenario",
    "test_simulation",
    "test_stats",
    "test_storage",
    "test_trace",
)
# What says where a training stalls, and what would help.
DIAGNOSIS = ["python/tests/monitor"]
DIAGNOSIS += _named("test_analysis", "test_analyze", "test_benchmarks", "test_doctor", "test_watch")
TEXT = ["python/tests/text", "python/tests/tokens", "python/tests/corpus"]
TEXT += _named("test_tokenizer")
PICTURES = _named("test_accelerate", "test_augment", "test_decode", "test_demo", "test_kernel")
PICTURES += _named("test_large_pictures", "test_torch_golden")


def packages(run: Run) -> None:
    """Install the packages that tests and checks need beside those that compile the core."""
    run.must("tools/setup.sh", "dev")
    run.counts.passed = 1


def layering(run: Run) -> None:
    """Check the includes against the order of the layers."""
    run.pytest("tests/layering")


def lint(run: Run) -> None:
    """Check style, types and what clang-tidy finds."""
    run.script("tools/lint.py", *(["--all"] if run.full else []))


def python(run: Run) -> None:
    """Test the Python package."""
    apart = ["tests/layering", *CONTRACT, *PROCESSES, *ENDINGS, *STATES, *TRAINERS, *OTHERS]
    apart += [*CONTROL, *DIAGNOSIS, *TEXT, *PICTURES]
    run.pytest("python/tests", "tests", *(f"--ignore={path}" for path in apart), **FORKS)


def control(run: Run) -> None:
    """Test what watches a run and decides: budgets, storages, policies, traces, scenarios."""
    run.pytest(*CONTROL)


def diagnosis(run: Run) -> None:
    """Test what says where a training stalls: watch, analyze, top, doctor, benchmarks."""
    run.pytest(*DIAGNOSIS, **FORKS)


def text(run: Run) -> None:
    """Test tokenizers, documents, and the rows that they are packed into."""
    run.pytest(*TEXT, **FORKS)


def pictures(run: Run) -> None:
    """Test decoding, and what is answered natively while Python code makes samples."""
    run.pytest(*PICTURES, **FORKS)


def trainers(run: Run) -> None:
    """Test trainers, examples and the code in the docs."""
    run.pytest(*TRAINERS, **FORKS)


def frameworks(run: Run) -> None:
    """Test the fronts of other frameworks."""
    run.pytest(*OTHERS, **FORKS)


def contract(run: Run) -> None:
    """Test what PyTorch's loader promises, on Python datasets."""
    run.pytest(*CONTRACT, **FORKS)


def processes(run: Run) -> None:
    """Test Python datasets in worker processes: memory, restarts, numbers of processes."""
    run.pytest(*PROCESSES, **FORKS)


def endings(run: Run) -> None:
    """Test how whole scripts begin and end, and what becomes of processes that die."""
    run.pytest(*ENDINGS, **FORKS)


def states(run: Run) -> None:
    """Test what loaders save of themselves, and what goes on from it."""
    run.pytest(*STATES, **FORKS)


def soak(run: Run) -> None:
    """Kill worker processes at random; every stream must come out exact."""
    minutes = "10" if run.full else "0.5"
    run.must(sys.executable, "tools/soak.py", "--minutes", minutes, PYTHONPATH="python")
    run.counts.passed = 1
