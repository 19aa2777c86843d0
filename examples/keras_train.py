"""A Keras model that trains on a pipeline's batches: `python examples/keras_train.py DIR`.

DIR holds one folder of pictures per class. Needs Keras with any of its backends.
"""

import sys

import keras

import drapps
from drapps.keras import PyDataset


def main(root: str) -> None:
    """Trains a small network for three epochs, and validates after each."""
    files = drapps.image_folder(root).to("float32", layout="nhwc")
    train = files.random_resized_crop(32).flip().shuffle(seed=1).batch(8)
    valid = files.resize(36).center_crop(32).batch(8)

    model = keras.Sequential(
        [
            keras.layers.Input((32, 32, 3)),
            keras.layers.Conv2D(8, 3, strides=2, activation="relu"),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dense(len(train.classes)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(0.1), loss)
    # The loader has shuffled the samples; in order, it works ahead.
    history = model.fit(
        PyDataset(train), epochs=3, shuffle=False, validation_data=PyDataset(valid), verbose=0
    ).history
    for epoch, (fitted, validated) in enumerate(
        zip(history["loss"], history["val_loss"], strict=True)
    ):
        print(f"epoch {epoch}: loss {fitted:.3f}, on other crops {validated:.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
