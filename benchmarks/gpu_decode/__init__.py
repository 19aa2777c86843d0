"""Scenario gpu-decode: JPEG files decoded on the device, the CPU, or both; see scenario.md."""
