"""What only a machine with a CUDA device can show; skipped elsewhere."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.usefixtures("torchvision"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


def loader_of(photos, **arguments):
    from torchvision import datasets, transforms

    import drapps.torch

    chain = transforms.Compose(
        [transforms.Resize(64), transforms.CenterCrop(56), transforms.ToTensor()]
    )
    loader = drapps.torch.DataLoader(
        datasets.ImageFolder(str(photos), chain), batch_size=4, **arguments
    )
    assert loader.lifted()
    return loader


def test_feeding_from_the_cpu_makes_no_cuda_context(photos):
    before = torch.cuda.is_initialized()
    for _ in loader_of(photos):
        pass
    assert torch.cuda.is_initialized() == before


@pytest.mark.parametrize("workers", [0, 2])
def test_pinned_batches_reach_the_device_unchanged(photos, workers):
    plain = list(loader_of(photos))
    pinned = list(loader_of(photos, pin_memory=True, num_workers=workers))
    assert len(plain) == len(pinned) > 0
    for (image, label), (pinned_image, pinned_label) in zip(plain, pinned, strict=True):
        assert pinned_image.is_pinned()
        assert torch.equal(pinned_image.to("cuda", non_blocking=True).cpu(), image)
        assert torch.equal(pinned_label.to("cuda").cpu(), label)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_arrive_on_the_device(photos, workers):
    plain = list(loader_of(photos))
    there = list(loader_of(photos, device="cuda", num_workers=workers))
    assert len(plain) == len(there) > 0
    for (image, label), (other_image, other_label) in zip(plain, there, strict=True):
        assert other_image.device == other_label.device == torch.device("cuda:0")
        assert torch.equal(other_image.cpu(), image)
        assert torch.equal(other_label.cpu(), label)


@pytest.mark.parametrize("workers", [0, 2])
def test_data_that_live_on_the_device_give_the_bytes_of_the_cpu(workers):
    import drapps.torch
    from python.tests.resident_data import cifar, same

    def loader(**where):
        return drapps.torch.DataLoader(
            cifar(), 32, shuffle=True, seed=3, num_workers=workers, **where
        )

    there = loader(device="cuda", device_memory="256MB")
    for epoch in range(2):
        plain = loader()
        plain.set_epoch(epoch)
        there.set_epoch(epoch)
        batches = list(there)
        assert all(tensor.device.type == "cuda" for batch in batches for tensor in batch)
        same([[tensor.cpu() for tensor in batch] for batch in batches], list(plain))


def test_colours_and_erasures_there_give_the_bytes_of_the_cpu():
    import drapps.torch
    from python.tests.resident_data import COLOURS, cifar, same

    def epoch(**where):
        loader = drapps.torch.DataLoader(cifar(600, COLOURS), 64, shuffle=True, seed=3, **where)
        return list(loader), loader.stats().device

    there, counted = epoch(device="cuda", device_memory="256MB")
    same([[tensor.cpu() for tensor in batch] for batch in there], epoch()[0])
    assert min(counted.launches, counted.bytes_in, counted.copy_s, counted.kernel_s) > 0


def test_mixed_batches_of_a_pipeline_lie_on_the_device():
    import numpy as np

    import drapps

    rng = np.random.default_rng(2)
    columns = {
        "image": rng.integers(0, 256, (500, 40, 36, 3), dtype=np.uint8),
        "label": rng.integers(0, 9, 500),
    }

    def epochs(dtype, **where):
        pipeline = drapps.arrays(columns, pictures="image").color_jitter(0.4, 0.4, 0.4, 0.1)
        pipeline = pipeline.random_erasing(mode="normal_per_pixel").cutmix_or_mixup(9)
        loader = pipeline.to(dtype).shuffle(seed=5).batch(64, **where)
        for _ in range(3):
            for batch in loader.torch():
                torch.cuda._sleep(2_000_000)  # the host is ahead of what uses the batch
                yield {name: (tensor + 0).cpu() for name, tensor in batch.items()}, batch

    for dtype in ("float32", "bfloat16", "float16"):
        pairs = zip(epochs(dtype, device_memory="64MB"), epochs(dtype), strict=True)
        for (tensors, batch), (expected, _) in pairs:
            assert batch["image"].device.type == "cuda"
            assert all(torch.equal(tensors[name], expected[name]) for name in expected)


def test_memory_is_used_again_only_when_its_last_use_has_ended():
    import drapps.torch

    rows = torch.arange(512, dtype=torch.float32).repeat_interleave(1 << 16).reshape(512, -1)
    dataset = torch.utils.data.TensorDataset(rows)
    loader = drapps.torch.DataLoader(dataset, 4, num_workers=2, device="cuda")
    weights = torch.eye(4, device="cuda")
    other = torch.cuda.Stream()
    sums = []
    for number, (batch,) in enumerate(loader):
        with torch.cuda.stream(other if number % 2 else torch.cuda.current_stream()):
            if number % 2:
                other.wait_stream(torch.cuda.default_stream())
                batch.record_stream(other)
            torch.cuda._sleep(20_000_000)  # the host is far ahead of the device
            sums.append((weights @ batch)[:, ::4096].sum(dim=1))
        del batch
    torch.cuda.synchronize()
    assert torch.cat(sums).tolist() == [16.0 * index for index in range(512)]


def test_a_native_loader_gives_tensors_on_the_device():
    import numpy as np

    import drapps

    def loader():
        return drapps.arrays({"x": np.arange(4000).reshape(1000, 4)}).batch(8)

    parts = [batch["x"].cpu() for batch in loader().torch("cuda")]
    assert torch.equal(torch.cat(parts), torch.cat([batch["x"] for batch in loader().torch()]))


# A script, because what it defines belongs to __main__ and the device is in use before the loader.
PARENT = """
import torch
import drapps.torch

class Own(torch.utils.data.Dataset):
    def __len__(self):
        return 400
    def __getitem__(self, index):
        assert not torch.cuda.is_initialized()
        return torch.full((1000,), float(index))

if __name__ == "__main__":
    weights = torch.ones(1000, device="cuda")
    loader = drapps.torch.DataLoader(Own(), 8, num_workers=4, pin_memory=True)
    for _ in range(3):
        sums = []
        for batch in loader:
            assert batch.is_pinned()
            sums += (batch.to("cuda", non_blocking=True) @ weights).tolist()
        assert sums == [1000.0 * index for index in range(400)]
    assert loader.explain()["plan"]["start_method"] == "forkserver"
    loader = drapps.torch.DataLoader(Own(), 8, num_workers=4, device="cuda")
    sums = [value for batch in loader for value in (batch @ weights).tolist()]
    assert sums == [1000.0 * index for index in range(400)]
    print("done")
"""


def test_workers_of_a_parent_that_uses_the_device(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(PARENT)
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_a_ddp_loop_trains_on_every_sample(tmp_path):
    from torch import distributed, nn
    from torch.utils import data

    import drapps.torch

    rows = torch.arange(256, dtype=torch.float32).reshape(64, 4)
    dataset = data.TensorDataset(rows, torch.arange(64))
    distributed.init_process_group(
        "nccl", init_method=f"file://{tmp_path}/group", rank=0, world_size=1
    )
    try:
        model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1).cuda(), device_ids=[0])
        optimizer = torch.optim.SGD(model.parameters(), 1e-6)
        for lift in (True, False):
            sampler = data.DistributedSampler(dataset)
            options = {"num_workers": 2, "pin_memory": True, "sampler": sampler, "lift": lift}
            loader = drapps.torch.DataLoader(dataset, 8, **options)
            for epoch in range(2):
                sampler.set_epoch(epoch)
                seen = []
                for batch, indices in loader:
                    loss = model(batch.cuda(non_blocking=True)).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    seen += indices.tolist()
                assert sorted(seen) == list(range(64))
    finally:
        distributed.destroy_process_group()


def test_the_device_decodes_pillows_pixels():
    from drapps import _core
    from python.tests.decode_files import CODINGS, SAMPLINGS, SIZES, jpeg, pillow

    codings = [coding for coding in CODINGS if coding != "progressive"]
    samplings = [sampling for sampling in SAMPLINGS if sampling != "4:4:1"]
    files = [
        jpeg(sampling, *size, **CODINGS[coding])
        for coding in codings
        for sampling in samplings
        for size in SIZES
    ]
    pixels = _core.decode_on_device("cuda:0", files)
    forms = _core.decode_on_device("cuda:0", [_core.transcode(data) for data in files])
    for data, image, of_form in zip(files, pixels, forms, strict=True):
        assert (image == pillow(data)).all()
        assert (of_form == image).all()


def test_what_the_device_decodes_is_what_the_cpu_does(photos):
    import numpy as np

    import drapps

    def epochs(**options):
        pipeline = drapps.image_folder(photos).decode().random_resized_crop(56).flip()
        loader = pipeline.shuffle(seed=3).batch(4, **options)
        passes = [[np.array(batch["image"]) for batch in loader] for _ in range(3)]
        return passes, loader.explain().to_json()["plan"]["placement"]

    there, placed = epochs(placement="gpu", device="cuda:0")
    here, _ = epochs()
    np.testing.assert_equal(there, here)
    assert placed["decoded"] > 0
    kept, placed = epochs(placement="gpu", device="cuda:0", cache=64 << 20, form="raw")
    np.testing.assert_equal(kept, here)
    assert placed["from_cache"] > 0


def test_rows_that_the_device_makes_stay_there(photos):
    import drapps

    def epochs(**options):
        pipeline = drapps.image_folder(photos).decode().random_resized_crop(56).flip()
        loader = pipeline.random_erasing(0.5).shuffle(seed=3).batch(4, **options)
        batches = [batch["image"].cpu() for _ in range(3) for batch in loader.torch(device="cuda")]
        return batches, loader.explain().to_json()["plan"]["placement"]

    there, placed = epochs(placement="gpu", device="cuda:0")
    here, _ = epochs()
    assert all(torch.equal(one, other) for one, other in zip(there, here, strict=True))
    assert placed["stayed"] == placed["augmented"] > 0
