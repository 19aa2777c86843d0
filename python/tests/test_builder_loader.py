import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

import drapps
from drapps.batch import PADDED, REPLACED


def train(photos, batch=4, **options):
    pipeline = drapps.image_folder(photos).random_resized_crop(32, scale=(0.3, 1.0)).flip()
    return pipeline.shuffle(7).seed(11).batch(batch, **options)


def drain(batches):
    """All rows in order: positions, indices, and the pixels."""
    copies = [{name: array.copy() for name, array in batch.numpy().items()} for batch in batches]
    if not copies:
        return [], [], np.zeros((0, 3, 32, 32), np.float32)
    join = {name: np.concatenate([batch[name] for batch in copies]) for name in copies[0]}
    return join["position"].tolist(), join["index"].tolist(), join["image"]


def test_an_epoch_holds_every_sample_once_and_len_counts_its_batches(photos):
    loader = train(photos)
    batches = list(loader)
    assert len(batches) == len(loader) == 6
    positions, indices, _ = drain(batches)
    assert positions == list(range(21))
    assert sorted(indices) == list(range(21))
    assert indices != list(range(21))


def test_drop_last_leaves_out_the_short_batch(photos):
    loader = train(photos, drop_last=True)
    assert len(loader) == 5
    assert [batch.rows for batch in loader] == [4] * 5


def test_each_iter_takes_the_next_epoch_and_set_epoch_pins_one(photos):
    loader = train(photos)
    first, second = drain(loader), drain(loader)
    assert first[1] != second[1]
    loader.set_epoch(0)
    again = drain(loader)
    assert again[1] == first[1]
    assert np.array_equal(again[2], first[2])
    assert drain(loader)[1] == second[1]


def test_what_decoding_learns_of_the_files_never_shows_in_a_batch(photos):
    taught = train(photos)
    coverage = []
    for epoch in range(4):
        fresh = train(photos)
        fresh.set_epoch(epoch)
        expected = drain(fresh)
        assert np.array_equal(drain(taught)[2], expected[2])
        coverage.append(taught.explain()["forms"]["jpeg_index"]["coverage"])
    assert coverage[0] > 0
    assert coverage == sorted(coverage)


def test_a_file_that_changes_between_epochs_is_read_as_it_is_now(photos, tmp_path):
    photos = shutil.copytree(photos, tmp_path / "photos")
    loader = train(photos)
    before = drain(loader)
    files = sorted(photos.glob("*/*.jpg"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    loader.set_epoch(0)
    after = drain(loader)
    assert np.array_equal(after[2], drain(train(photos))[2])
    assert not np.array_equal(after[2], before[2])


def test_a_break_consumes_its_epoch(photos):
    loader, other = train(photos), train(photos)
    for _ in loader:
        break
    other.set_epoch(1)
    assert drain(loader)[1] == drain(other)[1]


def test_live_iterators_do_not_disturb_each_other(photos):
    loader, other = train(photos), train(photos)
    expected = [drain(other), drain(other)]
    one, two = iter(loader), iter(loader)
    rows = ([], [])
    for _ in range(6):
        rows[0].append(next(one))
        rows[1].append(next(two))
    for batches, wanted in zip(rows, expected, strict=True):
        assert drain(batches)[1] == wanted[1]
        assert np.array_equal(drain(batches)[2], wanted[2])


def test_a_batch_is_a_mapping_of_writable_tensors(photos):
    batch = next(iter(train(photos)))
    assert {"image", "label", "index", "position", "flags"} <= set(batch)
    assert "image: float32[4, 3, 32, 32]" in repr(batch)
    image = np.asarray(batch["image"])
    image += 1
    assert np.array_equal(batch.numpy()["image"], image)
    with pytest.raises(KeyError):
        batch["picture"]


def test_numpy_and_torch_give_the_same_batches(photos):
    torch = pytest.importorskip("torch")
    loader = train(photos)
    arrays = [{name: array.copy() for name, array in batch.items()} for batch in loader.numpy()]
    loader.set_epoch(0)
    for wanted, tensors in zip(arrays, loader.torch(), strict=True):
        assert isinstance(tensors["image"], torch.Tensor)
        assert tensors["label"].dtype == torch.int64
        for name, array in wanted.items():
            assert np.array_equal(tensors[name].numpy(), array)


def test_bfloat16_is_named_where_numpy_cannot_have_it(photos):
    torch = pytest.importorskip("torch")
    loader = drapps.image_folder(photos).center_crop(16).to("bfloat16").batch(2)
    with pytest.raises(TypeError, match="bfloat16"):
        next(loader.numpy())
    assert next(loader.torch())["image"].dtype == torch.bfloat16


def test_the_state_at_every_step_gives_the_identical_remainder_in_a_new_process(photos, tmp_path):
    loader = train(photos)
    states, batches = [loader.state_dict()], []
    iterator = iter(loader)
    for batch in iterator:
        batches.append({name: array.copy() for name, array in batch.numpy().items()})
        states.append(loader.state_dict())
        assert iterator.state_dict() == states[-1] or len(batches) == len(loader)
    assert all(len(json.dumps(state)) <= 4096 for state in states)
    expected = [array["image"] for array in batches]
    expected_next = [batch.numpy()["image"].copy() for batch in loader]
    np.savez(tmp_path / "expected.npz", *expected, *expected_next)
    (tmp_path / "states.json").write_text(json.dumps(states))
    script = """
import json, sys
import numpy as np
import drapps
photos, work = sys.argv[1:]
expected = list(np.load(work + "/expected.npz").values())
for taken, state in enumerate(json.load(open(work + "/states.json"))):
    loader = drapps.image_folder(photos).random_resized_crop(32, scale=(0.3, 1.0)).flip()
    loader = loader.shuffle(7).seed(11).batch(4)
    loader.load_state_dict(state)
    loader.set_epoch(state["epoch"])
    rows = [b["image"].copy() for b in loader.numpy()]
    if taken < 6:
        assert len(rows) == 6 - taken, (taken, len(rows))
        rows += [b["image"].copy() for b in loader.numpy()]
        wanted = expected[taken:]
    else:
        wanted = expected[6:]
    assert len(rows) == len(wanted)
    assert all(np.array_equal(a, b) for a, b in zip(rows, wanted)), taken
print("identical")
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(photos), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.strip() == "identical", done.stderr


def test_a_state_continues_at_another_batch_size(photos):
    loader = train(photos)
    iterator = iter(loader)
    next(iterator)
    state = loader.state_dict()
    rest = drain(iterator)
    other = train(photos, batch=3)
    other.load_state_dict(state)
    remainder = drain(other)
    assert remainder[:2] == rest[:2]
    assert np.array_equal(remainder[2], rest[2])


def test_a_state_is_not_believed_unchecked(photos, own_photos):
    state = train(photos).state_dict()
    loader = train(photos)
    with pytest.raises(drapps.PipelineError, match=r"kind is None, not 'drapps\.Loader'"):
        loader.load_state_dict({"epoch": 1})
    with pytest.raises(drapps.PipelineError, match=r"kind is 'list', not 'drapps\.Loader'"):
        loader.load_state_dict([])
    with pytest.raises(drapps.PipelineError, match="version 99"):
        loader.load_state_dict({**state, "version": 99})
    with pytest.raises(drapps.PipelineError, match="lacks 'size'"):
        loader.load_state_dict({name: state[name] for name in state if name != "size"})
    with pytest.raises(drapps.PipelineError, match="position is -1"):
        loader.load_state_dict({**state, "position": -1})
    with pytest.raises(drapps.PipelineError, match="behind the 21 samples"):
        loader.load_state_dict({**state, "position": 22})
    with pytest.raises(drapps.PipelineError, match="another stream: its seed is 11"):
        drapps.image_folder(photos).random_resized_crop(32, scale=(0.3, 1.0)).flip().shuffle(
            7
        ).seed(12).batch(4).load_state_dict(state)
    (own_photos / "class_0" / "00.jpg").unlink()
    with pytest.raises(drapps.PipelineError, match="its size is 21, this loader's is 20"):
        train(own_photos).load_state_dict(state)


def test_another_epoch_than_the_resumed_one_starts_at_its_beginning(photos):
    loader = train(photos)
    next(iter(loader))
    state = loader.state_dict()
    fresh = train(photos)
    fresh.load_state_dict(state)
    fresh.set_epoch(3)
    assert drain(fresh)[0] == list(range(21))


def test_a_bad_sample_raises_by_name_and_the_iteration_goes_on(own_photos):
    bad = own_photos / "class_1" / "02.jpg"
    bad.write_bytes(bad.read_bytes()[:200])
    loader = drapps.image_folder(own_photos).center_crop(32).batch(4)
    iterator = iter(loader)
    assert [next(iterator).rows for _ in range(2)] == [4, 4]
    with pytest.raises(drapps.SampleError, match="decode: ") as caught:
        next(iterator)
    assert (caught.value.path, caught.value.index) == (str(bad), 9)
    assert [batch.rows for batch in iterator] == [4, 4, 1]
    assert [entry["index"] for entry in loader.bad_samples()] == [9]


def test_skip_drops_the_row_and_replace_fills_it(own_photos):
    bad = own_photos / "class_1" / "02.jpg"
    bad.write_bytes(b"")
    pipeline = drapps.image_folder(own_photos).center_crop(32)
    skipped = list(pipeline.on_error("skip").batch(4))
    assert [batch.rows for batch in skipped] == [4, 4, 3, 4, 4, 1]
    replaced = list(pipeline.on_error("replace").batch(4))
    assert [batch.rows for batch in replaced] == [4, 4, 4, 4, 4, 1]
    flags = np.concatenate([np.asarray(batch["flags"]) for batch in replaced])
    assert np.flatnonzero(flags & REPLACED).tolist() == [9]


def test_ranks_take_equal_steps_and_pad_flags_what_it_repeats(photos):
    for remainder, rows in (("even", 21), ("pad", 24), ("drop", 16)):
        shares = [
            list(drapps.image_folder(photos).center_crop(16).shard(r, 2, remainder).batch(4))
            for r in (0, 1)
        ]
        assert len(shares[0]) == len(shares[1])
        both = shares[0] + shares[1]
        flags = np.concatenate([np.asarray(batch["flags"]) for batch in both])
        indices = np.concatenate([np.asarray(batch["index"]) for batch in both])
        assert len(indices) == rows
        kept = indices[(flags & PADDED) == 0].tolist()
        assert len(kept) == len(set(kept)) == min(rows, 21)


def test_settings_are_exported_and_taken_back(photos):
    loader = train(photos, policy="hill_climb", cpu_budget=2, ram_budget=512 << 20)
    list(loader)
    assert {"plan", "forms", "decisions"} <= set(loader.explain())
    loader.freeze()
    settings = loader.export_settings()
    again = train(photos, settings=settings)
    assert again.export_settings() == settings
    assert np.array_equal(drain(again)[2], drain(train(photos))[2])


def test_weights_are_shares_or_caps(photos):
    settings = train(photos).export_settings()
    settings["knobs"]["fused"] = 0
    loaders = [train(photos, settings=settings, weights=weights) for weights in ("share", "cap")]
    assert [loader.explain()["plan"]["weights"] for loader in loaders] == ["share", "cap"]
    shared, capped = (drain(loader)[2] for loader in loaders)
    assert np.array_equal(shared, capped)
    with pytest.raises(drapps.PipelineError, match='weights="most" must be'):
        train(photos, weights="most")


def test_more_ranks_than_samples_are_refused_at_the_users_line(photos):
    pipeline = drapps.image_folder(photos).center_crop(16)
    with pytest.raises(drapps.PipelineError, match="rank"):
        pipeline.shard(0, 22, "even").batch(1)
    assert len(pipeline.shard(0, 22, "pad").batch(1)) == 1


def test_an_abandoned_iterator_gives_its_memory_back_and_is_remembered(photos):
    loader = train(photos)
    before = loader.memory()["used"] - loader.explain()["forms"]["jpeg_index"]["bytes"]
    iterator = iter(loader)
    next(iterator)
    assert loader.memory()["used"] > before
    iterator.close()
    learnt = loader.explain()["forms"]["jpeg_index"]["bytes"]
    del iterator
    assert loader.memory()["used"] <= before + learnt
    assert loader.state_dict()["position"] == 4
