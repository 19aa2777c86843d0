"""Python datasets on a changing number of worker processes.

The parent puts commands on a board in shared memory; the processes claim them, take single samples
of one another's batches where they have nothing else to do, and leave the results in shared memory
too. `pool` starts and watches the processes, `assignment` says which of them makes what,
`autoscaler` and `migration` change their number, and `recovery` answers deaths. `child` is what
runs in a process, `launch` how it begins, `commands` and `serialise` are what crosses, and `job` is
what a framework's adapter provides.
"""
