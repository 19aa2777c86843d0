"""A second reading of docs/reference/stream.md, in Python, which the core must agree with."""

import io

import numpy as np
import pytest
from PIL import Image

import drapps

WORD, DOUBLE = 2**32, 2**64


def philox(counter, key):
    """Philox4x32-10."""
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b // WORD ^ c[1] ^ k[0], b % WORD, a // WORD ^ c[3] ^ k[1], a % WORD]
        k = [(k[0] + 0x9E3779B9) % WORD, (k[1] + 0xBB67AE85) % WORD]
    return c


class Draws:
    """The words of one op at one coordinate."""

    def __init__(self, seed, epoch, position, ordinal):
        self.key = (seed % WORD, seed // WORD)
        self.counter = (position % WORD, position // WORD, epoch, ordinal << 16)
        self.used = 0

    def word(self):
        block, place = divmod(self.used, 4)
        self.used += 1
        return philox((*self.counter[:3], self.counter[3] + block), self.key)[place]

    def double(self):
        high = self.word()
        return high * WORD + self.word()

    def below(self, n):
        return self.double() * n // DOUBLE

    def coin(self, p):
        return self.word() / WORD < p


def order(size, seed, epoch):
    """The index at each position."""
    rounds = 4 * (size - 1).bit_length() + 24 if size > 1 else 0
    keys = []
    for number in range(rounds):
        draws = Draws(seed, epoch, number, 0xFFFE)
        keys.append((draws.below(size), draws.double(), draws.double()))

    def at(x):
        for key, multiplier, addend in keys:
            other = (key - x) % size
            if (multiplier * max(x, other) + addend) % DOUBLE >= DOUBLE // 2:
                x = other
        return x

    return [at(position) for position in range(size)]


def png(array):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, "PNG")
    return buffer.getvalue()


def column(loader, name):
    return np.concatenate([batch[name] for batch in loader.numpy()])


RAMP = np.arange(24, dtype=np.uint8).reshape(4, 6)


def ramps(count):
    """Pictures whose bytes say where they come from."""
    return drapps.image_bytes([png(RAMP)] * count).decode(color="gray").to("uint8")


@pytest.mark.parametrize("size", [1, 2, 3, 17, 100, 1024])
@pytest.mark.parametrize("seed", [0, 5, 2**63 + 11])
def test_the_order_of_an_epoch(size, seed):
    loader = ramps(size).center_crop(2).shuffle(seed).batch(64)
    for epoch in range(2):
        assert column(loader, "index").tolist() == order(size, seed, epoch)


def test_a_flip_is_a_coin_at_the_position_under_both_seeds_and_its_ordinal():
    a, b, epoch = 9, 4, 2
    key = (a + b * 0xD1342543DE82EF95) % DOUBLE
    pipeline = ramps(40).center_crop((4, 6)).flip(0.3).flip_vertical(0.6)
    loader = pipeline.shuffle(a).seed(b).batch(8)
    loader.set_epoch(epoch)
    for position, image in enumerate(column(loader, "image")):
        expected = RAMP
        if Draws(key, epoch, position, 2).coin(0.3):
            expected = expected[:, ::-1]
        if Draws(key, epoch, position, 3).coin(0.6):
            expected = expected[::-1]
        assert np.array_equal(image[0], expected)


def test_a_random_crop_draws_its_top_and_left_from_two_words_each():
    loader = ramps(40).random_crop((2, 3)).batch(8)
    for position, image in enumerate(column(loader, "image")):
        draws = Draws(0, 0, position, 1)
        top, left = draws.below(3), draws.below(4)
        assert np.array_equal(image[0], RAMP[top : top + 2, left : left + 3])


def test_a_replacement_is_drawn_at_the_position_of_the_bad_sample():
    records = [png(RAMP)] * 20
    records[7] = records[8] = b"no picture"
    loader = drapps.image_bytes(records).center_crop(2).on_error("replace").batch(5)
    drawn = column(loader, "index").tolist()
    for position in (7, 8):
        draws = Draws(0, 0, position, 0xFFFF)
        stand_in = next(i for i in iter(lambda d=draws: d.below(20), None) if i not in (7, 8))
        assert drawn[position] == stand_in
