"""The demo: one training run on real photographs, fed by the stock loader and by DRAPPS in turn.

Run it with `make demo`, or `python -m demo [--data DIR]`. The files, in the order of a run:

    wallpapers.py   which photographs there are, and how they come to this machine
    tiles.py        where in a photograph the tiles of a class lie
    photos.py       the labelled photo set, built once and kept
    feeds.py        the two loaders under comparison, made with the same arguments
    network.py      the networks
    runner.py       one run in its own process: probe, train or accelerate
    train.py        part one: training, twice
    accelerator.py  part two: an emulated accelerator and a burst of foreign CPU load
    meter.py        CPU time and memory of a process tree
    report.py       the table, the HTML report (drawn by plots.py) and the raw numbers
"""
