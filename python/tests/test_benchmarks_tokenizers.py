"""Scenario tokenizers: what it makes its inputs of."""

import hashlib

import pytest

from benchmarks.tokenizers import hostile

SHA256 = "38a506ccf9ec5b9f4792d34fbb41ff6e8348c58314ba7c3b801b35f05b691d7d"


def test_there_are_twenty_hostile_inputs_and_none_is_another():
    made = {name: hostile.make(name, 4096) for name in hostile.INPUTS}
    assert len(set(made.values())) == len(made) == 20


@pytest.mark.parametrize("name", hostile.INPUTS)
def test_a_hostile_input_has_its_length_and_is_text(name):
    made = hostile.make(name, 10_000)
    assert 10_000 - 4 < len(made) <= 10_000
    if name != "random bytes":
        made.decode()
    assert hostile.make(name, 10_000) == made


def test_hostile_inputs_are_the_same_for_ever():
    digest = hashlib.sha256(b"".join(hostile.make(name, 65_536) for name in hostile.INPUTS))
    assert digest.hexdigest() == SHA256
