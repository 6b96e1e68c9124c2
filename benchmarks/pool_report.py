"""What the simulation of benchmarks/pool.py showed: a table, and a picture for the docs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from benchmarks.pool import INSTANCES, SCENARIOS, Outcome, Scenario, simulate
from benchmarks.processes import ROOT

DRAWN = [scenario for scenario in SCENARIOS if not scenario.by_address]
PICTURE = ROOT / "docs/images/key-sharing.svg"

Runs = Mapping[tuple[str, int, bool], Outcome]
"""By scenario, instances and whether they shared."""

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11px; fill: #57606a }
.title { font-weight: 600 }
.grid { stroke: #d0d7de }
.alone { stroke: #bc4c00; fill: #bc4c00 }
.shared { stroke: #0969da; fill: #0969da }
path { fill: none !important; stroke-width: 2 }
path.alone { stroke-dasharray: 5 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small { fill: #9198a1 } .grid { stroke: #3d444d }
  .alone { stroke: #f0883e; fill: #f0883e } .shared { stroke: #58a6ff; fill: #58a6ff }
}
"""
WIDE, HIGH, GAP, LEFT, TOP = 150, 110, 50, 50, 70
AXES = "for 1,000 chats, by the number of instances"
ROWS = (("refused", "upstream calls in vain"), ("failed", "chats without an answer"))


def pool(minutes: float) -> Runs:
    return {
        (scenario.name, instances, shared): simulate(
            scenario, instances, shared=shared, minutes=minutes
        )
        for scenario in SCENARIOS
        for instances in INSTANCES
        for shared in (False, True)
    }


def table(runs: Runs) -> str:
    head = f"{'for 1,000 chats':44}{'instances':>9}{'in vain':>16}{'failed':>14}"
    lines = [
        f"{head}{'reads':>8}{'writes':>8}",
        f"{'':53}{'alone  shared':>16}{'alone  shared':>16}",
    ]
    for scenario in SCENARIOS:
        for instances in INSTANCES:
            alone = runs[scenario.name, instances, False]
            shared = runs[scenario.name, instances, True]
            cells = [
                f"{scenario.name if instances == INSTANCES[0] else '':44}{instances:9}",
                f"{alone.per_1000(alone.refused):8.0f}{shared.per_1000(shared.refused):8.0f}",
                f"{alone.per_1000(alone.failed):8.0f}{shared.per_1000(shared.failed):8.0f}",
                f"{shared.per_1000(shared.reads):6.0f}{shared.per_1000(shared.writes):8.0f}",
            ]
            lines.append("".join(cells))
    return "\n".join(lines)


def picture(runs: Runs) -> str:
    width = LEFT + len(DRAWN) * (WIDE + GAP)
    height = TOP + 2 * (HIGH + GAP) + 10
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
        "<title>Key cooldowns shared by all instances, and each instance's own memory</title>",
        f"<style>{STYLE}</style>",
        '<path class="shared" d="M10 16h30"/><text x="46" y="20">cooldowns shared</text>',
        '<path class="alone" d="M190 16h30"/><text x="226" y="20">each instance alone</text>',
        f'<text class="small" x="{width - 10}" y="20" text-anchor="end">{AXES}</text>',
    ]
    for row, (value, label) in enumerate(ROWS):
        for column, scenario in enumerate(DRAWN):
            x, y = LEFT + column * (WIDE + GAP), TOP + row * (HIGH + GAP)
            parts += _panel(runs, scenario, value, x, y)
            if row == 0:
                parts += _titles(scenario.name, x, y - 26)
        middle = TOP + row * (HIGH + GAP) + HIGH / 2
        turned = f'transform="rotate(-90 12 {middle})" text-anchor="middle"'
        parts.append(f'<text x="12" y="{middle}" {turned}>{label}</text>')
    return "\n".join([*parts, "</svg>\n"])


def _titles(name: str, x: float, y: float) -> Iterator[str]:
    words = name.split()
    half = next(n for n in range(len(words) + 1) if len(" ".join(words[:n])) >= len(name) / 2)
    for line, text in enumerate((words[:half], words[half:])):
        yield f'<text class="title" x="{x}" y="{y + 14 * line}">{" ".join(text)}</text>'


def _panel(runs: Runs, scenario: Scenario, value: str, x: float, y: float) -> Iterator[str]:
    def seen(instances: int, shared: bool) -> float:
        outcome = runs[scenario.name, instances, shared]
        return outcome.per_1000(getattr(outcome, value))

    top = max(100.0, *(seen(n, shared) for n in INSTANCES for shared in (False, True)))
    step = WIDE / (len(INSTANCES) - 1)
    yield f'<path class="grid" d="M{x} {y}h{WIDE}M{x} {y + HIGH}h{WIDE}"/>'
    yield f'<text class="small" x="{x - 4}" y="{y + 4}" text-anchor="end">{top:.0f}</text>'
    yield f'<text class="small" x="{x - 4}" y="{y + HIGH + 4}" text-anchor="end">0</text>'
    for n, instances in enumerate(INSTANCES):
        place = f'x="{x + n * step:.0f}" y="{y + HIGH + 16}" text-anchor="middle"'
        yield f'<text class="small" {place}>{instances}</text>'
    for shared, name in ((False, "alone"), (True, "shared")):
        points = [
            f"{x + n * step:.1f} {y + HIGH * (1 - seen(instances, shared) / top):.1f}"
            for n, instances in enumerate(INSTANCES)
        ]
        yield f'<path class="{name}" d="M{"L".join(points)}"/>'
        for across, down in (point.split() for point in points):
            yield f'<circle class="{name}" cx="{across}" cy="{down}" r="3"/>'
