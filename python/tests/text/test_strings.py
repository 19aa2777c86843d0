"""What the sweep of the oracle is made of."""

import unicodedata

from drapps.tokenizers.check import shortened
from python.tests.text import strings


def test_generated_strings_have_every_category_and_depend_on_their_seed_alone():
    texts = list(strings.drawn(seed=1, count=4000))
    letters = set("".join(texts))
    categories = {unicodedata.category(letter) for letter in letters}
    assert categories == {unicodedata.category(c) for c in strings.code_points()}
    assert letters >= {*strings.SPACES, *strings.JOINERS, "\0"}
    assert "" in texts
    assert max(map(len, texts)) > 1000
    assert list(strings.drawn(seed=1, count=4000)) == texts
    assert list(strings.drawn(seed=2, count=10)) != texts[:10]


def test_each_letter_comes_in_each_context():
    texts = list(strings.neighbourhoods("xyz", 2))
    assert len(texts) == 2 * len(strings.CONTEXTS)
    assert texts[:2] == ["x\ny", "z"]
    assert any("\u4e2dx\u6587\n\u4e2dy\u6587" in each for each in texts)


def test_samples_have_the_ends_of_every_class():
    samples = set(strings.samples(3))
    assert samples >= {letters[0] for letters in strings.classes().values()}
    assert samples >= {letters[-1] for letters in strings.classes().values()}


def test_what_differs_is_shortened():
    text = "some text, then a\u0301 mark, then more " * 20
    assert shortened(text, lambda some: "\u0301" in some and "x" in some) in ("x\u0301", "\u0301x")
