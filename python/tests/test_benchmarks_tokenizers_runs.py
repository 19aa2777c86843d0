"""Scenario tokenizers: what it asks its contestants, and what it makes of their answers."""

import array
import hashlib
import json
import os
import sys

import pytest

from benchmarks.contestant import Contestant, ContestantError
from benchmarks.report import Result
from benchmarks.tokenizers import cells, corpora, others, page, texts, vocabularies
from benchmarks.tokenizers.bench import Bench
from benchmarks.tokenizers.contestants import ENTRIES, OURS, REFERENCE, spec
from benchmarks.tokenizers.hostile import INPUTS
from benchmarks.tokenizers.settings import CUT, FULL, WANTED

RATES = {OURS: 200e6, REFERENCE: 2e6, "tiktoken": 10e6}


class Scripted(Bench):
    """A run whose journal has everything: answers by key."""

    def __init__(self, answer, count=1):
        self.settings, self.count, self.versions, self.refused = CUT, count, {}, {}
        self.result = Result("tokenizers")
        self._answer = answer

    def kept(self, key, _measure):
        return self._answer(*key)


def timed(name, number=0, size=1_000_000):
    rate = RATES[name] * (1 + number)
    return {
        "bytes": size,
        "tokens": size // 4,
        "seconds": size / rate,
        "cpu_s": size / rate,
        "load_s": 0.5,
        "warmed": 7,
    }


@pytest.fixture
def no_text(monkeypatch):
    monkeypatch.setattr(texts, "timed", lambda *_: "timed")
    monkeypatch.setattr(texts, "warm", lambda *_: "warm")
    monkeypatch.setattr(texts, "hostile_input", lambda *_: "hostile")


def a_cell(ids, count=2):
    def answer(kind, *about):
        if kind == "ids":
            if about[2] not in ids:
                raise ContestantError(f"{about[2]}: ended with status 1: no wheel")
            return ids[about[2]]
        _, name, number = about
        return timed(name, number if name == OURS else 0)

    bench = Scripted(answer, count)
    cells.measure(bench, "gpt2", "english")
    return bench.result


@pytest.mark.usefixtures("no_text")
def test_a_ratio_is_that_of_a_round_and_has_what_is_wanted_of_it():
    ids = {OURS: ["a", "b"], REFERENCE: ["a", "b"], "tiktoken": ["a", "c"]}
    result = a_cell(ids)
    assert result.ratios["gpt2_english_over_tokenizers"] == pytest.approx(150)
    assert result.intervals["gpt2_english_over_tokenizers"] == pytest.approx((100, 200))
    assert result.ratios["gpt2_english_over_tiktoken"] == pytest.approx(30)
    assert result.wanted["gpt2_english_over_tiktoken"] == 12
    assert result.wanted["gpt2_english_cold_over_tokenizers"] == 25
    figures = result.figures["gpt2_english"]
    assert figures["tiktoken"]["documents_that_differ"] == 1
    assert figures[OURS]["mb_per_s"] == pytest.approx(300)
    assert figures["gigatoken"]["cannot_run"] == "ended with status 1: no wheel"


@pytest.mark.usefixtures("no_text")
def test_wrong_ids_have_no_speed():
    result = a_cell({OURS: ["a", "x"], REFERENCE: ["a", "b"]})
    differs = "its ids are not those of tokenizers in 1 of 2 documents"
    assert result.figures["gpt2_english"][OURS] == {"cannot_run": differs}
    assert result.ratios == {}


@pytest.mark.usefixtures("no_text")
def test_without_the_reference_nothing_is_measured():
    with pytest.raises(ContestantError, match=r"nothing to compare with: .*no wheel"):
        a_cell({OURS: ["a"]})


def hostile_answer(wrong=""):
    def answer(_kind, name, size, entry, _number):
        if entry not in RATES:
            raise ContestantError(f"no answer within 60 s: {entry}")
        slow = 5 if name == "digits" and size == CUT.hostile[1] else 1
        timing = timed(entry, size=size)
        timing["seconds"] *= slow
        ids = "wrong" if entry == OURS and name == wrong else "right"
        return {**timing, "peak_bytes": 8 * size, "digests": [ids]}

    return answer


@pytest.mark.usefixtures("no_text")
def test_the_worst_hostile_input_counts():
    bench = Scripted(hostile_answer())
    others.hostile(bench)
    ratios = bench.result.ratios
    short, long = CUT.hostile
    assert ratios["hostile_slowest_mb_per_s"] == pytest.approx(40)
    assert ratios[f"hostile_time_per_byte_{long}_over_{short}"] == pytest.approx(5)
    assert ratios["hostile_peak_bytes_per_byte"] == 8
    assert len(bench.result.figures) == len(INPUTS)
    assert "within 60 s" in bench.result.figures["hostile digits"]["quicktok"]["cannot_run"]


@pytest.mark.usefixtures("no_text")
def test_wrong_ids_of_a_hostile_input_are_the_worst():
    bench = Scripted(hostile_answer(wrong="emoji"))
    others.hostile(bench)
    assert bench.result.ratios["hostile_slowest_mb_per_s"] == 0
    assert "not those of tokenizers" in bench.result.figures["hostile emoji"][OURS]["cannot_run"]


@pytest.mark.usefixtures("no_text")
def test_the_page_has_goals_and_tables():
    bench = Scripted(hostile_answer())
    others.hostile(bench)
    cell = a_cell({OURS: ["a"], REFERENCE: ["a"]})
    cell.figures["gpt2_english"][REFERENCE] |= {"versions": "tokenizers 0.1", "newest": "0.2"}
    text = page.text(
        {
            "date": "2026-01-01T00:00:00",
            "commit": "0123456789abcdef",
            "machine": {"cpu": "a CPU", "cores": 2, "load_before": 0.1},
            "figures": {**bench.result.figures, **cell.figures},
            "ratios": {**bench.result.ratios, **cell.ratios},
            "intervals": cell.intervals,
            "wanted": cell.wanted,
            "limits": bench.result.limits,
        }
    )
    assert "| gpt2_english_over_tokenizers | 150.00 | 100.00 to 200.00 | ≥ 100 |" in text
    assert "| hostile_peak_bytes_per_byte | 8.00 |  | ≤ 32 |" in text
    assert "| tokenizers (tokenizers 0.1, newest 0.2) | 2.0 | 2.0 | 0.500 | 0 |" in text
    assert "| digits | 200.0, 40.0 | 2.0 |" in text


def test_what_is_wanted_is_measured_in_the_full_run():
    assert WANTED.keys() <= set(FULL.cells)
    names = {entry.name: entry for entry in ENTRIES}
    for (vocabulary, _), rivals in WANTED.items():
        assert all(names[rival].can(vocabulary) for rival in rivals)


@pytest.fixture
def small_texts(tmp_path, monkeypatch):
    kinds = {"english": "e", "code": "c", "chinese": "\u4e2d", "german": "\u00e4"}

    def ensure(name, _full):
        file = tmp_path / name
        file.write_text("\0".join(f"{kinds[name] * 100}{number}" for number in range(50)))
        return file

    monkeypatch.setattr(corpora, "PLACE", tmp_path)
    monkeypatch.setattr(corpora, "CUT", kinds)
    monkeypatch.setattr(corpora, "ensure", ensure)


def settings(**changed):
    return type(CUT)(**{**vars(CUT), "timed": 1000, **changed})


@pytest.mark.usefixtures("small_texts")
def test_what_warms_is_other_text_and_ends_with_its_own_kind():
    timed = texts.timed(settings(), "english").read_bytes()
    assert sum(map(len, timed.split(b"\0"))) == 1000
    warm = corpora.documents(texts.warm(settings(), "english", 20_000))
    assert not {document[:103] for document in timed.split(b"\0")[:-1]} & set(warm)
    assert warm[-1].startswith(b"eee")
    assert warm[0].startswith(b"ccc")
    assert 19_990 <= sum(map(len, warm)) <= 20_000


@pytest.mark.usefixtures("small_texts")
def test_mixed_text_takes_languages_in_turn():
    documents = corpora.documents(texts.timed(settings(), "languages"))
    assert [document.decode()[0] for document in documents[:4]] == ["\u4e2d", "\u00e4"] * 2


def test_a_contestant_warms_times_and_gives_its_ids(tmp_path, monkeypatch):
    tokenizers = pytest.importorskip("tokenizers")
    monkeypatch.setattr(vocabularies, "PLACE", tmp_path)
    text = tmp_path / "text.txt"
    text.write_text("one text of some words\0another one\0")
    file = vocabularies.trained("gpt2", 265, text)
    entry = next(entry for entry in ENTRIES if entry.name == REFERENCE)
    about = spec(entry, "gpt2", file, sorted(os.sched_getaffinity(0))[:1])
    command = [sys.executable, "-m", "benchmarks.tokenizers.child"]
    with Contestant("tokenizers", command, about) as contestant:
        assert contestant.started["load_s"] > 0
        assert contestant.ask(do="warm", text=str(text)) == {"bytes": text.stat().st_size}
        answer = contestant.ask(do="encode", text=str(text))
        whole = contestant.ask(do="encode", text=str(text), whole=True)
        digests = contestant.ask(do="ids", text=str(text))["digests"]
    tokenizer = tokenizers.Tokenizer.from_file(str(file))
    ids = [tokenizer.encode(each).ids for each in text.read_text().split("\0")]
    assert answer["bytes"] == whole["bytes"] - 2
    assert answer["tokens"] == sum(map(len, ids))
    assert answer["seconds"] > 0
    hashed = (hashlib.sha256(array.array("I", row).tobytes()) for row in ids)
    assert digests == [each.hexdigest()[:16] for each in hashed]


def test_a_vocabulary_without_template_adds_nothing(tmp_path, monkeypatch):
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(vocabularies, "PLACE", tmp_path)
    file = vocabularies.pairs("qwen2")
    plain = json.loads(vocabularies.without_template(file).read_text())
    assert plain.pop("post_processor") is None
    before = json.loads(file.read_text())
    assert before.pop("post_processor") is not None
    assert plain == before
