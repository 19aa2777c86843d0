"""The chains of torchvision's reference training scripts, which are not part of its package.

The scripts make them from the same arguments: an API, and whether pictures or tensors are moved.
"""

import torch

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BACKENDS = ("pil", "tensor")


def numbers(api, second, backend):
    """What follows the moves: a tensor of normalised floats."""
    first = [api.PILToTensor()] if backend == "pil" else []
    if second:
        to_float, last = api.ToDtype(torch.float, scale=True), [api.ToPureTensor()]
    else:
        to_float, last = api.ConvertImageDtype(torch.float), []
    return [*first, to_float, api.Normalize(mean=MEAN, std=STD)], last


class OfPictures:
    """Calls its chain."""

    def __call__(self, img):
        """As the scripts do."""
        return self.transforms(img)


class ClassificationTrain(OfPictures):
    """A random part, a flip, perhaps a policy of `api`, numbers, an erasure."""

    def __init__(self, api, backend, size=24, policy=None, erase=0.0):
        second = api.__name__.endswith("v2")
        moves = [api.PILToTensor()] if backend == "tensor" else []
        moves += [api.RandomResizedCrop(size, antialias=True), api.RandomHorizontalFlip(0.5)]
        moves += [policy] if policy else []
        middle, last = numbers(api, second, backend)
        erasing = [api.RandomErasing(p=erase)] if erase else []
        self.transforms = api.Compose([*moves, *middle, *erasing, *last])


class ClassificationEval(OfPictures):
    """The middle of a resized picture, numbers."""

    def __init__(self, api, backend, size=24, resize=32):
        second = api.__name__.endswith("v2")
        moves = [api.PILToTensor()] if backend == "tensor" else []
        moves += [api.Resize(resize, antialias=True), api.CenterCrop(size)]
        middle, last = numbers(api, second, backend)
        self.transforms = api.Compose([*moves, *middle, *last])


class OfPairs:
    """Calls its chain with a picture and its mask."""

    def __call__(self, img, target):
        """As the scripts do."""
        return self.transforms(img, target)


class SegmentationTrain(OfPairs):
    """A random size, a flip, a border where the picture is too small, a random part, numbers."""

    def __init__(self, v2, tv_tensors, backend, base=60, size=40, smaller=None):
        to_tensor = {"pil": None, "tensor": v2.PILToTensor(), "tv_tensor": v2.ToImage()}[backend]
        of_picture = tv_tensors.Image if backend == "tv_tensor" else torch.Tensor
        dtypes = {of_picture: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
        moves = [to_tensor] if to_tensor else []
        moves += [v2.RandomResize(base // 2, base * 2), v2.RandomHorizontalFlip(0.5)]
        moves += [smaller] if smaller else []
        moves += [v2.RandomCrop(size, pad_if_needed=smaller is None, fill=fill_of(tv_tensors))]
        moves += [] if to_tensor else [v2.PILToTensor()]
        floats = [v2.ToDtype(dtypes, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor()]
        self.transforms = v2.Compose([*moves, *floats])


class SegmentationEval(OfPairs):
    """One size for all, numbers."""

    def __init__(self, v2, backend, base=44):
        moves = {"pil": [], "tensor": [v2.PILToTensor()], "tv_tensor": [v2.ToImage()]}[backend]
        moves += [v2.Resize(size=(base, base))]
        moves += [v2.ToImage()] if backend == "pil" else []
        floats = [v2.ToDtype(torch.float, scale=True), v2.Normalize(MEAN, STD), v2.ToPureTensor()]
        self.transforms = v2.Compose([*moves, *floats])


def fill_of(tv_tensors):
    """Zeros around pictures, and around masks what losses are told to ignore."""
    return {tv_tensors.Mask: 255, "others": 0}
