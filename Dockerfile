# The gate as a container: `docker build -t donegate .`, then docker-compose.yml beside this file.
# With podman: `podman build --format docker -t donegate .`, for the OCI format has no HEALTHCHECK.
#
# Acceptance commands run inside of this image, and need their toolchains there. The image has git,
# bash, and coreutils, and no language. Put yours on top, and run the workers from that:
#
#   FROM donegate
#   USER root
#   RUN apt-get update && apt-get install -y --no-install-recommends python3-pytest && rm -rf /var/lib/apt/lists/*
#   USER 10001:10001

# They read what lies below /usr, and toolchains that are named: ENV DONEGATE_SANDBOX_READ_ONLY_PATHS=/opt/go:/opt/jdk.
#
# How strongly they are walled in depends on how the container is run, not on the image: with Docker's default profile
# by `landlock`, with what docker-compose.yml says at `worker` by `namespace`. `docker compose run --rm worker doctor`
# tells. The image's user needs no privileges for either, so that it is an ordinary one.

FROM rust:1.95-slim-bookworm AS build
WORKDIR /src
COPY . .
# The caches outlive a change of the sources: only what changed is built again.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    SQLX_OFFLINE=true cargo build --release --locked --package gate-cli --bin donegate \
    && install -D -m 0755 target/release/donegate /out/donegate

FROM debian:bookworm-slim
# tini reaps what acceptance commands leave behind and passes signals on; git and ssh fetch workspaces.
RUN apt-get update \
    && apt-get install -y --no-install-recommends bash ca-certificates coreutils git openssh-client tini \
    && rm -rf /var/lib/apt/lists/*
# A volume that is mounted here for the first time takes its owner from the image.
RUN groupadd --gid 10001 donegate \
    && useradd --uid 10001 --gid 10001 --create-home --shell /usr/sbin/nologin donegate \
    && install -d -m 0700 -o 10001 -g 10001 /var/lib/donegate /var/lib/donegate-blobs
COPY --from=build /out/donegate /usr/local/bin/donegate
ENV DONEGATE_DATA_DIR=/var/lib/donegate \
    DONEGATE_LISTEN_ADDRESS=0.0.0.0:8080
USER 10001:10001
WORKDIR /var/lib/donegate
VOLUME /var/lib/donegate
EXPOSE 8080
# More time than DONEGATE_WORKER_DRAIN_SECONDS has to be given by whoever stops it.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=5s --start-period=30s --retries=3 CMD ["donegate", "healthcheck"]
ENTRYPOINT ["tini", "--", "donegate"]
CMD ["serve"]
