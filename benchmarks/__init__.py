"""Benchmarks: one folder per scenario, one file per contestant, one reporter.

Run them with `make bench`, or `python -m benchmarks.run [SCENARIO]`.

    run.py               the command line
    report.py            the table, the JSON, the dated copy in results/
    contestant.py        the parent's side of a contestant, and the rounds
    feed.py              the child's side of one in Python
    journal.py           what was measured so far, so that a run can be taken up again
    <scenario>/          scenario.md says what is measured, and how; scenario.py does it
"""
