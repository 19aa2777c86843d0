"""Batches of tf.data that take as long as a case says."""

from __future__ import annotations

import math
import time
from typing import Any

import tensorflow as tf

from benchmarks.watch.samples import STORE, jpeg

_DECODED, _ROUNDS = 200, 5  # times, to know how long once takes


def batches(spent: dict[str, float], case: dict[str, Any]) -> Any:
    """An iterator of batches whose samples are read and decoded one after the other.

    Reading is Python code that waits, decoding operations of TensorFlow. Where steps are to wait
    for little, nothing is made ahead. Who ends lets go of the iterator before: the interpreter
    waits for Python code that TensorFlow calls while it ends.
    """
    data = tf.constant(jpeg())
    size = tf.strings.length(data)

    def decode(times: Any) -> Any:
        def again(done: Any, total: Any) -> Any:
            # All of it, but the graph cannot know that it is the same each time.
            picture = tf.io.decode_jpeg(tf.strings.substr(data, 0, size + done))
            return done + 1, total + tf.reduce_mean(tf.cast(picture, tf.float32))

        start = (0, 0.0)
        return tf.while_loop(lambda done, _: done < times, again, start, parallel_iterations=1)[1]

    once = _seconds(tf.function(decode))
    owed = 0.0

    def times(_: Any) -> int:
        nonlocal owed
        fraction, whole = math.modf(owed + (spent["decode"] + spent.get("blur", 0.0)) / once)
        owed = fraction
        return int(whole)

    def read(index: Any) -> Any:
        STORE.get(spent["read"])
        return index

    def sample(index: Any) -> Any:
        if spent.get("read"):
            index = tf.py_function(read, [index], tf.int64)
        return decode(tf.cast(tf.numpy_function(times, [index], tf.int64), tf.int32))

    dataset = tf.data.Dataset.range(10**6).map(sample).batch(case["batch"])
    return iter(dataset if "tf_wait" in case["causes"] else dataset.prefetch(2))


def _seconds(decode: Any) -> float:
    """What decoding takes once, on a machine that does nothing else."""
    decode(tf.constant(1))
    timings = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        decode(tf.constant(_DECODED))
        timings.append((time.perf_counter() - begun) / _DECODED)
    return min(timings)
