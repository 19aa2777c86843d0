import itertools

import numpy as np
import pytest

import drapps
from drapps.bucket_batch_sampler import _declare
from python.tests.cells import some_full

RNG = np.random.default_rng(5)
CORPUS = np.clip(np.exp(RNG.normal(5.0, 0.7, 20_000)), 1, 2048).astype(int)


def epoch_of(sizes, world=1, **options):
    """The batches of every rank, step by step."""
    ranks = [drapps.BucketBatchSampler(sizes, rank=r, world=world, **options) for r in range(world)]
    steps = [list(rank) for rank in ranks]
    assert len({len(rank) for rank in steps}) == 1
    assert all(len(sampler) == len(rank) for sampler, rank in zip(ranks, steps, strict=True))
    return list(zip(*steps, strict=True))


def test_a_log_normal_corpus_is_padded_by_less_than_five_percent():
    sampler = drapps.BucketBatchSampler(CORPUS, max_tokens=16_384)
    assert len(sampler.shapes) <= 48
    padded = total = 0
    for batch in sampler:
        size = sampler.declared(batch)
        assert size * len(batch) <= 16_384
        assert CORPUS[batch].max() <= size
        padded += size * len(batch)
        total += int(CORPUS[batch].sum())
    assert total == CORPUS.sum()
    assert 1 - total / padded <= 0.05
    assert sampler.padding <= 0.05


def test_all_batches_but_one_have_a_declared_shape():
    sampler = drapps.BucketBatchSampler(CORPUS, max_tokens=8192, shapes=6, multiple=8)
    odd = [b for b in sampler if (len(b), sampler.declared(b)) not in sampler.shapes]
    assert len(odd) <= 1
    assert all(size % 8 == 0 for _, size in sampler.shapes)


@pytest.mark.parametrize("sizes", [[1], [3, 3, 3], [1, 2, 3, 5, 8, 13], list(range(1, 30))])
@pytest.mark.parametrize("shapes", [1, 2, 3, 5])
def test_declared_sizes_leave_the_least_padding_of_all(sizes, shapes):
    unique = sorted(set(sizes))
    limits = _declare(np.array(sizes), shapes)

    def padded(declared):
        return sum(min(d for d in declared if d >= size) for size in sizes)

    ways = itertools.combinations(unique[:-1], min(shapes, len(unique)) - 1)
    assert padded(limits) == min(padded([*way, unique[-1]]) for way in ways)


@pytest.mark.parametrize("world", some_full([1, 2, 3, 6, 16], 1, 2, 3))
@pytest.mark.parametrize("remainder", ["even", "pad", "drop"])
def test_every_rank_takes_as_many_steps_and_samples_come_exactly_once(world, remainder):
    sizes = CORPUS[:1500]
    options = {"max_tokens": 4096, "shapes": 5, "remainder": remainder, "seed": 3}
    rows = [i for step in epoch_of(sizes, world, **options) for batch in step for i in batch]
    if remainder == "even":
        assert sorted(rows) == list(range(1500))
    elif remainder == "drop":
        assert len(rows) == len(set(rows))
        assert len(rows) > 1500 - world * 4096 // sizes.min()
    else:
        assert set(rows) == set(range(1500))
        ranks = [
            drapps.BucketBatchSampler(sizes, rank=r, world=world, **options) for r in range(world)
        ]
        flags = [
            flag for step in range(len(ranks[0])) for rank in ranks for flag in rank.padded(0, step)
        ]
        real = [i for i, flag in zip(rows, flags, strict=True) if not flag]
        assert sorted(real) == list(range(1500))


def test_epochs_differ_and_a_pinned_one_repeats():
    sampler = drapps.BucketBatchSampler(CORPUS[:500], max_tokens=4096, seed=9)
    first, second = list(sampler), list(sampler)
    assert first != second
    sampler.set_epoch(0)
    assert list(sampler) == first
    assert list(drapps.BucketBatchSampler(CORPUS[:500], max_tokens=4096, seed=9)) == first
    assert list(drapps.BucketBatchSampler(CORPUS[:500], max_tokens=4096, seed=8)) != first


@pytest.mark.parametrize(
    ("before", "after"), some_full([(1, 1), (2, 3), (8, 1), (3, 16), (6, 2)], (2, 3), (8, 1))
)
def test_the_rest_of_an_epoch_comes_at_any_other_world_size(before, after):
    sizes = CORPUS[:300]
    options = {"max_tokens": 2048, "shapes": 4, "seed": 1}
    total = len(drapps.BucketBatchSampler(sizes, world=before, **options))
    for stop in range(total + 1):
        ranks = [
            drapps.BucketBatchSampler(sizes, rank=r, world=before, **options) for r in range(before)
        ]
        seen = []
        for rank in ranks:
            iterator = iter(rank)
            seen += [i for _ in range(stop) for i in next(iterator)]
        states = [rank.state_dict(stop) for rank in ranks]
        assert all(state == states[0] for state in states)
        if stop == total:
            assert states[0]["epoch"] == 1
            continue
        if 300 - len(seen) < 2 * after:
            continue  # fewer rows than ranks: an error of its own
        lengths = set()
        for rank in range(after):
            again = drapps.BucketBatchSampler(sizes, rank=rank, world=after, **options)
            again.load_state_dict(states[0])
            rest = list(again)
            lengths.add(len(rest))
            seen += [i for batch in rest for i in batch]
        assert sorted(seen) == list(range(300))
        assert len(lengths) == 1


def test_a_state_counts_what_was_trained_on_not_what_was_read_ahead():
    sampler = drapps.BucketBatchSampler(CORPUS[:500], max_tokens=2048)
    iterator = iter(sampler)
    batches = [next(iterator) for _ in range(5)]
    state = sampler.state_dict(2)
    again = drapps.BucketBatchSampler(CORPUS[:500], max_tokens=2048)
    again.load_state_dict(state)
    assert next(iter(again)) == batches[2]


def test_wrong_use_is_refused_with_the_sample_that_is_too_large():
    with pytest.raises(drapps.PipelineError, match="sample 1 has size 70"):
        drapps.BucketBatchSampler([3, 70, 5], max_tokens=64)
    with pytest.raises(drapps.PipelineError, match="sample 2 has size 0"):
        drapps.BucketBatchSampler([3, 7, 0], max_tokens=64)
    with pytest.raises(drapps.PipelineError, match="whole numbers"):
        drapps.BucketBatchSampler([0.5], max_tokens=64)
    with pytest.raises(drapps.PipelineError, match="fewer rows"):
        drapps.BucketBatchSampler([60, 60], max_tokens=64, world=3)
    other = drapps.BucketBatchSampler([3, 7], max_tokens=32).state_dict()
    with pytest.raises(drapps.PipelineError, match="max_tokens"):
        drapps.BucketBatchSampler([3, 7], max_tokens=64).load_state_dict(other)


def test_it_is_a_batch_sampler_for_torch():
    torch = pytest.importorskip("torch")
    data = [torch.full((int(size),), i) for i, size in enumerate(CORPUS[:200])]
    sampler = drapps.BucketBatchSampler([len(each) for each in data], max_tokens=2048, shapes=4)

    def pad(samples):
        size = sampler.declared([int(sample[0]) for sample in samples])
        return torch.stack(
            [
                torch.nn.functional.pad(sample, (0, size - len(sample)), value=-1)
                for sample in samples
            ]
        )

    loader = torch.utils.data.DataLoader(data, batch_sampler=sampler, collate_fn=pad)
    shapes = [tuple(batch.shape) for batch in loader]
    assert len(shapes) == len(loader) == len(sampler)
    assert all(rows * size <= 2048 for rows, size in shapes)
