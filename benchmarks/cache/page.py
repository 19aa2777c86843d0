"""The page of scenario cache: what each form came to in each cell, as a heat map."""

from __future__ import annotations

import html
import json
from pathlib import Path

from drapps.scenario.pages import document


def write(file: Path) -> list[Path]:
    """Writes the page beside the result `file`; returns where, if there are cells in it."""
    result = json.loads(file.read_text())
    figures = {cell: each for cell, each in result["figures"].items() if "bytes" in each}
    if not figures:
        return []
    forms = list(next(iter(figures.values())))
    rows = ["<tr><th>samples/s</th>" + "".join(f"<th>{cell}</th>" for cell in figures) + "</tr>"]
    best = {
        cell: max(one["samples_per_s"] for one in each.values()) for cell, each in figures.items()
    }
    for form in forms:
        cells = []
        for cell, each in figures.items():
            value = each[form]["samples_per_s"]
            light = 95 - 45 * value / best[cell]
            style = f"color: #1c2430; background: hsl(140 60% {light:.0f}%)"
            cells.append(f'<td style="{style}">{value:,.0f}</td>')
        rows.append(f"<tr><th>{html.escape(form)}</th>{''.join(cells)}</tr>")
    machine = html.escape(json.dumps(result["machine"]))
    page = file.with_suffix(".html")
    body = (
        "<h1>What each form of the cache comes to</h1>"
        "<p>Samples a second over 90 s, filling included; a column is a storage and a budget in "
        "per cent of the files' bytes, and the darkest of it is its best.</p>"
        f"<table>{''.join(rows)}</table><p>{machine}</p>"
    )
    page.write_text(document("DRAPPS: forms of the cache", body), encoding="utf-8")
    return [page]
