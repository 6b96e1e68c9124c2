"""The settings of Kefu, from kefu.toml and from environment variables, which win.

Each module declares the settings of one or two tables of the file; `all` combines them, `loading`
reads them. An invalid value stops the start with a message. `make docs` writes docs/settings.md
from the descriptions.
"""

from kefu.settings.all import SECTIONS, Settings
from kefu.settings.file import ConfigurationError
from kefu.settings.loading import load, new_version, unknown_variables
from kefu.settings.model import LONGCAT

__all__ = [
    "LONGCAT",
    "SECTIONS",
    "ConfigurationError",
    "Settings",
    "load",
    "new_version",
    "unknown_variables",
]
