"""Pictures with masks and boxes, which move together: `python examples/masks_and_boxes.py`.

Draws its own pictures with Pillow: an ellipse each, with its mask and its box.
"""

import io

import numpy as np
from PIL import Image, ImageDraw

import drapps

HEIGHT, WIDTH = 120, 160


def encoded(picture: Image.Image) -> bytes:
    """A picture as PNG."""
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def main() -> None:
    """Crops, flips and checks that each box still holds its ellipse."""
    draw = np.random.default_rng(0)
    pictures, masks, corners = [], [], []
    for number in range(12):
        left, top = draw.integers(0, WIDTH - 60), draw.integers(0, HEIGHT - 50)
        edges = (int(left), int(top), int(left) + 59, int(top) + 49)  # of the last pixels
        picture = Image.new("RGB", (WIDTH, HEIGHT), (40, 40, 40))
        ImageDraw.Draw(picture).ellipse(edges, (250, 20 * number, 0))
        mask = Image.new("L", (WIDTH, HEIGHT), 0)  # the number of a pixel is its class
        ImageDraw.Draw(mask).ellipse(edges, 1)
        pictures.append(encoded(picture))
        masks.append(encoded(mask))
        corners.append((left, top, left + 60, top + 50))

    # Sample i has the boxes from offsets[i] to offsets[i + 1]: one each here.
    offsets, classes = np.arange(len(pictures) + 1), np.ones(len(pictures), int)
    loader = (
        drapps.image_bytes(pictures, masks=masks, boxes=(offsets, corners, classes))
        .random_resized_crop(96, scale=(0.5, 1.0))
        .flip()
        .max_boxes(4)
        .batch(4)
    )
    for batch in loader.numpy():
        for row in range(len(batch["image"])):
            count = int(batch["box_counts"][row])
            rows, columns = np.nonzero(batch["mask"][row])
            for x0, y0, x1, y1 in batch["boxes"][row, :count]:
                inside = (columns >= x0 - 1) & (columns <= x1) & (rows >= y0 - 1) & (rows <= y1)
                assert inside.all(), "a mask left its box"
            print(f"sample {batch['index'][row]}: {len(rows)} mask pixels, {count} box")


if __name__ == "__main__":
    main()
