"""Where the iteration over a loader begins, in each library: there one can be put in its place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from drapps.errors import PipelineError
from drapps.watching.grain_pipelines import within_pipeline

Plain = Callable[[Any], Iterator[Any]]
Iterated = Callable[[Any, Plain], Iterator[Any]]

_FEWEST = 8  # elements of what may be trained on; a script that looks at its data takes less
_GRAPHS = ("keras.src.backend.tensorflow", "tf_keras.", "tensorflow.python.distribute")


def hooks(iterated: Iterated) -> dict[str, Callable[[Any], None]]:
    """Functions that hook modules, by their names.

    Args:
        iterated: is called in the place of ``iter()`` of a loader, with the loader and a function
            that gives an iterator of any loader of its kind as it is.
    """
    return {
        "torch.utils.data.dataloader": lambda module: _replace(module.DataLoader, iterated),
        "drapps.loader": lambda module: _replace(module.Loader, iterated),
        "tensorflow.python.data.ops.dataset_ops": lambda module: _tensorflow(module, iterated),
        "grain._src.python.data_loader": lambda module: _replace(module.DataLoader, iterated),
        "grain._src.python.dataset.dataset": lambda module: _grain(module, iterated),
    }


def _replace(kind: Any, iterated: Iterated) -> None:
    plain = kind.__iter__
    kind.__iter__ = lambda loader: iterated(loader, plain)


def _tensorflow(module: Any, iterated: Iterated) -> None:
    plain = module.DatasetV2.__iter__

    def begun(dataset: Any) -> Iterator[Any]:
        eager = module.context.executing_eagerly() and not module.ops.inside_function()
        if not eager or 0 <= int(dataset.cardinality()) < _FEWEST:
            return plain(dataset)  # type: ignore[no-any-return]
        return iterated(dataset, plain)

    module.DatasetV2.__iter__ = begun


def _grain(module: Any, iterated: Iterated) -> None:
    """Each iteration passes the end of Grain's pipelines, be it of a user or of its DataLoader.

    A dataset takes what is put behind it there for a child of its own, and does not pass it again;
    so it is told that it has none.
    """
    output = module._OutputIterDataset
    datasets: dict[int, Any] = {}  # by its parent, a dataset that is made anew for each pass
    behind = output.__iter__

    def plain(dataset: Any) -> Iterator[Any]:
        iterator: Iterator[Any] = behind(output(dataset))
        dataset.has_child = False
        return iterator

    def begun(end: Any) -> Iterator[Any]:
        dataset = end._parent
        of_loader = type(dataset).__name__ == "_DataLoaderPipelineMarkerIterDataset"
        if of_loader or within_pipeline():
            return behind(end)  # type: ignore[no-any-return]
        parents: Any = getattr(dataset, "_parents", ())
        if len(parents) == 1 and isinstance(parents[0], module.MapDataset):
            dataset = datasets.setdefault(id(parents[0]), dataset)
        dataset.has_child = False
        return iterated(dataset, plain)

    output.__iter__ = begun


def refuse_graphs() -> None:
    """Keras on TensorFlow takes batches within a graph, where none can be put in their place.

    Raises:
        PipelineError: it is what has called.
    """
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(_GRAPHS):
            raise PipelineError(
                "here the training takes its batches within a graph of TensorFlow, where none can "
                "be measured one by one: in a script, call drapps.analyze(dataset, lambda batch: "
                "model.train_on_batch(*batch))"
            )
        frame = frame.f_back  # type: ignore[assignment]
