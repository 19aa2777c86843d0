"""What users rely on in torch's DataLoader, of lifted loaders alone: seeds, batches, samplers."""

import copy
import pickle

import pytest

torch = pytest.importorskip("torch")

from torch.utils import data  # noqa: E402

import drapps  # noqa: E402
import drapps.torch  # noqa: E402


@pytest.fixture
def folder(torchvision, photos):
    t = torchvision.transforms
    train = t.Compose([t.RandomResizedCrop(24), t.RandomHorizontalFlip(), t.ToTensor()])
    return torchvision.datasets.ImageFolder(photos, train)


def labels(batches):
    return [label for _, batch in batches for label in batch.tolist()]


def test_the_base_seed_is_drawn_from_the_given_generator(folder):
    stock, mine = torch.Generator().manual_seed(3), torch.Generator().manual_seed(3)
    torch.manual_seed(1)
    before = torch.get_rng_state()
    iter(data.DataLoader(folder, 4, shuffle=True, generator=stock))
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True, generator=mine)
    iter(loader)
    assert torch.equal(stock.get_state(), mine.get_state())
    list(loader)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("batch_size", [4, 7])
def test_the_given_generator_ends_a_shuffled_pass_where_stock_leaves_it(
    folder, workers, batch_size
):
    states = []
    for kind in (data.DataLoader, drapps.torch.DataLoader):
        generator = torch.Generator().manual_seed(3)
        loader = kind(folder, batch_size, True, generator=generator, num_workers=workers)
        states.append([])
        for _ in range(2):
            list(loader)
            states[-1].append(generator.get_state())
    assert loader.lifted()
    for stock, mine in zip(*states, strict=True):
        assert torch.equal(stock, mine)


def test_the_same_seed_gives_the_same_run_and_another_one_another(folder):
    def run(seed):
        torch.manual_seed(seed)
        loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
        return [torch.cat([images for images, _ in loader]) for _ in range(2)]

    one, again, other = run(5), run(5), run(6)
    assert all(torch.equal(a, b) for a, b in zip(one, again, strict=True))
    assert not torch.equal(one[0], other[0])
    assert not torch.equal(one[0], one[1])


def test_the_seed_keyword_fixes_the_stream_whatever_the_global_generator_holds(folder):
    def run(seed):
        torch.manual_seed(seed)
        loader = drapps.torch.DataLoader(folder, 4, shuffle=True, seed=9)
        return [torch.cat([images for images, _ in loader]) for _ in range(2)]

    one, other = run(5), run(6)
    assert all(torch.equal(a, b) for a, b in zip(one, other, strict=True))
    assert not torch.equal(one[0], one[1])


def test_batches_are_what_default_collate_gives(folder):
    stock = next(iter(data.DataLoader(folder, 4)))
    mine = next(iter(drapps.torch.DataLoader(folder, 4)))
    assert type(mine) is type(stock) is list
    for theirs, ours in zip(stock, mine, strict=True):
        assert (type(ours), ours.dtype, ours.shape) == (type(theirs), theirs.dtype, theirs.shape)
        assert ours.is_contiguous()
        assert not ours.requires_grad


def test_kept_batches_are_the_users_to_write(folder):
    loader = drapps.torch.DataLoader(folder, 2, seed=1)
    wanted = [images.clone() for images, _ in loader]
    loader.set_epoch(0)
    kept = []
    for number, (images, batch_labels) in enumerate(loader):
        assert torch.equal(images, wanted[number])
        images.fill_(number)
        batch_labels.fill_(number)
        kept.append((images, batch_labels))
    for number, (images, batch_labels) in enumerate(kept):
        assert torch.all(images == number)
        assert torch.all(batch_labels == number)


def test_several_iterators_live_at_once(folder):
    loader = drapps.torch.DataLoader(folder, 4, shuffle=True)
    one, two = iter(loader), iter(loader)
    assert one is not two
    pairs = list(zip(one, two, strict=True))
    assert len(pairs) == len(loader)
    for side in (0, 1):
        assert sorted(labels(pair[side] for pair in pairs)) == sorted(folder.targets)
    assert list(one) == []
    assert iter(loader) is not loader


def test_persistent_workers_reset_the_same_iterator(folder):
    loader = drapps.torch.DataLoader(folder, 4, True, num_workers=1, persistent_workers=True)
    first = iter(loader)
    one = [images.clone() for images, _ in first]
    second = iter(loader)
    assert first is second
    two = [images.clone() for images, _ in second]
    assert len(one) == len(two) == len(loader)
    assert not all(torch.equal(a, b) for a, b in zip(one, two, strict=True))
    assert loader.lifted()


def test_an_exception_does_not_end_the_iteration(torchvision, own_photos):
    t = torchvision.transforms
    bad = own_photos / "class_0" / "03.png"
    bad.write_bytes(bad.read_bytes()[:100])
    images = torchvision.datasets.ImageFolder(
        own_photos, t.Compose([t.CenterCrop(9), t.ToTensor()])
    )
    iterator = iter(drapps.torch.DataLoader(images, 2))
    next(iterator)
    with pytest.raises(drapps.SampleError, match=r"03\.png") as caught:
        next(iterator)
    assert caught.value.index == 3
    assert len(list(iterator)) == 9
    skipping = drapps.torch.DataLoader(images, 2, on_error="skip")
    assert [len(batch) for _, batch in skipping][:3] == [2, 1, 2]
    assert [entry["index"] for entry in skipping.bad_samples()] == [3]
    replacing = drapps.torch.DataLoader(images, 2, on_error="replace")
    assert all(len(batch) == 2 for _, batch in list(replacing)[:-1])


def test_the_users_sampler_gives_the_order(folder):
    chosen = [20, 3, 3, 11, 0, -1]
    loader = drapps.torch.DataLoader(folder, 4, sampler=chosen)
    assert loader.lifted()
    assert "list" in loader.lifted().order
    assert labels(loader) == [folder.targets[index] for index in chosen]
    with pytest.raises(IndexError, match="index 21 of a dataset of 21"):
        list(drapps.torch.DataLoader(folder, 4, sampler=[21]))
    dropping = data.BatchSampler(data.SequentialSampler(folder), 4, drop_last=True)
    assert len(list(drapps.torch.DataLoader(folder, batch_sampler=dropping))) == 5


def test_a_sampler_with_replacement_or_a_generator_of_its_own_is_the_users(folder):
    def own(seed):
        generator = torch.Generator().manual_seed(seed)
        return data.RandomSampler(folder, generator=generator)

    expected = [folder.targets[index] for index in own(4)]
    assert labels(drapps.torch.DataLoader(folder, 4, sampler=own(4))) == expected
    replaced = data.RandomSampler(folder, replacement=True, num_samples=50)
    loader = drapps.torch.DataLoader(folder, 4, sampler=replaced)
    assert len(labels(loader)) == 50
    assert "RandomSampler" in loader.lifted().order


def test_distributed_ranks_see_their_own_shares_with_other_augmentations(folder):
    def rank(number, epoch):
        sampler = data.DistributedSampler(folder, 2, number, seed=3)
        loader = drapps.torch.DataLoader(folder, 4, sampler=sampler, seed=1)
        loader.set_epoch(epoch)
        assert sampler.epoch == epoch
        return list(loader), [folder.targets[index] for index in sampler]

    (one, one_wanted), (two, two_wanted) = rank(0, 2), rank(1, 2)
    assert labels(one) == one_wanted
    assert labels(two) == two_wanted
    assert len(one) == len(two) == 3


def test_duplicates_in_an_epoch_get_different_augmentations(folder):
    images = torch.cat([x for x, _ in drapps.torch.DataLoader(folder, 4, sampler=[5] * 8)])
    distinct = {tuple(image.flatten().tolist()) for image in images}
    assert len(distinct) == 8


def test_ranks_with_one_seed_augment_apart(folder):
    images = []
    for number in (0, 1):
        sampler = data.DistributedSampler(data.Subset(folder, [5] * 8), 2, number, shuffle=False)
        same = data.Subset(folder, [5] * 8)
        loader = drapps.torch.DataLoader(same, 4, sampler=sampler, seed=1)
        images.append(next(iter(loader))[0])
    assert not torch.equal(*images)


def test_a_loader_can_be_copied_and_pickled(folder):
    loader = drapps.torch.DataLoader(folder, 4, seed=3)
    wanted = [images.clone() for images, _ in loader]
    for again in (copy.copy(loader), pickle.loads(pickle.dumps(loader))):
        again.set_epoch(0)  # which leaves the original alone
        assert loader.state_dict()["epoch"] == 1
        batches = [images for images, _ in again]
        assert all(torch.equal(a, b) for a, b in zip(wanted, batches, strict=True))


def test_pin_memory_is_accepted_without_a_device(folder):
    if torch.accelerator.is_available():
        images, _ = next(iter(drapps.torch.DataLoader(folder, 4, pin_memory=True)))
        assert images.is_pinned()
    else:
        with pytest.warns(UserWarning, match="no accelerator"):
            images, _ = next(iter(drapps.torch.DataLoader(folder, 4, pin_memory=True)))
        assert images.shape[0] == 4
