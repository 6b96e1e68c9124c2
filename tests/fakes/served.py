"""`kefu serve` with other constants: served.py CONSTANTS, as JSON, and the flags of the command."""

import json
import sys
from collections.abc import Sequence

from kefu.__main__ import main as run
from kefu.bootstrap.constants import Constants


def main(arguments: Sequence[str]) -> int:
    constants, *flags = arguments
    return run(["serve", *flags], Constants(**json.loads(constants)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
