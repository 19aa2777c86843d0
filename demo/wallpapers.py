"""The photographs: picked by eye from Debian's wallpaper packages, fetched without being root.

The packages also hold drawings, gradients and pictures with next to no detail; these are not in
the table. Nothing is installed: a package that is not on the machine is downloaded by apt and
unpacked into a folder of the demo's own.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

LOMIRI = "lomiri-wallpapers-16.04"
MATE = "mate-backgrounds"
PLASMA = "plasma-workspace-wallpapers"
_FOLDERS = {
    LOMIRI: "usr/share/backgrounds",
    MATE: "usr/share/backgrounds/mate/nature",
    PLASMA: "usr/share/wallpapers",
}


@dataclass(frozen=True)
class Photograph:
    """One photograph: the name of its class, and where its package puts it (relative to `/`)."""

    name: str
    package: str
    file: str

    @property
    def path(self) -> str:
        """The whole path below the root of the file system."""
        return f"{_FOLDERS[self.package]}/{self.file}"


def _plasma(name: str, folder: str) -> Photograph:
    return Photograph(name, PLASMA, f"{folder}/contents/images/2560x1600.jpg")


PHOTOGRAPHS: tuple[Photograph, ...] = (
    Photograph("autumn_ridge", LOMIRI, "aitzgorri_by_Aitzol_Berasategi.jpg"),
    Photograph("bridge_cables", LOMIRI, "Bridge_by_Sander_Klootwijk.jpg"),
    Photograph("brushes", LOMIRI, "Picture_1A_by_freespace.jpg"),
    Photograph("dandelions", LOMIRI, "seeding_by_Clements_Engelhardt.jpg"),
    Photograph("dogs", LOMIRI, "friends_by_Aitzol_Berasategi.jpg"),
    Photograph("dragonfly", LOMIRI, "Dragonfly_by_Bolly.jpg"),
    Photograph("fig", LOMIRI, "Picture_0B_by_freespace.jpg"),
    Photograph("forest_stream", LOMIRI, "life_by_Aitzol_Berasategi.jpg"),
    Photograph("mountain_path", LOMIRI, "picosdeeuropa_by_Aitzol_Berasategi.jpg"),
    Photograph("sunset", LOMIRI, "sunset_by_Aitzol_Berasategi.jpg"),
    Photograph("wine", LOMIRI, "Wine_by_Jakkub_Mede.jpg"),
    Photograph("dew", MATE, "RainDrops.jpg"),
    Photograph("dune_grass", MATE, "Dune.jpg"),
    Photograph("green_leaf", MATE, "Blinds.jpg"),
    Photograph("ladybird", MATE, "LadyBird.jpg"),
    Photograph("marigold", MATE, "Garden.jpg"),
    Photograph("meadow", MATE, "GreenMeadow.jpg"),
    Photograph("orange_flower", MATE, "FreshFlower.jpg"),
    Photograph("planks", MATE, "Wood.jpg"),
    Photograph("seed_wings", MATE, "TwoWings.jpg"),
    Photograph("storm_road", MATE, "Storm.jpg"),
    Photograph("water_drop", MATE, "Aqua.jpg"),
    Photograph("yellow_flower", MATE, "YellowFlower.jpg"),
    _plasma("boats", "EveningGlow"),
    _plasma("cups", "ColorfulCups"),
    _plasma("fallen_leaf", "FallenLeaf"),
    _plasma("forest_path", "Path"),
    _plasma("grey_lattice", "Grey"),
    _plasma("jetty", "ColdRipple"),
    _plasma("kite", "Kite"),
    _plasma("lakeside_deck", "BytheWater"),
    _plasma("one_stands_out", "OneStandsOut"),
    _plasma("summer_lake", "summer_1am"),
)


class FetchError(RuntimeError):
    """The photographs could not be had; the message holds the line that installs them."""


def locate(unpacked: Path) -> dict[str, Path]:
    """Returns class name → file for every photograph, fetching the packages that are missing.

    `unpacked` is the demo's own folder: packages are unpacked into `unpacked/root`. Raises
    FetchError when a package is neither installed nor to be downloaded.
    """
    missing = sorted({p.package for p in PHOTOGRAPHS if _find(p, unpacked) is None})
    for package in missing:
        _fetch(package, unpacked)
    paths = {p.name: _find(p, unpacked) for p in PHOTOGRAPHS}
    lost = [name for name, path in paths.items() if path is None]
    if lost:
        raise FetchError(f"these photographs are in none of the packages: {', '.join(lost)}")
    return {name: path for name, path in paths.items() if path is not None}


def _find(photograph: Photograph, unpacked: Path) -> Path | None:
    for root in (Path("/"), unpacked / "root"):
        if (root / photograph.path).is_file():
            return root / photograph.path
    return None


def _fetch(package: str, unpacked: Path) -> None:
    """Downloads a package and unpacks it; none of its scripts run, so no rights are needed."""
    (unpacked / "root").mkdir(parents=True, exist_ok=True)
    try:
        command = ["apt-get", "download", "-q", package]
        subprocess.run(command, cwd=unpacked, check=True, capture_output=True, timeout=300)
        archive = max(unpacked.glob(f"{package}_*.deb"), key=lambda file: file.stat().st_mtime)
        subprocess.run(["dpkg", "-x", archive, unpacked / "root"], check=True, timeout=120)
        archive.unlink()
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        packages = " ".join(sorted({p.package for p in PHOTOGRAPHS}))
        raise FetchError(
            f"{package} could not be downloaded ({error}). Run\n"
            f"    sudo apt-get update && sudo apt-get install -y {packages}\n"
            "and start again, or give a folder of your own with --data DIR."
        ) from error
