"""Random crops and flips of pictures that are not made yet: the same draws and pixels."""

from __future__ import annotations

import io
import threading

import pytest
import torch
from PIL import Image
from torchvision import transforms

from drapps import _core
from drapps.accelerate import moving, torch_draws
from drapps.accelerate.here import Region
from drapps.accelerate.tally import Tally
from python.tests.picture_files import large_file

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CROPS = [{}, {"scale": (0.4, 1), "interpolation": 3}, {"ratio": (7.0, 9.0)}, {"scale": (1.0, 1.0)}]


@pytest.fixture
def alone(monkeypatch):
    """No thread that another test has left draws anything."""
    monkeypatch.setattr(torch_draws.threading, "active_count", lambda: 1)


@pytest.fixture
def moved(monkeypatch):
    """How many transforms were moved together."""
    with Region(Tally(1).of_process(0)):  # Pillow is looked at, once
        pass
    counts = []
    plain = moving.Moves.moved

    def call(self, image, before):
        move = plain(self, image, before)
        counts.append(move[1])
        return move

    monkeypatch.setattr(moving.Moves, "moved", call)
    return counts


def chains(module):
    """Chains of an interface that end in numbers."""
    if module is transforms:
        numbers = [module.ToTensor(), module.Normalize(MEAN, STD)]
    else:
        numbers = [module.ToImage(), module.ToDtype(torch.float32, scale=True)]
        numbers.append(module.Normalize(MEAN, STD))
    flips = [module.RandomHorizontalFlip(0.3), module.RandomVerticalFlip()]
    crops = [module.RandomResizedCrop((40, 56), **each) for each in CROPS]
    return [module.Compose([crop, *flips, *numbers]) for crop in crops] + [
        module.Compose([module.Resize(70), module.RandomCrop(60), flips[0], *numbers]),
        module.Compose([crops[0], module.RandomGrayscale(0.5), flips[1], *numbers]),
        module.Compose([*flips, crops[0], module.Normalize(MEAN, STD)][:3] + numbers),
    ]


def repeat(chain, count=12):
    """What it makes of a picture, again and again, and the generator's state behind that."""
    torch.manual_seed(7)
    outputs = []
    for _ in range(count):
        picture = Image.open(io.BytesIO(large_file())).convert("RGB")
        outputs.append(chain(picture))
    return outputs, torch.get_rng_state()


def same(left, right):
    return torch.equal(left[1], right[1]) and all(
        type(a) is type(b) and a.stride() == b.stride() and torch.equal(a, b)
        for a, b in zip(left[0], right[0], strict=True)
    )


@pytest.fixture(params=["v1", "v2"])
def module(request, v2):
    return transforms if request.param == "v1" else v2


@pytest.mark.usefixtures("alone")
def test_numbers_are_the_same(module, moved):
    for chain in chains(module):
        theirs = repeat(chain)
        with Region(Tally(1).of_process(0)):
            ours = repeat(chain)
        assert same(theirs, ours)
    assert moved.count(3) == 12 * (len(CROPS) + 1)
    assert moved.count(1) >= 12


@pytest.mark.usefixtures("alone")
def test_transforms_of_the_users_own_are_called(module, moved):
    class Mine(module.RandomHorizontalFlip):
        def forward(self, image):
            called.append(image.size)
            return super().forward(image)

    called = []
    for chain in chains(module)[:1]:
        chain.transforms.insert(1, Mine(1.0))
        theirs, seen = repeat(chain, 3), called.copy()
        called.clear()
        with Region(Tally(1).of_process(0)):
            ours = repeat(chain, 3)
        assert same(theirs, ours)
        assert called == seen == [(56, 40)] * 3
    assert 3 not in moved


@pytest.mark.usefixtures("alone")
def test_a_function_that_a_user_replaces_is_called(monkeypatch, moved):
    chain = chains(transforms)[0]
    with Region(Tally(1).of_process(0)):
        repeat(chain, 1)
        assert moved == [3]
        plain = Image.Image.resize

        def resize(self, *arguments, **options):
            sizes.append(arguments[0])
            return plain(self, *arguments, **options)

        sizes = []
        monkeypatch.setattr(Image.Image, "resize", resize)
        repeat(chain, 1)
        monkeypatch.undo()
    assert sizes == [(56, 40)]


def test_another_thread_that_draws_is_not_overtaken(moved):
    chain, go, end = chains(transforms)[0], threading.Event(), threading.Event()

    def wait():
        go.set()
        end.wait(60)

    other = threading.Thread(target=wait)
    other.start()
    assert go.wait(60)
    theirs = repeat(chain, 2)
    with Region(Tally(1).of_process(0)):
        ours = repeat(chain, 2)
    end.set()
    other.join()
    assert same(theirs, ours)
    assert 3 not in moved  # torch was asked for each number


@pytest.mark.usefixtures("alone")
def test_a_crop_without_pixels_is_torchvisions_affair(module, moved):
    chain = chains(module)[2]
    assert chain.transforms[0].ratio == (7.0, 9.0)
    file = io.BytesIO()
    Image.new("RGB", (1, 90)).save(file, "JPEG")

    def outcome():
        torch.manual_seed(7)
        try:
            output = chain(Image.open(file).convert("RGB"))
        except Exception as error:
            output = (type(error), str(error))
        return output, torch.get_rng_state().tolist()

    theirs, state = outcome()
    with Region(Tally(1).of_process(0)):
        mine, mine_state = outcome()
    assert moved == [0]
    assert mine_state == state
    assert torch.equal(mine, theirs) if isinstance(theirs, torch.Tensor) else mine == theirs


def test_a_crop_in_one_step_is_the_same_picture(v2):
    boxes = [(3, 5, 40, 30), (0, 0, 64, 48), (10, 10, 24, 56), (-4, 0, 20, 20), (2, 2, 9000, 4)]
    for crop in (transforms.functional.resized_crop, v2.functional.resized_crop):
        for box in boxes:
            for how in ([24, 56], [9, 9]):
                picture = Image.open(io.BytesIO(large_file())).convert("RGB")
                theirs = crop(picture, *box, how)
                with Region(Tally(1).of_process(0)):
                    picture = Image.open(io.BytesIO(large_file())).convert("RGB")
                    ours = crop(picture, *box, how)
                    assert (ours.size, ours.mode, ours.info) == (
                        theirs.size,
                        theirs.mode,
                        theirs.info,
                    )
                    assert ours.tobytes() == theirs.tobytes()


@pytest.mark.usefixtures("alone")
def test_a_torchvision_that_flips_otherwise_is_left_alone(monkeypatch):
    flips = transforms.RandomHorizontalFlip, transforms.RandomVerticalFlip

    def forward(self, image):
        return transforms.functional.vflip(image) if torch.rand(1) > self.p else image

    before = torch.get_rng_state()
    assert moving.moves_of_first(lambda _: []).begin([each() for each in flips], 2) == 0
    monkeypatch.setattr(flips[1], "forward", forward)
    assert moving.moves_of_first(lambda _: []).begin([each() for each in flips], 2) == 2
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.usefixtures("alone")
def test_boxes_are_torchvisions():
    drawing = torch_draws.draws()
    assert drawing is not None
    torch.manual_seed(3)
    asked = 0
    for size in [(500, 375), (1, 1), (3, 900), (640, 480), (1 << 12, 17)]:
        image = torch.empty((3, size[1], size[0]))
        for scale, ratio in [((0.08, 1.0), (0.75, 4 / 3)), ((0.0, 0.01), (0.5, 0.5))] * 50:
            before = torch.get_rng_state()
            logarithms = torch_draws.logarithms_of(ratio)
            box = drawing.box(size, scale, ratio, logarithms)
            after = torch.get_rng_state()
            torch.set_rng_state(before)
            theirs = transforms.RandomResizedCrop.get_params(image, scale, ratio)
            if box is None:  # only torch's exponential tells, or the box is empty
                asked += min(theirs[2:]) > 0
                assert torch.equal(before, after)
            else:
                assert box == theirs
                assert torch.equal(after, torch.get_rng_state())
    assert asked < 10


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("probability", [0, 0.3, 0.5, 1, 1.0])
def test_flips_happen_as_in_torch(probability):
    drawing = torch_draws.draws()
    torch.manual_seed(4)
    state = torch.get_rng_state()
    theirs = [bool(torch.rand(1) < probability) for _ in range(700)]
    torch.set_rng_state(state)
    assert [drawing.happens(probability) for _ in range(700)] == theirs


@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("probability", [-1, 2.0, True, None, torch.tensor(0.5)])
def test_what_is_no_probability_is_torchs_affair(probability):
    before = torch.get_rng_state()
    assert torch_draws.draws().happens(probability) is None
    assert torch.equal(before, torch.get_rng_state())


def test_a_damaged_state_is_an_error():
    state = torch.get_rng_state().numpy().copy()
    state[8:12] = (5, 0, 0, 0)  # numbers left
    state[16:24] = 255  # the next of them
    with pytest.raises(ValueError, match="damaged"):
        _core.torch_uniform(state, 0.0, 1.0, False)
