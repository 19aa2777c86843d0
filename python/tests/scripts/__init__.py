"""Generated scripts, run with the stock loader and with ours, and compared by what is promised.

A seed makes a whole script of parts: a dataset, an order, a `collate_fn`, options, and a plan that
says how the loader is iterated and where that is interrupted. The line that imports the loader
class is the only one that differs between the runs, but for two constants of runs of ours: another
number of workers, and whether a pass is left and gone on with from its state.

* ``datasets``, ``orders``, ``options`` and ``plans`` hold the parts, as text;
* ``compose`` makes a script of them;
* ``record`` is what a script writes down about its batches;
* ``runner`` runs scripts in forked copies of a process that has imported torch;
* ``compare`` says what of two records must be equal.
"""
