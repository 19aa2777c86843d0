"""Scenario gpu-resident: CIFAR-like data that live on the device; see scenario.md."""
