"""docs/guides/what-the-loader-sees.md lists the readings of the meters, as `stats()` names them."""

import re
from pathlib import Path

import drapps

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "what-the-loader-sees.md"
ROW = re.compile(r"^\| `([a-z]+\.[a-z_]+)` \| (.*?) \| `(.*?)` \|", re.MULTILINE)


def test_the_page_lists_every_reading(photos):
    readings = drapps.image_folder(photos).center_crop(16).batch(8).stats().machine.readings
    rows = {name: (unit, source) for name, unit, source in ROW.findall(PAGE.read_text())}
    assert rows == {name: (each.unit, each.source) for name, each in readings.items()}
