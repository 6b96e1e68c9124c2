"""A copy of an object in S3, for a file that a job elsewhere writes again and again."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from kefu.stores import aws

_ADDRESS: Final = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(.{1,1000})", re.DOTALL)


MAX_OBJECT_BYTES: Final = 400_000_000
"""Bytes of an object. A function of Lambda has 512 MB for temporary files by default."""


def is_s3(place: str) -> bool:
    return place.startswith("s3://")


class S3Object:
    """The copy is in a temporary folder, which `close` removes. The methods block."""

    def __init__(self, address: str) -> None:
        """`address`: s3://BUCKET/KEY. Raises ValueError."""
        match = _ADDRESS.fullmatch(address)
        if match is None:
            raise ValueError(f"{address} is not the address of an object: s3://BUCKET/KEY")
        self.address = address
        self._bucket, self._key = match.groups()
        self._folder = Path(tempfile.mkdtemp(prefix="kefu-s3-"))
        self.path = self._folder / "object"
        self._etag = ""
        self._client: Any = None

    def refresh(self) -> None:
        """Replace the copy if the object has another ETag. Raises OSError with the reason."""
        # Imported here: importing botocore takes long, and a start does not need it.
        from botocore.exceptions import BotoCoreError, ClientError

        unless = {"IfNoneMatch": self._etag} if self._etag else {}
        try:
            self._client = self._client or aws.client(
                "s3",
                connect_timeout=1,
                read_timeout=5,
                retries={"mode": "standard", "total_max_attempts": 2},
                max_pool_connections=1,
            )
            answer = self._client.get_object(Bucket=self._bucket, Key=self._key, **unless)
            new = self._folder / "new"
            too_large = answer["ContentLength"] > MAX_OBJECT_BYTES
            with answer["Body"] as body, new.open("wb") as file:
                if not too_large:
                    shutil.copyfileobj(body, file, 1 << 20)
        except ClientError as error:
            code = str(error.response.get("Error", {}).get("Code", ""))
            if code == "304":
                return
            raise OSError(f"{self.address} cannot be read: {code}.") from None
        except (BotoCoreError, OSError) as error:
            raise OSError(f"{self.address} cannot be read: {type(error).__name__}.") from None
        if too_large:
            raise OSError(f"{self.address} is larger than {MAX_OBJECT_BYTES // 10**6} MB.")
        new.replace(self.path)
        self._etag = answer["ETag"]

    def disconnect(self) -> None:
        """Close the connection. The next refresh opens a new connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def close(self) -> None:
        self.disconnect()
        shutil.rmtree(self._folder, ignore_errors=True)
