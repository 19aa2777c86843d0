"""A training and a validation pipeline by the builder: `python examples/builder.py DIR`.

DIR holds one folder of pictures per class. Needs NumPy alone: batches are arrays.
"""

import sys

import drapps

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def main(root: str) -> None:
    """Goes over two epochs of the one and one of the other."""
    files = drapps.image_folder(root).normalize(MEAN, STD)
    # A pipeline is immutable, so both may begin with the same part.
    train = files.random_resized_crop(64).flip().color_jitter(0.4, 0.4, 0.4).shuffle(seed=1)
    valid = files.resize(72).center_crop(64)

    train_loader = train.batch(8, drop_last=True)
    valid_loader = valid.batch(8)
    print(f"{train_loader.dataset_size} pictures of {', '.join(train_loader.classes)}")
    for epoch in range(2):
        for batch in train_loader.numpy():
            images, labels = batch["image"], batch["label"]
            print(f"epoch {epoch}: {images.shape} {images.dtype}, labels {labels.tolist()}")
    seen = sum(len(batch["label"]) for batch in valid_loader.numpy())
    print(f"validated on {seen}")


if __name__ == "__main__":
    main(sys.argv[1])
