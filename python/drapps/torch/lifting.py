"""From a torch DataLoader to the native description that yields the same distributions.

What is kept: which samples, which distributions of random numbers, and the arithmetic on pixels,
byte for byte. What is not: the random numbers themselves. Whatever is not certain stays with stock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.utils.data
from torch.utils.data._utils.collate import default_collate_fn_map

from drapps.arguments import byte_count
from drapps.errors import PipelineError
from drapps.policy import name_of as name_of_policy
from drapps.report.base import mib
from drapps.spec import Decode, Mask, Sampler, Spec, Tensor
from drapps.torch import (
    pictures,
    transforms_presets,
    transforms_timm,
    transforms_v1,
    transforms_v2,
)
from drapps.torch.arrays import Arrays, recognise_arrays
from drapps.torch.chain import Chain, Form, MaskForm, recognise
from drapps.torch.folder import Folder, recognise_folder
from drapps.torch.kept import without_subsets
from drapps.torch.native_order import Kind, NativeOrder, recognise_order
from drapps.torch.own import WALK, is_own
from drapps.torch.pairs import Pairs, is_wrapped, recognise_pairs
from drapps.torch.recognise import NotLifted, name_of, require_own
from drapps.torch.report import LiftReport

TABLE = {
    **transforms_v1.TABLE,
    **transforms_v2.TABLE,
    **transforms_timm.TABLE,
    **transforms_presets.TABLE,
}
_FIXED = ("center_crop", "crop", "grayscale", "pad", "resize")  # ops that draw nothing
CONTAINERS = {**transforms_v1.CONTAINERS, **transforms_v2.CONTAINERS}


# Conversions whose values were found equal, oldest first: see _require_equal_values.
_known: list[tuple[Any, ...]] = []
_MOST_KNOWN = 16


@dataclass(frozen=True, eq=False)
class Recipe:
    """What to run natively.

    Attributes:
        folder: the dataset, of files or in memory.
        order: of its samples.
        spec: the core's description, with seeds left at 0.
        report: what the user is told.
        ahead: batches that stock workers would be asked for ahead; data in memory is read then.
    """

    folder: Folder | Pairs | Arrays
    order: NativeOrder
    spec: Spec
    report: LiftReport
    ahead: int


def recipe_of(loader: torch.utils.data.DataLoader[Any], on_error: str) -> Recipe:
    """How to run `loader` natively.

    Raises:
        NotLifted: it does something that has no native form; the sentence says what.
    """
    WALK.refresh()
    _require_plain(loader)
    folder = recognise_dataset(loader.dataset)
    chain = _chain_over(folder)
    order = recognise_order(loader, len(folder))
    if getattr(loader, "torch_order", False):
        _require_nothing_drawn(chain, order)
    spec = Spec(
        decode=Decode(depth="clip"),
        ops=chain.ops,
        tensor=Tensor(
            dtype="uint8" if chain.form is Form.BYTES else "float32",
            scale=chain.scale != "none",
            reciprocal=True if chain.scale == "multiply" else None,
            mean=chain.mean,
            std=chain.std,
        ),
        mask=Mask(chain.mask.dtype, channel=True) if chain.mask else None,
        sampler=Sampler(  # a user's sampler deals by itself: see NativeOrder.own_seed
            shuffle=order.kind is Kind.SHUFFLED,
            batch=order.batch_size,
            remainder="drop" if order.drop_last else "even",
        ),
        on_error=on_error,
    )
    report = LiftReport(
        native=True,
        dataset=folder.description,
        transforms=tuple(chain.lifted),
        order=str(order),
        pillow_order=chain.pass_order if chain.pillow_resizes else "",
        torch_resizes=chain.torch_resizes,
        cache="" if isinstance(folder, Arrays) else _kept(loader),
        notes=_notes(loader) + (() if isinstance(folder, Arrays) else (pictures.NOTE,)),
    )
    ahead = loader.num_workers * (loader.prefetch_factor or 0)
    return Recipe(folder, order, spec, report, ahead)


def _kept(loader: torch.utils.data.DataLoader[Any]) -> str:
    """What the cache keeps, in a line."""
    budget, form = getattr(loader, "cache", "auto"), getattr(loader, "form", "auto")
    if budget == "off":
        return "nothing is kept of the files"
    room = "half of the RAM that batches leave"
    if budget != "auto":
        room = f"{mib(byte_count('cache', budget))} of RAM"
    if form == "auto" and budget == "auto":
        return f"files that storage makes readers wait for, in at most {room}"
    if form == "index":
        return f"where decoding of each JPEG can begin, in at most {room}"
    return f"files as {'jpeg+index' if form == 'auto' else form}, in at most {room}"


def recognise_dataset(dataset: Any) -> Folder | Pairs | Arrays:
    """What a dataset is.

    Raises:
        NotLifted: nothing that is known, or something that does more than what is known.
    """
    arrays = recognise_arrays(dataset)
    if arrays is not None:
        return arrays
    if is_wrapped(without_subsets(dataset)[0]):
        return recognise_pairs(dataset)
    return recognise_folder(dataset)


def _chain_over(data: Folder | Pairs | Arrays) -> Chain:
    if isinstance(data, Pairs):
        return chain_of(data.transform, MaskForm())
    return chain_of(data.transform, channels=data.channels) if data.channels else Chain.of_rows()


def chain_of(transform: Any, mask: MaskForm | None = None, channels: int = 3) -> Chain:
    """The native form of a transform of a Pillow picture, and of its mask where there is one.

    Raises:
        NotLifted: a part of it has none, or its result is no tensor.
    """
    chain = Chain(installed_pass_order(), mask, channels)
    try:
        if mask is None:
            recognise(transform, chain, TABLE, CONTAINERS)
        else:  # only v2 takes both at once
            recognise(transform, chain, transforms_v2.TABLE, transforms_v2.CONTAINERS)
    except PipelineError as error:
        raise NotLifted(f"a transform cannot be described: {error}") from None
    if chain.form is Form.PICTURE:
        raise NotLifted("the transforms end in a Pillow picture, not in a tensor")
    _require_equal_values(chain)
    return chain


def installed_pass_order() -> str:
    """The order of the resize passes in the installed Pillow.

    Raises:
        NotLifted: Pillow is absent, or is Pillow-SIMD, whose arithmetic is another.
    """
    try:
        import PIL
    except ImportError:
        raise NotLifted("Pillow is not installed, whose arithmetic is to be matched") from None
    if ".post" in PIL.__version__:
        raise NotLifted(f"Pillow-SIMD {PIL.__version__} resizes by another arithmetic than Pillow")
    major = int(PIL.__version__.partition(".")[0])
    return "pillow13" if major >= 13 else "horizontal_first"


def _require_plain(loader: torch.utils.data.DataLoader[Any]) -> None:
    if isinstance(loader.dataset, torch.utils.data.IterableDataset):
        raise NotLifted("the dataset is iterable-style")
    if loader.batch_sampler is None:
        raise NotLifted("batch_size=None yields single samples")
    if loader.collate_fn is not torch.utils.data.default_collate:
        raise NotLifted(f"collate_fn is {name_of(loader.collate_fn)}")
    if not is_own(loader.collate_fn):
        raise NotLifted(f"{name_of(loader.collate_fn)} was replaced")
    require_own(loader.collate_fn, *default_collate_fn_map.values())
    for kind, function in default_collate_fn_map.items():
        if not is_own(function):
            raise NotLifted(f"default_collate has a function of yours for {kind}")
    if torch.get_default_device().type != "cpu":
        raise NotLifted(f"torch makes its tensors on {torch.get_default_device()}")
    if loader.worker_init_fn is not None:
        raise NotLifted("worker_init_fn is set, and native threads would never call it")


def _require_nothing_drawn(chain: Chain, order: NativeOrder) -> None:
    if order.kind is Kind.SHUFFLED:
        raise NotLifted("torch_order=True keeps torch's own shuffled order")
    for op in chain.ops:
        fixed = op["op"] == "resize_keep_ratio" and not (
            op["scale_p"] or op["aspect_p"] or op["interpolation"] == "random"
        )
        if op["op"] not in _FIXED and not fixed:
            raise NotLifted(
                f"torch_order=True keeps torch's random numbers, which {op['op']} draws"
            )


def _require_equal_values(chain: Chain) -> None:
    """Runs all 256 byte values through the user's own conversions and compares.

    This catches what recognition cannot see, such as another default dtype of torch. What was found
    equal is asked again only where an object or a parameter is another one.
    """
    from PIL import Image

    question = (*chain.numeric, *map(str, (chain.form, chain.scale, chain.mean, chain.std)))
    question = (*question, chain.channels, torch.get_default_dtype())
    if _is_known(question):
        return
    ramp = bytes(range(256))
    planes = [Image.frombytes("L", (256, 1), ramp)] * chain.channels
    value: Any = planes[0] if chain.channels == 1 else Image.merge("RGB", planes)
    for transform in chain.numeric:
        value = transform(value)
    output = value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value
    expected = _expected_values(chain)
    if not isinstance(output, torch.Tensor) or output.dtype != expected.dtype:
        raise NotLifted(f"the transforms give {getattr(output, 'dtype', type(output).__name__)}")
    if not torch.equal(output, expected):
        raise NotLifted("the conversion to numbers gives other values than its formula says")
    _known.append(question)
    del _known[:-_MOST_KNOWN]


def _is_known(question: tuple[Any, ...]) -> bool:
    return any(
        len(known) == len(question)
        and all(
            a is b or (isinstance(a, (str, int)) and a == b)
            for a, b in zip(known, question, strict=True)
        )
        for known in _known
    )


def _expected_values(chain: Chain) -> torch.Tensor:
    ramp = torch.arange(256, dtype=torch.uint8).expand(chain.channels, 1, 256)
    if chain.form is Form.BYTES:
        return ramp
    value = ramp.to(torch.float32)
    if chain.scale == "divide":
        value = value / 255
    elif chain.scale == "multiply":
        value = value * (1.0 / 255)
    if chain.mean:
        mean = torch.tensor(chain.mean, dtype=torch.float32).view(-1, 1, 1)
        std = torch.tensor(chain.std, dtype=torch.float32).view(-1, 1, 1)
        value = (value - mean) / std
    return value


def _notes(loader: torch.utils.data.DataLoader[Any]) -> tuple[str, ...]:
    notes = ["random numbers are DRAPPS' own: same distributions, other draws"]
    if loader.num_workers:
        notes.append(
            f"num_workers={loader.num_workers} starts no processes: threads work within cpu_budget"
        )
    if name_of_policy(getattr(loader, "policy", None) or "initial") == "trials":
        notes.append("policy=trials moves nothing: it is about the number of worker processes")
    if loader.timeout:
        notes.append("timeout is not used")
    if not loader.in_order:
        notes.append("in_order=False is not used: batches come in order")
    return tuple(notes)
