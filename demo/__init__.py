"""The demo: one training run on real photographs, fed by the stock loader and by DRAPPS in turn.

Run it with `make demo`, or `python -m demo [--data DIR]`. The files, in the order of a run:

    wallpapers.py   which photographs there are, and how they come to this machine
    tiles.py        where in a photograph the tiles of a class lie
    photos.py       the labelled photo set, built once and kept
    userdata.py     a folder of the user's own in its place
    feeds.py        the two loaders under comparison, made with the same arguments
    network.py      the networks
    plan.py         which runs there are, and their order
    process.py      starts each run in a process of its own (runner.py), shows how far it is
    probe.py        the runs: stock's best num_workers,
    train.py        training,
    accelerator.py  an emulated accelerator and a burst of foreign CPU load
    meter.py        CPU time and memory of a process tree
    results.py      all that was measured; summary.py makes the numbers of the tables of it
    report.py       the tables on the terminal
    page.py         the HTML report, its plots drawn by drapps.scenario.plots
"""
