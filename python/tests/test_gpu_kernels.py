"""The kernels of devices compile for GPUs, where NVRTC is at hand."""

import importlib.util
import re

import pytest

pytest.importorskip("nvidia", reason="NVRTC is not installed")
if importlib.util.find_spec("nvidia.cuda_nvrtc") is None:
    pytest.skip("NVRTC is not installed", allow_module_level=True)

from tools import gpu_kernels


def test_every_kernel_compiles_for_the_first_and_the_last_architecture():
    nvrtc = gpu_kernels.Nvrtc()
    for architecture in (gpu_kernels.ARCHITECTURES[0], gpu_kernels.ARCHITECTURES[-1]):
        cubin = nvrtc.compile(architecture)
        assert cubin.startswith(b"\x7fELF")
        for kernel in re.findall(r"drapps_\w+(?=\()", (gpu_kernels.SOURCE / "gpu.cu").read_text()):
            assert kernel.encode() in cubin


def test_ptx_has_no_contracted_floats():
    ptx = gpu_kernels.Nvrtc().compile(gpu_kernels.ARCHITECTURES[0], ptx=True)
    assert b".target sm_75" in ptx
    assert b"fma." not in ptx


def test_the_source_holds_every_image():
    text = gpu_kernels.source_of([(75, False, b"\x01\x02"), (75, True, b"a\0")])
    assert "kImage0[] = {1,2};" in text
    assert "KernelImage{75, true, kImage1}" in text
