"""The process engine: Python datasets on a changing number of worker processes.

The parent publishes batches on a board in shared memory; the processes claim them, take single
samples of one another's batches where they have nothing else to do, and leave the results in
shared memory too. `crew` starts and watches the processes, `child` is what runs in them, `start`
how they begin, `serialise` how objects cross, `job` what a framework's adapter provides.
"""
