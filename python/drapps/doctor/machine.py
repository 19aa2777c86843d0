"""Cores, memory, limits of the process, and what the kernel lets it do."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

from drapps.doctor.finding import NOTE, PROBLEM, Finding
from drapps.report.base import mib
from drapps.watching.machine import cgroup_folder, quota_of

_IO_URING_SETUP = 425  # the same on all architectures
_LEAST_FILES, _LEAST_PROCESSES = 4096, 1024
_LEAST_SHARED = 1 << 30
_LEAST_FREE = 2 << 30


def findings() -> Iterator[Finding]:
    """All findings about the machine."""
    yield simd()
    yield cores()
    yield memory()
    yield shared_memory(Path("/dev/shm"))
    yield limit("open files", resource.RLIMIT_NOFILE, _LEAST_FILES, "ulimit -n")
    yield limit("processes", resource.RLIMIT_NPROC, _LEAST_PROCESSES, "ulimit -u")
    yield pids()
    yield io_uring()


def simd() -> Finding:
    """The vector instructions that decoding and augmenting use."""
    from drapps import _core

    levels = list(_core.kernel.levels())
    if levels[-1] != "portable":
        return Finding("SIMD", levels[-1])
    lowered = os.environ.get("DRAPPS_SIMD")
    mend = "unset DRAPPS_SIMD" if lowered else "use a CPU with AVX2: decoding is slower without"
    return Finding("SIMD", "portable code alone", NOTE, mend)


def cores() -> Finding:
    """The cores that this process may use."""
    there, bound = os.cpu_count() or 1, len(os.sched_getaffinity(0))
    quota = quota_of(cgroup_folder("cpu"))
    detail = f"{bound} of {there}" + (f", of which a quota leaves {quota:g}" if quota else "")
    if quota and quota < 0.5 * bound:
        mend = (
            f"a program that counts cores sees {bound} and is held back; give the container more "
            f"than {quota:g}, or set num_workers by hand"
        )
        return Finding("cores", detail, NOTE, mend)
    if bound == 1 or (quota and quota < 2):
        mend = "give it two or more: loading and training share one"
        return Finding("cores", detail, NOTE, mend)
    return Finding("cores", detail)


def memory(meminfo: Path = Path("/proc/meminfo")) -> Finding:
    """What is free in the machine and in the cgroup."""
    fields = dict(line.split(":", 1) for line in meminfo.read_text().splitlines())
    free = int(fields["MemAvailable"].split()[0]) << 10
    limit = _memory_limit()
    amounts = f"{mib(free)} free" + (f", a limit of {mib(limit)}" if limit else "")
    if min(free, limit or free) < _LEAST_FREE:
        mend = "give it 2 GiB or more, or set ram_budget= and few workers"
        return Finding("memory", amounts, NOTE, mend)
    return Finding("memory", amounts)


def _memory_limit() -> int | None:
    folder = cgroup_folder("memory")
    for name in ("memory.max", "memory.limit_in_bytes"):
        path = None if folder is None else folder / name
        if path is not None and path.exists():
            text = path.read_text().strip()
            return int(text) if text.isdigit() and int(text) < 1 << 60 else None
    return None


def shared_memory(folder: Path) -> Finding:
    """What the workers of torch's own loader send batches through."""
    name = str(folder)
    try:
        there = os.statvfs(folder)
    except OSError as error:
        mend = "mount it: torch's DataLoader needs it, drapps.torch.DataLoader does not"
        return Finding(name, str(error.strerror), NOTE, mend)
    free = there.f_bavail * there.f_frsize
    if free < _LEAST_SHARED:
        mend = "run the container with --shm-size=8g or --ipc=host; DRAPPS itself does not use it"
        return Finding(name, f"{mib(free)} free", NOTE, mend)
    return Finding(name, f"{mib(free)} free")


def limit(name: str, which: int, least: int, command: str) -> Finding:
    """A limit of the process."""
    soft, hard = resource.getrlimit(which)
    if soft == resource.RLIM_INFINITY or soft >= least:
        return Finding(name, "no limit" if soft == resource.RLIM_INFINITY else f"up to {soft}")
    possible = hard == resource.RLIM_INFINITY or hard >= least
    mend = f"{command} {least}" if possible else f"ask for a hard limit of {least} ({command} -H)"
    return Finding(name, f"up to {soft}", NOTE if soft >= least // 8 else PROBLEM, mend)


def pids() -> Finding:
    """How many processes and threads the cgroup may have."""
    folder = cgroup_folder("pids") or _pids_folder()
    try:
        assert folder is not None
        most = (folder / "pids.max").read_text().strip()
        now = (folder / "pids.current").read_text().strip()
    except (OSError, AssertionError):
        return Finding("processes of the cgroup", "no limit")
    if most == "max":
        return Finding("processes of the cgroup", "no limit")
    usage = f"{now} of {most}"
    if int(most) - int(now) < _LEAST_PROCESSES // 8:
        return Finding("processes of the cgroup", usage, PROBLEM, "raise its pids limit")
    return Finding("processes of the cgroup", usage)


def _pids_folder() -> Path | None:
    cpu = cgroup_folder("cpu")
    return cpu if cpu is not None and (cpu / "pids.max").exists() else None


def io_uring() -> Finding:
    """Whether files can be read through io_uring."""
    libc = ctypes.CDLL(None, use_errno=True)
    parameters = ctypes.create_string_buffer(120)
    file = libc.syscall(_IO_URING_SETUP, 1, parameters)
    if file >= 0:
        os.close(file)
        return Finding("io_uring", "allowed")
    why = errno.errorcode.get(ctypes.get_errno(), "refused")
    mend = "allow it in the container's seccomp profile (and kernel.io_uring_disabled=0)"
    return Finding("io_uring", f"{why}; files are read by threads instead", NOTE, mend)
