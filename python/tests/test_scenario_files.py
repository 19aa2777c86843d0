"""Scenario files: what is wrong is said with its line, and what is right makes segments."""

import json

import pytest

from drapps.errors import PipelineError
from drapps.scenario import Scenario, load, shipped
from drapps.scenario.reading import parse

HEAD = "name: a\nabout: b\nseconds: 60\n"
PHOTOS = HEAD + "workload: {kind: photos}\n"
PYTHON = HEAD + "workload: {kind: python}\npython: {cpu: 0.001}\n"


def events(*texts):
    return PHOTOS + "events:\n" + "".join(f"  - {text}\n" for text in texts)


BAD = {
    "": ("1: the file is empty",),
    "[1, 2]": ("1: must be a mapping of name, about",),
    "name: [": ("1: this is no YAML",),
    "a: b: c": ("1: this is no YAML",),
    "a: \x00": ("1: this is no YAML",),
    "name: a": ("1: about is missing; there are name, about, workload",),
    PHOTOS + "speed: 1": ("5: speed: there is no such key here; there are name, about",),
    PHOTOS + "seconds: 2": ("5: seconds: stands here twice",),
    PHOTOS + "? [a]\n: b": ("5: a key: there is no such key",),
    HEAD + "workload: photos": ("4: workload: must be a mapping of kind, ", "not 'photos'"),
    HEAD + "workload: {kind: audio}": ("4: workload.kind: must be arrays or photos or python",),
    HEAD + "workload: {batch: 3}": ("4: workload: kind is missing",),
    HEAD + "workload: {kind: arrays, crop: 3}": ("workload.crop: there is no such key", "rows"),
    HEAD + "workload:\n  kind: photos\n  batch: 0": ("6: workload.batch: must be a whole number",),
    HEAD + "workload: {kind: photos, batch: 1.5}": ("from 1 to 65536, not '1.5'",),
    HEAD + "workload: {kind: photos, shuffle: 1}": ("workload.shuffle: must be true or false",),
    HEAD + "workload: {kind: arrays, shape: 3}": ("workload.shape: must be a list, not '3'",),
    HEAD + "workload: {kind: python}": ("1: python is missing",),
    PHOTOS.replace("60", "soon"): ("3: seconds: must be a number from 0", "not 'soon'"),
    PHOTOS.replace("60", "0"): ("3: seconds: must be more than 0 seconds",),
    PHOTOS.replace("60", ".nan"): ("3: seconds: must be a number",),
    PHOTOS.replace("60", "'60'"): ("3: seconds: must be a number",),
    PHOTOS.replace("60", "1_0"): ("3: seconds: must be a number",),
    PHOTOS.replace("60", "[60]"): ("3: seconds: must be a number", "not a list"),
    PHOTOS.replace("name: a", "name: ''"): ("1: name: must be words",),
    PHOTOS + "storage: {latncy: 1}": ("storage.latncy: there is no such key", "latency"),
    PHOTOS + "storage: {latency: -1}": ("5: storage.latency: must be a number from 0 to 3600",),
    PHOTOS + "storage: {refuses: maybe}": ("storage.refuses: must be true or false",),
    PHOTOS + "storage: {period: 3}": ("5: storage: a period without a schedule",),
    PHOTOS + "storage: {period: 3, schedule: [{at: 4}]}": ("period: must be longer than",),
    PHOTOS + "storage: {schedule: [{at: 4}, {at: 4}]}": ("at: must be later than the entry",),
    PHOTOS + "consumer: {cpu: 2}": ("5: consumer.cpu: must be a number from 0 to 1, not '2'",),
    PHOTOS + "consumer: {model: vit}": ("5: consumer.model: must be small-cnn",),
    PHOTOS + "consumer: {model: small-cnn, step: 1}": ("consumer.step: a model takes what",),
    PHOTOS + "burners: many": ("5: burners: must be a whole number from 0",),
    PHOTOS + "burners: 200%": ("5: burners: must be a number from 0 to 100",),
    PHOTOS + "duty: 0": ("5: duty: must be a number from 0.01 to 1",),
    PHOTOS + "python: {cpu: 1}": ("5: python: only a python workload has a cost",),
    PYTHON + "storage: {latency: 1}": ("6: storage: only photos lie on a storage",),
    PYTHON + "consumer: {model: small-cnn}": ("consumer.model: it is trained on photos alone",),
    PHOTOS + "quota: -1": ("5: quota: must be a number from 0 to 4096",),
    PHOTOS + "memory: lots": ("5: memory: must be bytes, such as 512M, not 'lots'",),
    PHOTOS + "events: {at: 3}": ("5: events: must be a list, not a mapping",),
    events("burners: 1"): ("6: events: at is missing",),
    events("{at: 60, burners: 1}"): ("6: events.at: must lie between 0 and", "at 60 s"),
    events("{at: 3, burners: 1}", "{at: 3, burners: 2}"): ("7: events.at: must be later than",),
    events("{at: 3, burners: 0}"): ("6: events: changes nothing",),
    events("{at: {sample: 3}, burners: 1}"): ("events.burners: changes at a time",),
    events("{at: {sample: 0}, pictures: 2}"): ("6: events.at.sample: must be a whole number",),
    events("{at: {sample: 9}, pictures: 2}"): ("events.pictures: only photos with shuffle: false",),
    events("{at: 3, pictures: 2}"): ("6: events.pictures: changes at a sample",),
    events("{at: 3, burners: 1}", "{at: {sample: 9}, consumer: {step: 1}}"): (
        "7: events.at: all events of a scenario are in seconds, or all in samples",
    ),
}


@pytest.mark.parametrize("text", BAD, ids=range(len(BAD)))
def test_what_is_wrong_in_a_file_is_said_with_its_line(text):
    with pytest.raises(PipelineError) as raised:
        parse(text, "my.yaml")
    message = str(raised.value)
    assert message.startswith("my.yaml:")
    assert "\n" not in message
    for part in BAD[text]:
        assert part in message


def test_a_file_that_is_missing_or_no_text_is_named(tmp_path):
    with pytest.raises(OSError, match=r"gone\.yaml"):
        load(tmp_path / "gone.yaml")
    (tmp_path / "a.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(PipelineError, match=r"a\.yaml:1: this is no text"):
        load(tmp_path / "a.yaml")
    with pytest.raises(PipelineError, match="no scenario phtos; there are arrays,"):
        load("phtos")


def test_without_pyyaml_an_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "yaml", None)
    with pytest.raises(PipelineError, match=r"pip install drapps\[play\]"):
        load("quick")


def test_every_shipped_scenario_is_called_as_its_file_and_comes_back_from_json():
    assert len(shipped()) == 18
    for name in shipped():
        scenario = load(name)
        assert scenario.name == name
        assert scenario.about
        again = Scenario.from_json(json.loads(json.dumps(scenario.to_json())))
        assert again == scenario
        assert hash(again) == hash(scenario)
        if name != "quick":
            assert 40 <= scenario.seconds <= 120


def test_events_cut_a_run_into_segments_that_keep_what_they_do_not_change():
    scenario = parse(
        events(
            "{at: 10, name: slow, storage: {latency: 5e-3}}",
            "{at: 20, storage: {bandwidth: 1e6}, burners: 50%, duty: 0.5}",
            "{at: 30, consumer: {step: 0.1, cpu: 0.2}, quota: 1.5, memory: 2G}",
        ),
        "a.yaml",
    )
    first, slow, loaded, last = (segment.conditions for segment in scenario.segments)
    assert [segment.begin for segment in scenario.segments] == [0, 10, 20, 30]
    assert [scenario.length(number) for number in range(4)] == [10, 10, 10, 30]
    assert scenario.segments[1].name == "slow"
    assert first.storage is None
    assert slow.storage.conditions.latency == 0.005
    assert loaded.storage.conditions.latency == 0.005
    assert loaded.storage.conditions.bandwidth == 1e6
    assert (last.burners, last.duty, last.quota, last.memory) == ("50%", 0.5, 1.5, 2**31)
    assert (last.consumer.step, last.consumer.cpu) == (0.1, 0.2)


def test_segments_with_the_same_in_force_have_the_same_key():
    there_and_back = parse(
        events("{at: 10, name: x, burners: 2, duty: 0.5}", "{at: 20, burners: 0}"), "a.yaml"
    )
    keys = [there_and_back.key(number) for number in range(3)]
    assert keys[0] == keys[2] != keys[1]
    stationary = parse(PHOTOS.replace("60", "9").replace("name: a", "name: z"), "z.yaml")
    assert stationary.key(0) == keys[0]
    for nothing in ("storage: {}", "consumer: {cpu: 1}", "duty: 0.5"):
        assert parse(PHOTOS + nothing, "a.yaml").key(0) == keys[0]
    assert there_and_back.alone(1).key(0) == keys[1]
    assert json.loads(keys[1])["burners"] == 2
    other = parse(PHOTOS.replace("photos}", "photos, batch: 8}"), "a.yaml")
    assert other.key(0) != keys[0]


def test_a_segment_alone_has_its_conditions_and_lasts_as_long():
    scenario = parse(events("{at: 10, burners: 2}", "{at: 30, duty: 0.5}"), "a.yaml")
    alone = scenario.alone(1)
    assert alone.seconds == 20
    assert [segment.begin for segment in alone.segments] == [0]
    assert alone.segments[0].conditions == scenario.segments[1].conditions
    assert scenario.alone(1, 5).seconds == 5
    with pytest.raises(PipelineError, match="has no segment 3; it has 3, from 0"):
        scenario.alone(3)


def test_in_less_time_everything_comes_sooner():
    scenario = load("outages").lasting(4.5)
    storage = scenario.segments[0].conditions.storage
    assert scenario.seconds == 4.5
    assert storage.period == pytest.approx(1.5)
    assert [at for at, _ in storage.schedule] == pytest.approx([1, 1.15])
    assert storage.conditions.latency == 0.005
    assert load("latency-rises").lasting(9).segments[1].begin == pytest.approx(3)
    assert load("samples-grow").lasting(5).segments[1].begin == 4000
