"""Compile the kernels of src/drapps/device/kernel for GPUs: `python -m tools.gpu_kernels OUT`.

NVRTC comes as a wheel (nvidia-cuda-nvrtc-cu12) and needs no GPU, no driver and no toolkit. What it
makes of CUDA 12 loads with every driver that knows the architecture. OUT is what
src/drapps/device/cuda/images.cc includes: one cubin for each architecture, and PTX of the first for
those to come.
"""

from __future__ import annotations

import ctypes
import importlib.util
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = ROOT / "src/drapps"
SOURCE = CORE / "device/kernel"
ARCHITECTURES = (75, 80, 86, 89, 90, 100, 120)
OPTIONS = (
    "--std=c++20",
    "--fmad=false",  # the host's compiler contracts nothing either
    "--device-as-default-execution-space",  # bodies carry no marks
)

# All that bodies, and what they include, have of the standard library.
STANDARD = {
    "cstdint": """
namespace std {
using int8_t = signed char; using int16_t = short; using int32_t = int; using int64_t = long long;
using uint8_t = unsigned char; using uint16_t = unsigned short; using uint32_t = unsigned;
using uint64_t = unsigned long long;
}
""",
    "cstddef": "namespace std { using size_t = decltype(sizeof(0)); }",
    "array": """
namespace std {
template <class T, decltype(sizeof(0)) N> struct array {
  T items[N];
  constexpr T& operator[](decltype(sizeof(0)) i) { return items[i]; }
  constexpr const T& operator[](decltype(sizeof(0)) i) const { return items[i]; }
};
}
""",
    "bit": """
namespace std {
template <class To, class From> constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
}
""",
    "cmath": "namespace std { using ::sqrt; }",
    "limits": """
namespace std {
template <class T> struct numeric_limits;
template <> struct numeric_limits<double> {
  static double infinity() { return __longlong_as_double(0x7ff0000000000000LL); }
};
}
""",
}
# Headers of other folders that bodies include.
SHARED = ("base/exact_math.h", "base/half.h", "base/philox.h")


class Nvrtc:
    """The library, as far as it is needed here."""

    def __init__(self) -> None:
        """Raises ModuleNotFoundError where the wheel is not installed."""
        spec = importlib.util.find_spec("nvidia.cuda_nvrtc")
        if spec is None or not spec.submodule_search_locations:
            raise ModuleNotFoundError("there is no NVRTC: pip install nvidia-cuda-nvrtc-cu12")
        folder = Path(next(iter(spec.submodule_search_locations))) / "lib"
        self._library = ctypes.CDLL(str(next(folder.glob("libnvrtc.so.*"))))
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def _call(self, name: str, *arguments: object) -> int:
        return int(getattr(self._library, name)(*arguments))

    def _check(self, result: int, program: ctypes.c_void_p) -> None:
        if result == 0:
            return
        size = ctypes.c_size_t()
        self._call("nvrtcGetProgramLogSize", program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        self._call("nvrtcGetProgramLog", program, log)
        error = self._library.nvrtcGetErrorString(result).decode()
        sys.exit(f"gpu_kernels: {error}\n{log.value.decode()}")

    def _got(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._check(self._call(f"nvrtcGet{what}Size", program, ctypes.byref(size)), program)
        data = ctypes.create_string_buffer(size.value)
        self._check(self._call(f"nvrtcGet{what}", program, data), program)
        return data.raw

    def compile(self, architecture: int, *, ptx: bool = False) -> bytes:
        """The cubin of an architecture; or PTX, for it and those that follow."""
        paths = [*SOURCE.glob("*.h"), *(CORE / name for name in SHARED)]
        headers = {f"drapps/{path.relative_to(CORE)}": path.read_bytes() for path in paths}
        headers |= {name: f"#pragma once\n{text}".encode() for name, text in STANDARD.items()}
        texts, names = list(headers.values()), [name.encode() for name in headers]
        array = ctypes.c_char_p * len(names)
        program = ctypes.c_void_p()
        status = self._call(
            "nvrtcCreateProgram",
            ctypes.byref(program),
            (SOURCE / "gpu.cu").read_bytes(),
            b"gpu.cu",
            len(names),
            array(*texts),
            array(*names),
        )
        self._check(status, program)
        target = f"--gpu-architecture={'compute' if ptx else 'sm'}_{architecture}"
        options = [option.encode() for option in (target, *OPTIONS)]
        given = (ctypes.c_char_p * len(options))(*options)
        self._check(self._call("nvrtcCompileProgram", program, len(options), given), program)
        result = self._got(program, "PTX" if ptx else "CUBIN")
        self._call("nvrtcDestroyProgram", ctypes.byref(program))
        return result


def source_of(images: list[tuple[int, bool, bytes]]) -> str:
    """What images.cc includes: `kImages`."""
    text = []
    for i, (_, _, data) in enumerate(images):
        numbers = ",".join(map(str, data))
        text.append(f"alignas(64) constexpr unsigned char kImage{i}[] = {{{numbers}}};")
    rows = ", ".join(
        f"KernelImage{{{architecture}, {str(ptx).lower()}, kImage{i}}}"
        for i, (architecture, ptx, _) in enumerate(images)
    )
    text.append(f"constexpr std::array<KernelImage, {len(images)}> kImages{{{rows}}};")
    return "\n".join(text) + "\n"


def main() -> None:
    """Writes the file that is named."""
    if len(sys.argv) != 2:
        sys.exit("gpu_kernels: name the file to write")
    nvrtc = Nvrtc()
    images = [(architecture, False, nvrtc.compile(architecture)) for architecture in ARCHITECTURES]
    images.append((ARCHITECTURES[0], True, nvrtc.compile(ARCHITECTURES[0], ptx=True)))
    Path(sys.argv[1]).write_text(source_of(images))
    total = sum(len(data) for _, _, data in images)
    print(f"gpu_kernels: {len(images)} images, {total} bytes")


if __name__ == "__main__":
    main()
