"""What the tests of `stats()` share."""

import time

ROOMY = 240  # seconds, within which a child has ended


def run(loader, epochs=1, step=0.0):
    """Trains for that many epochs, a step of that many seconds."""
    for _ in range(epochs):
        for _ in loader:
            time.sleep(step)


def parts_of(workers):
    """The sum of all that a worker's time can go to."""
    lanes = sum(sum(lane.values()) for lane in workers.lanes.values())
    return lanes + sum(
        workers[f"{part}_s"] for part in ("idle", "window", "memory", "storage", "paused", "other")
    )


def risen_only(stats):
    """What never goes back, by name."""
    workers = stats.workers
    names = ("wall", "idle", "window", "memory", "storage", "paused", "other", "cpu")
    numbers = {name: workers[f"{name}_s"] for name in names}
    for name, lane in workers.lanes.items():
        # Of two numbers that sum to whole nanoseconds the sum is rounded by how they are split.
        numbers |= {f"{name} cpu": lane["cpu_s"], f"{name} wall": round(sum(lane.values()), 9)}
    for name, lane in stats.lanes.items():
        numbers |= {f"{name} count": lane.service_s.count, f"{name} sum": lane.service_s.sum}
    consumer = stats.consumer
    numbers |= {"batches": stats.batches, "samples": stats.samples, "bytes": stats.storage.bytes}
    numbers |= {"steps": consumer.step_s.sum, "stalls": consumer.stall_s.sum}
    return numbers | {"helped": consumer.helped_s, "between": consumer.between_s}


def smallest(distribution):
    """Upper edge of the bucket of the smallest one."""
    return distribution.buckets[0][0]
