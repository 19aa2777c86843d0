"""Batches of tf.data that take as long as a case says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from benchmarks.watch.samples import STORE, jpeg

_DECODED, _ROUNDS = 200, 5  # times, to know how long once takes


class Batches(Iterator[Any]):
    """Their samples are read and decoded one after the other.

    Reading is Python code that waits, decoding operations of TensorFlow. Where steps are to wait
    for little, nothing is made ahead.
    """

    def __init__(self, spent: dict[str, float], case: dict[str, Any]) -> None:
        self._picture = tf.constant(jpeg())
        self._goes_on = tf.Variable(True)
        each = (spent["decode"] + spent.get("blur", 0.0)) / self._decoding_s()

        def read(index: Any) -> Any:
            STORE.get(spent["read"])
            return index

        def sample(index: Any) -> Any:
            if spent.get("read"):
                index = tf.numpy_function(read, [index], tf.int64)
            begin = each * tf.cast(index, tf.float64)
            return self._decoded(tf.cast(tf.floor(begin + each) - tf.floor(begin), tf.int32))

        dataset = tf.data.Dataset.range(10**6).take_while(lambda _: self._goes_on)
        dataset = dataset.map(sample).batch(case["batch"])
        self._batches = iter(dataset if "tf_wait" in case["causes"] else dataset.prefetch(2))

    def __next__(self) -> Any:
        return next(self._batches)

    def close(self) -> None:
        """Takes what is under way.

        TensorFlow waits for it where the iterator goes, and keeps the interpreter that it needs.
        """
        self._goes_on.assign(False)
        for _ in self._batches:
            pass

    def _decoded(self, times: Any) -> Any:
        """Decodes a picture so often."""

        def again(done: Any, total: Any) -> Any:
            # All of it, but the graph cannot know that it is the same each time.
            data = tf.strings.substr(self._picture, 0, tf.strings.length(self._picture) + done)
            return done + 1, total + tf.reduce_mean(tf.cast(tf.io.decode_jpeg(data), tf.float32))

        start = (0, 0.0)
        return tf.while_loop(lambda done, _: done < times, again, start, parallel_iterations=1)[1]

    def _decoding_s(self) -> float:
        """Seconds of decoding once, on a machine that does nothing else."""
        decode = tf.function(self._decoded)
        decode(tf.constant(1))
        timings = []
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            decode(tf.constant(_DECODED))
            timings.append((time.perf_counter() - begun) / _DECODED)
        return min(timings)
