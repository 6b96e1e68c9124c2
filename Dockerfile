# Kefu with everything that `kefu serve` needs. Build: docker build --tag kefu .
FROM node:22-slim AS widget
WORKDIR /kefu/widget
COPY widget/package.json widget/package-lock.json widget/.npmrc* ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY widget ./
COPY functions/kefu/web/static ../functions/kefu/web/static
RUN npm run build

FROM python:3.13-slim AS package
WORKDIR /kefu
COPY requirements/server.txt requirements/
RUN python -m venv /opt/kefu \
 && /opt/kefu/bin/pip install --no-cache-dir --require-hashes -r requirements/server.txt
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY functions/kefu functions/kefu
COPY --from=widget /kefu/functions/kefu/web/static functions/kefu/web/static
RUN pip install --no-cache-dir hatchling==1.33.0 \
 && pip wheel --no-cache-dir --no-deps --no-build-isolation --wheel-dir dist . \
 && /opt/kefu/bin/pip install --no-cache-dir --no-deps dist/kefu-*.whl \
 && rm -r /opt/kefu/lib/python3.13/site-packages/pip*

FROM python:3.13-slim
COPY --from=package /opt/kefu /opt/kefu
# A tmpfs at /data belongs to root and takes the mode of this folder.
RUN useradd --system --uid 10001 --home-dir /data kefu && install --directory --owner kefu --mode 1777 /data
ENV PATH=/opt/kefu/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD \
  ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/ready')"]
ENTRYPOINT ["kefu"]
CMD ["serve", "--host", "0.0.0.0"]
