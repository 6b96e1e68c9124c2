"""An OpenID provider in a process of its own: `oidc-provider-mock`, which can also lie.

It is no part of the test's process, because its libraries warn when they are imported.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import Any
from urllib.parse import quote

import httpx

from tests.fakes.running import Running

LIES: dict[str, dict[str, object]] = {
    "issuer": {"iss": "https://other.example"},
    "audience": {"aud": "another-client"},
    "party": {"aud": ["kefu", "another-client"], "azp": "another-client"},
    "nonce": {"nonce": "of-another-sign-in"},
    "expired": {"exp": int(time.time()) - 60, "iat": int(time.time()) - 3600},
    "early": {"iat": int(time.time()) + 3600, "nbf": int(time.time()) + 3600},
}
"""Claims that are wrong in a token with a valid signature."""

UNSIGNED = ("none", "other key", "shared secret")
SECRET = "the-secret-of-the-client-kefu-0123456789"


class OidcProvider(Running):
    def __init__(self) -> None:
        command = [sys.executable, "-W", "ignore", "-m", "tests.fakes.oidc_provider"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout
        self.issuer = self._process.stdout.readline().strip()

    def knows(self, name: str, claims: dict[str, object]) -> None:
        """Add a user with these claims."""
        place = f"{self.issuer}/users/{quote(name)}"
        httpx.put(place, json=claims, timeout=30).raise_for_status()

    def lies(self, about: str) -> None:
        httpx.put(f"{self.issuer}/lie", json={"about": about}, timeout=30).raise_for_status()

    def seen(self) -> list[dict[str, Any]]:
        """The parameters of the requests, and their client's secret."""
        found: list[dict[str, Any]] = httpx.get(f"{self.issuer}/seen", timeout=30).json()
        return found

    def signs_in(self, address: str, name: str) -> str:
        """The address to which the browser of a user is sent back."""
        answer = httpx.post(address, data={"sub": name}, timeout=30)
        assert answer.status_code == 302, answer.text
        return answer.headers["Location"]

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)
        assert self._process.stdout
        self._process.stdout.close()


def _lie(token: str, about: str, own: Any) -> str:
    """The ID token with wrong claims, or with another signature. `own`: the provider's key."""
    import jwt
    from cryptography.hazmat.primitives.asymmetric import rsa

    keys = {
        "none": (None, "none"),
        "other key": (rsa.generate_private_key(public_exponent=65537, key_size=2048), "RS256"),
        "shared secret": (SECRET, "HS256"),
    }
    key, algorithm = keys.get(about, (own, "RS256"))
    claims = jwt.decode(token, options={"verify_signature": False})
    name = jwt.get_unverified_header(token).get("kid")
    changed = {**claims, **LIES.get(about, {})}
    return jwt.encode(changed, key, algorithm, {"kid": name} if name else None)


def main() -> None:
    import flask
    import oidc_provider_mock
    from oidc_provider_mock._storage import storage
    from werkzeug.serving import make_server

    app: Any = oidc_provider_mock.app(require_nonce=True)
    seen, lie = list[dict[str, Any]](), {"about": ""}

    def lies() -> Any:
        lie.update(flask.request.get_json())
        return {}

    def note() -> None:
        if flask.request.path.startswith("/oauth2/"):
            auth = flask.request.authorization
            secret = auth.password if auth else None
            seen.append({**flask.request.args, **flask.request.form, "secret": secret})

    def change(answer: Any) -> Any:
        about, path = lie["about"], flask.request.path
        if path.endswith("/openid-configuration") and about == "discovery":
            answer.set_data(json.dumps({**answer.get_json(), "issuer": "https://other.example"}))
        if path == "/oauth2/token" and about and answer.status_code == 200:
            given = answer.get_json()
            token = _lie(given["id_token"], about, storage.jwk.get_private_key())
            answer.set_data(json.dumps({**given, "id_token": token}))
        return answer

    app.add_url_rule("/seen", "seen", lambda: seen)
    app.add_url_rule("/lie", "lie", lies, methods=["PUT"])
    app.before_request(note)
    app.after_request(change)
    server = make_server("127.0.0.1", 0, app, threaded=True)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
