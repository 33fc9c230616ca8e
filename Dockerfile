# syntax=docker/dockerfile:1
# One image for the worker (default command), the API (`python serve.py`), the jobs process
# (`python jobs.py`) and the operator's commands (`familiar migrate`, `familiar keys …`).
FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
WORKDIR /app
COPY requirements.lock ./
RUN uv venv /venv && uv pip sync --python /venv/bin/python --require-hashes --no-cache requirements.lock

FROM python:3.11-slim-bookworm
# ca-certificates: the providers' TLS.
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 10001 familiar
COPY --from=build /venv /venv
WORKDIR /app
COPY agent.py familiar.py jobs.py preload.py seed.py serve.py ./
COPY bin ./bin
COPY src ./src
# The lexicons come with the image; the journal outlives it; the rest of /data is made anew.
COPY data/lexicons /data/lexicons
RUN mkdir /data/journal && chown familiar /data /data/journal
USER familiar
ENV PATH=/app/bin:/venv/bin:$PATH PYTHONUNBUFFERED=1 FAMILIAR_DATA_DIR=/data FAMILIAR_WORKER_HOST=0.0.0.0 FAMILIAR_API_HOST=0.0.0.0
VOLUME /data/journal
EXPOSE 8080 8081
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8081/', timeout=2)"]
CMD ["python", "agent.py", "start"]
