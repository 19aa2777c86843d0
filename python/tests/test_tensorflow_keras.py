"""drapps.keras.PyDataset: batches by number, in fit, evaluate and predict."""

import random
import threading

import numpy as np
import pytest

import drapps

pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
keras = pytest.importorskip("keras", reason="Keras is not installed")
from drapps.keras import PyDataset  # noqa: E402


def loader_of(photos, batch=4):
    pipeline = drapps.image_folder(photos).random_resized_crop(8).flip()
    return pipeline.to("float32", "nhwc").shuffle(3).batch(batch)


def epochs(photos, count, batch=4):
    loader = loader_of(photos, batch)
    return [[(b["image"], b["label"]) for b in loader.numpy()] for _ in range(count)]


def model():
    network = keras.Sequential([keras.layers.Input((8, 8, 3)), keras.layers.Flatten()])
    network.add(keras.layers.Dense(3, activation="softmax"))
    network.compile("sgd", "sparse_categorical_crossentropy")
    return network


class Noting(PyDataset):
    """Keeps what it gave: (epoch, number, image, label)."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.given = []

    def __getitem__(self, index):
        image, label = super().__getitem__(index)
        self.given.append((self._place[0], index, image.copy(), label.copy()))
        return image, label


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("workers", [1, 3])
def test_fit_gets_each_batch_of_each_epoch(photos, shuffle, workers):
    train = Noting(loader_of(photos), workers=workers)
    valid = Noting(loader_of(photos, 5))
    history = model().fit(train, epochs=3, shuffle=shuffle, validation_data=valid, verbose=0)
    assert len(history.history["val_loss"]) == 3
    for given, expected in ((train.given, epochs(photos, 3)), (valid.given, epochs(photos, 3, 5))):
        for epoch, index, image, label in given:
            np.testing.assert_array_equal(image, expected[epoch][index][0])
            np.testing.assert_array_equal(label, expected[epoch][index][1])
        for epoch, batches in enumerate(expected):
            asked = [index for e, index, *_ in given if e == epoch]
            assert sorted(set(asked)) == list(range(len(batches)))
            # Keras looks at the first two batches before the first epoch.
            assert len(asked) == len(batches) + (2 if epoch == 0 else 0)


@pytest.mark.parametrize("workers", [1, 2])
def test_any_order_from_any_thread_gives_the_batch_of_that_number(photos, workers):
    [expected] = epochs(photos, 1)
    data = PyDataset(loader_of(photos), workers=workers)
    assert len(data) == data.num_batches == 6
    order = [*range(6)] * 4
    random.Random(1).shuffle(order)
    wrong = []

    def ask(numbers):
        wrong.extend(n for n in numbers if not np.array_equal(data[n][0], expected[n][0]))

    threads = [threading.Thread(target=ask, args=(order[i::4],)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    for number in (6, -1):
        with pytest.raises(IndexError, match="of an epoch of 6"):
            data[number]
    assert [len(label) for _, label in data] == [4, 4, 4, 4, 4, 1]


def test_arrays_belong_to_the_caller(photos):
    [expected] = epochs(photos, 1)
    data = PyDataset(loader_of(photos))
    held = [data[i][0] for i in (0, 1, 0, 3, 3)]
    held[0][:] = -1.0
    held[3][:] = -1.0
    np.testing.assert_array_equal(held[2], expected[0][0])
    np.testing.assert_array_equal(held[4], expected[3][0])


def test_an_epoch_number_is_keras_own(photos):
    loader = loader_of(photos)
    loader.set_epoch(2)
    data = Noting(loader)
    model().fit(data, epochs=4, initial_epoch=2, shuffle=False, verbose=0)
    assert {epoch for epoch, *_ in data.given} == {2, 3}
    assert loader.state_dict()["epoch"] == 4


def test_evaluate_and_predict(photos):
    network = model()
    assert network.evaluate(PyDataset(loader_of(photos)), verbose=0) > 0
    predictions = network.predict(PyDataset(loader_of(photos), ["image"]), verbose=0)
    expected = [network.predict(image, verbose=0) for image, _ in epochs(photos, 1)[0]]
    np.testing.assert_allclose(predictions, np.concatenate(expected), rtol=1e-5)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_bad_sample_is_an_error_of_its_batch_alone(own_photos, workers):
    bad = own_photos / "class_1" / "02.jpg"
    bad.write_bytes(bad.read_bytes()[:300])
    loader = drapps.image_folder(own_photos).center_crop(8).to("float32", "nhwc").batch(4)
    data = PyDataset(loader, workers=workers)
    for number in (1, 0, 2, 5, 3, 4):
        if number == 2:
            with pytest.raises(drapps.SampleError, match=r"02\.jpg"):
                data[number]
        else:
            assert len(data[number][1]) == (1 if number == 5 else 4)
    with pytest.raises(Exception, match=r"SampleError: decode: truncated: .*02\.jpg"):
        model().fit(PyDataset(loader, workers=workers), verbose=0)


def test_wrong_columns_are_refused(photos):
    with pytest.raises(drapps.PipelineError, match="no column 'mask'"):
        PyDataset(loader_of(photos), ("image", "mask"))
    half = drapps.image_folder(photos).center_crop(8).to("bfloat16").batch(2)
    with pytest.raises(drapps.PipelineError, match="NumPy has no bfloat16"):
        PyDataset(half)
