"""Scenario training-step: its arithmetic, its jobs on a tiny training, and its page."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from benchmarks.training_step import (  # noqa: E402
    curves,
    data,
    memory_of_a_step,
    page,
    plan_grid,
    tables,
    training,
)
from benchmarks.training_step.arms import ALL, ARMS, BASELINE, PIECES, STOCK, without  # noqa: E402
from benchmarks.training_step.tasks import Task  # noqa: E402
from python.tests.cells import some_full  # noqa: E402


def a_run(*qualities, seconds=1.0, samples=100.0):
    return {
        "curve": [[seconds * n, samples * n, quality] for n, quality in enumerate(qualities, 1)]
    }


def test_a_quality_is_reached_on_the_line_between_two_evaluations():
    crossing = curves.reached(a_run(0.5, 0.7, 0.9), 0.8, higher=True)
    assert crossing == curves.Reached(pytest.approx(2.5), pytest.approx(250.0), True)
    falling = curves.reached(a_run(4.0, 2.0, 3.0), 3.0, higher=False)
    assert falling == curves.Reached(1.5, 150.0, True)


def test_a_quality_that_the_first_evaluation_has_is_reached_there():
    assert curves.reached(a_run(0.9, 0.95), 0.8, higher=True) == curves.Reached(1.0, 100.0, True)


def test_a_run_that_never_gets_there_counts_with_its_length():
    assert curves.reached(a_run(0.5, 0.6), 0.8, higher=True) == curves.Reached(2.0, 200.0, False)


def test_the_target_is_half_a_per_cent_worse_than_the_mean_final_quality():
    runs = [a_run(0.1, 0.8), a_run(0.9)]
    assert curves.target(runs, higher=True) == pytest.approx(0.85 * 0.995)
    assert curves.target(runs, higher=False) == pytest.approx(0.85 * 1.005)


def test_the_cell_that_is_there_first_is_taken_and_else_the_best():
    cells = {
        "slow": a_run(0.6, 0.9, seconds=2.0),
        "fast": a_run(0.6, 0.8, 0.85, seconds=0.5),
        "never": a_run(0.1, 0.2, seconds=0.1),
    }
    assert curves.best(cells, 0.8, higher=True) == "fast"
    assert curves.best(cells, 0.99, higher=True) == "slow"
    assert curves.best(cells, 0.05, higher=False) == "never"


@pytest.mark.parametrize("gamma", [1.0, 1.7, 4.0, 10.0])
def test_gamma_is_found_from_the_step_that_it_gives(gamma):
    step = curves.step_time(0.3, 0.1, gamma)
    assert curves.fitted_gamma(0.3, 0.1, step) == pytest.approx(gamma, abs=1e-6)
    assert max(0.3, 0.1) <= step <= 0.3 + 0.1 + 1e-12


def test_steps_beyond_the_model_have_its_ends():
    assert curves.fitted_gamma(0.3, 0.1, 0.5) == 1.0
    assert curves.fitted_gamma(0.3, 0.1, 0.2) == 10.0


def test_a_ring_of_four_takes_half_as_long_again_as_one_of_two():
    assert curves.ring(0.2, 2, 4) == pytest.approx(0.3)


def test_a_sample_is_worth_less_in_a_larger_step_the_less_the_noise_is():
    assert plan_grid.efficiency(100.0, 32, 32) == 1.0
    assert plan_grid.efficiency(0.0, 64, 32) == 0.5
    assert plan_grid.efficiency(1e9, 64, 32) == pytest.approx(1.0)


def test_arms_differ_by_one_piece():
    assert ARMS[BASELINE].plain
    assert ARMS[STOCK].plain
    for piece in PIECES:
        arm, everything = without(piece), ARMS[ALL]
        differing = [each for each in PIECES if getattr(arm, each) != getattr(everything, each)]
        assert differing == [piece]


def a_task():
    draws = torch.Generator().manual_seed(1)
    rows = torch.randn(64, 8, generator=draws)
    labels = (rows.sum(1) > 0).long()
    return Task(
        "tiny",
        True,
        "accuracy",
        "linear",
        torch.utils.data.TensorDataset(rows, labels),
        [rows, labels],
        lambda: torch.nn.Sequential(*(torch.nn.Linear(8, 8) for _ in range(3))),
        lambda model, rate: torch.optim.SGD(model.parameters(), rate),
        lambda model, batch: torch.nn.functional.cross_entropy(model(batch[0]), batch[1]),
        lambda model, batch: (model(batch[0]).argmax(1) == batch[1]).sum(),
    )


@pytest.mark.parametrize("arm", some_full([BASELINE, STOCK, ALL, "all but loader"], BASELINE, ALL))
def test_a_training_has_a_curve(arm):
    report = training.train_task(
        a_task(),
        ARMS[arm],
        seed=1,
        batch=8,
        rate=0.1,
        samples=320,
        evaluations=4,
        held_out=64,
        workers=0,
        precision="fp32",
        device="cpu",
    )
    assert [point[1] for point in report["curve"]] == [80, 160, 240, 320]
    assert report["curve"][-1][0] == pytest.approx(report["seconds"])
    assert report["curve"][-1][2] > 0.6
    assert report["steps"] == 40 if ARMS[arm].plain else report["steps"] <= 40
    assert ("batches" in report) == ARMS[arm].batch


def test_every_cell_of_the_grid_is_measured():
    cells = plan_grid.goodputs(
        a_task(),
        torch.device("cpu"),
        noise_scale=16.0,
        reference=8,
        micro_batches=[4, 8],
        accumulations=[1, 2],
        seconds=0.0,
        precisions=["fp32"],
    )
    assert len(cells) == 8
    assert all(cell.goodput == cell.samples_per_s * cell.efficiency > 0 for cell in cells)
    assert plan_grid.best(cells).goodput == max(cell.goodput for cell in cells)
    assert {cell.efficiency for cell in cells if cell.micro_batch * cell.accumulation == 8} == {1.0}


def test_the_peak_is_the_most_that_lived_within_the_mark():
    def event(ts, total, size):
        return {"name": "[memory]", "ts": ts, "args": {"Total Allocated": total, "Bytes": size}}

    events = [
        event(1, 900, 900),
        event(2, 100, -800),
        {"name": memory_of_a_step._MARK, "ts": 3, "dur": 4},
        event(4, 300, 200),
        event(5, 250, -50),
        event(9, 800, 550),
    ]
    assert memory_of_a_step.peak_within(events) == 300


def built(job, device):
    torch.manual_seed(1)
    layers = [
        torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.GELU()).to(device) for _ in range(6)
    ]
    model = torch.nn.Sequential(*layers)
    inputs = torch.randn(job["batch"], 64, device=device)
    optimizer = torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)
    return model, optimizer, lambda: model(inputs).square().mean()


@pytest.mark.full
def test_a_limit_lowers_the_peak_of_a_step_that_is_measured(monkeypatch):
    monkeypatch.setitem(memory_of_a_step._BUILDERS, "tiny", built)
    job = {"model": "tiny", "batch": 2048, "device": "cpu"}
    plain = memory_of_a_step.run({**job, "limit": None})
    parameters = 6 * (64 * 64 + 64) * 4
    assert plain["peak_bytes"] > plain["step_bytes"] + 2 * parameters
    placed = memory_of_a_step.run({**job, "limit": int(0.7 * plain["step_bytes"])})
    assert placed["recomputed"] > 0
    assert placed["peak_bytes"] < plain["peak_bytes"]
    refused = memory_of_a_step.run({**job, "limit": 1000})
    assert "no placement keeps the step within" in refused["cannot"]


def test_no_paragraph_is_in_both_parts_of_the_text(tmp_path, monkeypatch):
    files = []
    for number in range(40):
        file = tmp_path / f"{number:02}.rst.txt"
        file.write_text(f"All have this.\n\nOnly {number}.\n\n\n\n")
        files.append(file)
    monkeypatch.setattr(data, "FOLDER", tmp_path)
    monkeypatch.setattr(data, "_sources", lambda: files)
    parts = [data.text(part).tobytes().decode().split("\n\n") for part in ("train", "held-out")]
    assert parts[1] == ["All have this.", "Only 0.", "Only 20."]
    assert len(parts[0]) == 38
    assert not set(parts[0]) & set(parts[1])
    assert data.windows(data.text("train"), 10).shape[1] == 10


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setattr(data, "_TEXTS", "no-such-folder/*")
    monkeypatch.setattr(data, "FOLDER", Path("/nonexistent"))
    with pytest.raises(OSError, match="apt-get install python3-doc"):
        data.text("train")


def a_result(reached=2):
    figure = {
        "batch": 64,
        "rate": 0.1,
        "samples_per_s": 1000.0,
        "seconds_to_target": 9.0,
        "samples_to_target": 9000.0,
        "reached": reached,
        "seeds": 2,
        "final_quality": 0.9,
        "steps": 100,
        "shares": {"wait": 0.01, "forward and backward": 0.9, "optimizer": 0.09},
        "batches": [[[0, 1], [40, 2]]],
        "scale": [123.4, None],
        "target": 0.9,
    }
    run = {**a_run(0.5, 0.8, 0.9), "seconds": 3.0, "samples": 300}
    arms = (BASELINE, STOCK, ALL)
    return {
        "date": "2026-01-01T00:00:00",
        "commit": "0123456789abcdef",
        "machine": {"cpu": "a <CPU>", "cores": 2},
        "figures": {
            "image_cpu": dict.fromkeys(arms, figure),
            "memory_gpt2_cpu": {
                "plain": {"peak_bytes": 5 << 20, "seconds": 1.0, "batch": 8},
                "within 30% of the step": {"cannot_run": "no placement"},
            },
            "cuda": {"everything": {"cannot_run": "torch sees no CUDA device here"}},
        },
        "rounds": {"image_cpu": {arm: [run, run] for arm in arms}},
        "ratios": {"time_image_cpu": 0.8, "efficiency_2_ranks_cpu": 0.9, "memory_gpt2_cpu": 0.7},
        "intervals": {"time_image_cpu": (0.7, 0.9)},
        "limits": {"memory_gpt2_cpu": 0.75},
        "wanted": {},
    }


def test_the_page_says_what_was_found_and_what_was_not_measured():
    text = page.html(a_result())
    assert "0.800 (0.700 to 0.900)" in text
    assert "Not measured: torch sees no CUDA device here." in text
    assert "a &lt;CPU&gt;" in text
    assert "1.0% wait, 90.0% forward and backward, 9.0% optimizer" in text
    assert "123, unknown samples" in text
    assert "1 from step 0, 2 from step 40" in text
    assert "Not every seed" not in text
    assert text.count("<svg") == 1


def test_the_page_names_arms_that_have_not_reached_the_target():
    assert "Not every seed has reached the target with: baseline" in page.html(a_result(reached=1))


def test_ratios_of_stand_ins_stand_in_one_table_and_the_others_in_another():
    content = a_result()
    assert [row[1:] for row in tables.ratios(content, "cpu")] == [["0.800 (0.700 to 0.900)", "-"]]
    assert tables.others(content) == [
        ["efficiency_2_ranks_cpu", "0.900", ""],
        ["memory_gpt2_cpu", "0.700", "at most 0.75"],
    ]
