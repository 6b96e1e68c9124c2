"""An untrusted TLS certificate, and the environment of processes that need public ones."""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
from pathlib import Path


def self_signed(folder: Path, name: str = "IP:127.0.0.1") -> ssl.SSLContext:
    """A server context with a new self-signed certificate for `name`, in `certificate.pem`."""
    openssl = shutil.which("openssl")
    assert openssl, "openssl is not on the PATH"
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = [openssl, "req", "-x509", "-nodes", "-newkey", "ec", "-days", "2"]
    command += ["-pkeyopt", "ec_paramgen_curve:prime256v1", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", f"subjectAltName={name}"]
    command += ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def installing() -> dict[str, str]:
    """This environment, with the authorities of the system: for processes that fetch packages."""
    return {name: value for name, value in os.environ.items() if name != "SSL_CERT_FILE"}
