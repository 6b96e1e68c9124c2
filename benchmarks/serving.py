"""Serves a contender's app with the options of `kefu serve`, in one process."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn


def serve(app: Any) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(f"ready: http://127.0.0.1:{listener.getsockname()[1]}/", flush=True)
    config = uvicorn.Config(
        app,
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="off",
        access_log=False,
        log_level="warning",
        timeout_keep_alive=75,
    )
    uvicorn.Server(config).run(sockets=[listener])
