#!/bin/sh
# Started by the Lambda Web Adapter, which asks /health until it answers.
built=$(cat architecture 2>/dev/null)
case "$(uname -m)" in aarch64) here=arm64 ;; *) here=x86_64 ;; esac
if [ "${built:-$here}" != "$here" ]; then
  echo "This package was built for $built, and the function runs on $here." \
    "Build again: KEFU_ARCH=$here sam build" >&2
  exit 1
fi
# httptools costs less a chunk than h11; there is no access log, because Kefu writes its own line a
# request.
# Pydantic would look for plugins in the metadata of every package.
export PYDANTIC_DISABLE_PLUGINS=1
exec python3 -m uvicorn kefu.asgi:app --host 127.0.0.1 --port "${AWS_LWA_PORT:-8080}" \
  --http httptools --loop asyncio --ws none --timeout-keep-alive 75 \
  --timeout-graceful-shutdown 1 --no-access-log --no-server-header --no-proxy-headers \
  --log-level warning
