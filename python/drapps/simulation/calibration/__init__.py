"""Fits the simulator to a machine: short runs are measured, and numbers found that explain them.

`own_machine` is what ``drapps calibrate`` does, `live` what `drapps.calibrate` does. Both measure
stretches (`stretch`), fit a world to them (`fit`) and ask the simulator what it says of each.
"""
