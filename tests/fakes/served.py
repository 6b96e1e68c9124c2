"""`kefu serve` with other constants: served.py CONSTANTS, as JSON, and the flags of the command."""

import json
import sys
from collections.abc import Sequence

from kefu.__main__ import parser, run_service
from kefu.bootstrap.constants import Constants


def main(arguments: Sequence[str]) -> int:
    constants, *flags = arguments
    options = parser().parse_args(["serve", *flags])
    return run_service(options, Constants(**json.loads(constants)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
