"""A cgroup of a player's own, in which cores and memory are limited; of version 1 or 2.

Making one takes the right to write below ``/sys/fs/cgroup``, which the superuser has, and whoever
a part of it was given to.
"""

from __future__ import annotations

import errno
import os
import time
from contextlib import suppress
from pathlib import Path

_PERIOD_US = 100_000
_CONTROLLERS = ("cpu", "memory")


class CgroupError(OSError):
    """No cgroup may be made here; the message says why."""


class Cgroup:
    """A new cgroup, in which nothing is limited yet. A context; it is removed behind it.

    Args:
        name: of it.
        proc: where the system says which cgroups this process is in.

    Raises:
        CgroupError: it cannot be made.
    """

    def __init__(self, name: str, proc: Path = Path("/proc/self")) -> None:
        self._folders: dict[str, Path] = {}
        self._unified = False
        try:
            mounts = _mounts(proc)
            paths = _paths(proc)
            for controller in _CONTROLLERS:
                if controller in mounts and controller in paths:
                    below = _below(mounts[controller], paths[controller])
                    self._folders[controller] = _new_folder(below / name)
            if not self._folders and "" in mounts and "" in paths:
                self._unified = True
                folder = _made_unified(_below(mounts[""], paths[""]), mounts[""], name)
                self._folders = dict.fromkeys(_CONTROLLERS, folder)
            if len(self._folders) < len(_CONTROLLERS):
                raise CgroupError("cgroups that limit cores and memory are not mounted")
        except CgroupError:
            self.close()
            raise
        except OSError as error:
            self.close()
            raise CgroupError(f"no cgroup may be made: {error}") from None

    def take(self, pid: int) -> None:
        """From now on a process is in it, with all that it starts."""
        for folder in set(self._folders.values()):
            (folder / "cgroup.procs").write_text(str(pid))

    def limit(self, cores: float, memory: int) -> None:
        """So many cores and bytes for all in it; 0: no limit.

        Raises:
            CgroupError: more memory is in use than that, and cannot be taken back.
        """
        quota = round(cores * _PERIOD_US) if cores else 0
        try:
            if self._unified:
                self._write("cpu", "cpu.max", f"{quota or 'max'} {_PERIOD_US}")
                self._write("memory", "memory.max", str(memory or "max"))
            else:
                self._write("cpu", "cpu.cfs_period_us", str(_PERIOD_US))
                self._write("cpu", "cpu.cfs_quota_us", str(quota or -1))
                self._write("memory", "memory.limit_in_bytes", str(memory or -1))
        except OSError as error:
            what = f"{error.filename}: {error.strerror}"
            if error.errno == errno.EBUSY:
                what += f": more than {memory:,} bytes are in use, and cannot be taken back"
            raise CgroupError(what) from None

    def _write(self, controller: str, name: str, value: str) -> None:
        file = self._folders[controller] / name
        if file.read_text().strip() != value:
            file.write_text(value)

    def close(self) -> None:
        """Removes it; what was in it must have ended."""
        end = time.monotonic() + 2
        for folder in set(self._folders.values()):
            while folder.is_dir():
                with suppress(OSError):  # the kernel lets go of a process a moment after its end
                    folder.rmdir()
                    break
                if time.monotonic() > end:
                    break
                time.sleep(0.02)
        self._folders = {}

    def __enter__(self) -> Cgroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _mounts(proc: Path) -> dict[str, tuple[Path, str]]:
    """By controller, where its cgroups are mounted, and which of them is at the top there.

    The name of version 2, which has all controllers in one place, is empty.
    """
    mounts: dict[str, tuple[Path, str]] = {}
    for line in (proc / "mountinfo").read_text().splitlines():
        here, _, there = line.partition(" - ")
        root, point = here.split()[3:5]
        kind, _, options = there.split()[:3]
        if kind == "cgroup2":
            mounts[""] = (Path(point), root)
        elif kind == "cgroup":
            for name in options.split(","):
                mounts.setdefault(name, (Path(point), root))
    return mounts


def _paths(proc: Path) -> dict[str, str]:
    """By controller, the cgroup of this process."""
    paths = {}
    for line in (proc / "cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for name in controllers.split(","):
            paths[name] = path
    return paths


def _below(mount: tuple[Path, str], path: str) -> Path:
    """Where a cgroup lies in the file system."""
    point, root = mount
    inside = os.path.relpath(path, root)
    return point if inside.startswith("..") else point / inside


def _new_folder(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _made_unified(own: Path, mount: tuple[Path, str], name: str) -> Path:
    """A cgroup below one's own, or beside it where the kernel wants no processes in its parent."""
    for parent in dict.fromkeys((own, own.parent if own != mount[0] else own)):
        with suppress(OSError):
            (parent / "cgroup.subtree_control").write_text("+cpu +memory")
        folder = _new_folder(parent / name)
        if all((folder / file).exists() for file in ("cpu.max", "memory.max")):
            return folder
        folder.rmdir()
    raise CgroupError(f"{own} gives no cores and no memory to cgroups in it")
