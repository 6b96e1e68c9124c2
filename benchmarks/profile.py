"""Profiles the service under load: `python -m benchmarks.profile [flat|paced|first]`.

Samples the process with py-spy, which uv installs if necessary. A function's own time is the time
in which it ran itself; C code counts for the function that called it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

from benchmarks import relay
from benchmarks.contenders import KEFU, KEFU_MEMORY, Contender
from benchmarks.processes import Load, Server, raise_file_limit

LOADS = {
    "flat": ("bench:flat:2000", 50, 1),
    "paced": ("bench:paced:300:33", 100, 1),
    "first": ("bench:flat:3", 1, 5000),
    "first20": ("bench:flat:3", 20, 500),
}
"""Message, streams at once, requests each."""


def py_spy() -> list[str]:
    if found := shutil.which("py-spy"):
        return [found]
    return [str(Path(sys.executable).with_name("uv")), "tool", "run", "py-spy"]


def sampled(contender: Contender, kind: str, seconds: int) -> str:
    """Collapsed stacks, one per line, each with its number of samples."""
    message, streams, requests = LOADS[kind]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "stacks")
        upstream = Server([sys.executable, "-m", "benchmarks.upstream"], {}, Path(folder, "log"))
        load = Load()
        bench = relay.Bench(Path(folder), upstream, load)
        try:
            with bench.serving([contender]) as doors:
                relay.warm(bench, doors)
                over = threading.Event()

                def keep_asking() -> None:
                    while not over.is_set():
                        bench.ask(doors[0], message, streams=streams, requests=requests)

                asking = threading.Thread(target=keep_asking)
                asking.start()
                options = ["--format", "raw", "--rate", "500", "--duration", str(seconds)]
                command = [*py_spy(), "record", *options, "--output", str(out)]
                target = ["--pid", str(doors[0][1].pid)]
                try:
                    subprocess.run([*command, *target], check=True, stdout=subprocess.DEVNULL)
                finally:
                    over.set()
                    asking.join()
            return out.read_text()
        finally:
            load.stop()
            upstream.stop()


def shares(stacks: str) -> tuple[Counter[str], Counter[str], int]:
    """The samples of each function, own and cumulative, and the total."""
    own: Counter[str] = Counter()
    cumulative: Counter[str] = Counter()
    for line in stacks.splitlines():
        stack, _, count = line.rpartition(" ")
        frames = [frame.rpartition(":")[0] + ")" for frame in stack.split(";") if ":" in frame]
        if frames:
            own[frames[-1]] += int(count)
            for frame in set(frames):
                cumulative[frame] += int(count)
    return own, cumulative, own.total()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("load", nargs="?", choices=LOADS, default="flat")
    parser.add_argument("--memory", action="store_true", help="without SQLite")
    parser.add_argument("--top", type=int, default=25)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    raise_file_limit()
    contender = KEFU_MEMORY if arguments.memory else KEFU
    own, cumulative, total = shares(sampled(contender, arguments.load, arguments.seconds))
    print(f"{arguments.load}: {total} samples\n\n  own   with callees")
    for name, count in own.most_common(arguments.top):
        print(f"{count / total:6.1%} {cumulative[name] / total:6.1%}  {name}")
    print("\nKefu's own functions, with callees")
    ours = [(name, count) for name, count in cumulative.most_common() if "(kefu/" in name]
    for name, count in ours[: arguments.top]:
        print(f"{count / total:6.1%}  {name}")


if __name__ == "__main__":
    main()
