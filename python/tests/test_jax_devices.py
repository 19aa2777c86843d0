"""Several devices: XLA reads how many there are once, so each test has processes of its own."""

import os
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import drapps

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.jax
needs_jax = pytest.mark.usefixtures("jax")


@pytest.fixture
def jax():
    return pytest.importorskip("jax")


PRELUDE = """
import json, sys, warnings
import numpy as np
warnings.simplefilter("error")
import drapps, drapps.jax, jax
from jax.sharding import NamedSharding, PartitionSpec as P
photos = sys.argv[1]
def make(batch=8, **options):
    pipeline = drapps.image_folder(photos).random_resized_crop(32).shuffle(seed=3)
    return pipeline.batch(batch, **options)
def error(function):
    try:
        function()
    except drapps.PipelineError as raised:
        return str(raised)
    raise AssertionError("nothing was raised")
"""


def run(script, *words, devices=8, expect=0):
    script = "devices = np.array(jax.devices())\n" + textwrap.dedent(script)
    done = start(script, *words, devices=devices)
    output, _ = done.communicate(timeout=600)
    assert done.returncode == expect, output
    return output


def start(script, *words, devices=8):
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(script), *map(str, words)],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), *sys.path]),
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@needs_jax
def test_batches_are_cut_over_eight_devices(photos):
    run(
        """
        mesh = jax.sharding.Mesh(devices.reshape(4, 2), ("data", "model"))
        sharding = NamedSharding(mesh, P("data"))
        loader = drapps.jax.Loader(make(drop_last=True), sharding)
        expected = list(make(drop_last=True).numpy())
        kept = list(loader)
        assert len(kept) == len(expected) == 2
        for batch, host in zip(kept, expected):
            for name, array in batch.items():
                assert array.sharding.is_equivalent_to(sharding, array.ndim), name
                assert array.shape == host[name].shape
                assert np.array_equal(np.asarray(array), host[name]), name
                for shard in array.addressable_shards:
                    assert shard.data.shape[0] == 2
                    assert np.array_equal(np.asarray(shard.data), host[name][shard.index]), name
        # all shards of a picture column are views of one batch
        shards = kept[0]["image"].addressable_shards
        starts = sorted({shard.data.unsafe_buffer_pointer() for shard in shards})
        assert np.diff(starts).tolist() == [2 * 3 * 32 * 32 * 4] * 3, starts
        total = jax.jit(lambda x: x.sum())(kept[0]["image"])
        assert abs(float(total) - expected[0]["image"].sum()) < 1e-2 * abs(float(total))
        """,
        photos,
    )


@needs_jax
def test_a_column_of_fewer_dimensions_takes_the_beginning_of_the_spec(photos):
    run(
        """
        mesh = jax.sharding.Mesh(devices.reshape(4, 2), ("data", "model"))
        sharding = NamedSharding(mesh, P("data", None, "model"))
        loader = drapps.jax.Loader(make(drop_last=True), sharding)
        batch = next(iter(loader))
        assert batch["image"].addressable_shards[0].data.shape == (2, 3, 16, 32)
        assert batch["label"].addressable_shards[0].data.shape == (2,)
        whole = NamedSharding(mesh, P())
        (lone,) = drapps.jax.Loader([{"x": np.float32(3)}], NamedSharding(mesh, P("data")))
        assert lone["x"].sharding.is_equivalent_to(whole, 0) and float(lone["x"]) == 3
        odd = drapps.jax.Loader(make(), whole)
        assert [len(batch["label"]) for batch in odd] == [8, 8, 5]
        both = NamedSharding(mesh, P(("data", "model")))
        assert next(iter(drapps.jax.Loader(make(drop_last=True), both)))["flags"].shape == (8,)
        """,
        photos,
    )


@needs_jax
def test_a_last_batch_that_cannot_be_cut_raises_before_the_first(photos):
    run(
        """
        sharding = NamedSharding(jax.sharding.Mesh(devices, "data"), P("data"))
        message = error(lambda: iter(drapps.jax.Loader(make(), sharding)))
        assert "5 rows" in message and "8 parts" in message
        assert "drop_last=True" in message and "pad" in message
        padded = drapps.image_folder(photos).center_crop(32).shard(0, 1, remainder="pad").batch(8)
        flags = [np.asarray(b["flags"]) for b in drapps.jax.Loader(padded, sharding)]
        assert [len(f) for f in flags] == [8, 8, 8] and sum(f.sum() for f in flags) == 3
        # from here on what is left does divide, and then it does not
        host = make()
        it = iter(host); next(it)
        state = host.state_dict()
        five = NamedSharding(jax.sharding.Mesh(devices[:5], "data"), P("data"))
        other = make(batch=10); other.load_state_dict({**state, "position": 6})
        assert [len(b["label"]) for b in drapps.jax.Loader(other, five)] == [10, 5]
        assert "1 rows" in error(lambda: iter(drapps.jax.Loader(other, five)))
        skip = drapps.image_folder(photos).center_crop(32).on_error("skip").batch(7)
        seven = NamedSharding(jax.sharding.Mesh(devices[:7], "data"), P("data"))
        assert "replace" in error(lambda: iter(drapps.jax.Loader(skip, seven)))
        one = NamedSharding(jax.sharding.Mesh(devices[:1], "data"), P("data"))
        assert len(list(drapps.jax.Loader(skip, one))) == 3
        # other loaders: in its turn
        batches = [np.zeros((8, 2)), np.zeros((5, 2)), np.ones((16, 2))]
        it = iter(drapps.jax.Loader(batches, sharding))
        assert next(it).shape == (8, 2)
        message = error(lambda: next(it))
        assert "(5, 2)" in message and "drop_last" in message
        assert next(it).shape == (16, 2)
        # other axes
        high = NamedSharding(jax.sharding.Mesh(devices, "data"), P(None, "data"))
        message = error(lambda: next(iter(drapps.jax.Loader(make(), high))))
        assert "'image'" in message and "axis 1" in message and "another sharding" in message
        """,
        photos,
    )


@needs_jax
def test_two_processes_make_global_arrays(photos):
    script = """
    rank, port = int(sys.argv[2]), sys.argv[3]
    jax.config.update("jax_cpu_collectives_implementation", "gloo")
    jax.distributed.initialize(f"localhost:{port}", 2, rank)
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(8), "data")
    sharding = NamedSharding(mesh, P("data"))
    def ours(**end):
        return drapps.image_folder(photos).center_crop(32).shuffle(seed=3).shard(rank, 2, **end)
    message = error(lambda: iter(drapps.jax.Loader(ours().batch(4), sharding)))
    assert "2 processes" in message or "rows" in message, message
    loader = drapps.jax.Loader(ours(remainder="pad").batch(4), sharding)
    gather = jax.jit(lambda x: x, out_shardings=NamedSharding(mesh, P()))
    seen = []
    for batch in loader:
        assert batch["image"].shape == (8, 3, 32, 32)
        index, flags = (np.asarray(gather(batch[name])) for name in ("index", "flags"))
        seen += index[flags == 0].tolist()
    assert sorted(seen) == list(range(21)), seen
    short = drapps.jax.Loader([np.zeros(8), np.zeros(4)], sharding)
    assert "other processes" in error(lambda: list(short))
    print("order", seen)
    """
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        port = probe.getsockname()[1]
    both = [start(script, photos, rank, port, devices=4) for rank in range(2)]
    try:
        outputs = [process.communicate(timeout=600)[0] for process in both]
    finally:
        for process in both:
            process.kill()
    assert [process.returncode for process in both] == [0, 0], "\n".join(outputs)
    orders = [line for output in outputs for line in output.splitlines() if line[:5] == "order"]
    expected = [
        index
        for batch in drapps.image_folder(photos).center_crop(32).shuffle(seed=3).batch(8)
        for index in np.asarray(batch["index"]).tolist()
    ]
    assert orders == [f"order {expected}"] * 2


@needs_jax
def test_arrays_may_live_until_the_interpreter_ends(photos):
    run(
        """
        kept = iter(drapps.jax.Loader(make()))
        first = next(kept)["image"]
        sys.modules["kept_for_ever"] = (kept, first)
        """,
        photos,
        devices=1,
    )


@needs_jax
def test_64_bits_stay_where_they_are_on(photos):
    run(
        """
        jax.config.update("jax_enable_x64", True)
        batch = next(iter(drapps.jax.Loader(make())))
        assert batch["label"].dtype == np.int64
        (big,) = drapps.jax.Loader([np.array([2**40])])
        assert int(big[0]) == 2**40
        """,
        photos,
        devices=1,
    )
