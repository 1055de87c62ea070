# The image: `docker build --tag tonearm .` in a checkout, or `podman build --format docker --tag tonearm .`. How to use
# it: docs/how-to/container.md.
#
# Debian, not Alpine: Node.js has no official musl builds, and musl's allocator serializes threads. Not distroless:
# Node.js 26 needs libatomic, and operators install yt-dlp with apt-get. User 10001, by number so that Kubernetes sees
# that it is not root, and not 1000, which is a human on most hosts. A password is required, because a generated one
# would go to the log and change at each start. No init: Node.js handles signals as process 1, and engines offer one.
#
# No program of the target platform runs during the build, so both platforms are built on either, without emulation:
# `docker buildx build --platform linux/amd64,linux/arm64 .`

ARG NODE_IMAGE=docker.io/library/node:26-trixie-slim

FROM --platform=$BUILDPLATFORM $NODE_IMAGE AS build
WORKDIR /build
# Copied first, so that packages are fetched again only when these files change.
COPY package.json package-lock.json .npmrc ./
COPY lab/package.json lab/
COPY opus-encoder/package.json opus-encoder/
RUN npm ci --include=dev --ignore-scripts
COPY . .
RUN npm run build && npm pack --ignore-scripts

# The content of the npm package, with its run-time packages in the versions of the lock file, for TARGETARCH.
ARG TARGETARCH
WORKDIR /image/opt/tonearm
RUN tar --extract --file /build/tonearm-*.tgz --strip-components=1 \
  && cp /build/package-lock.json /build/.npmrc . \
  && npm ci --omit=dev --ignore-scripts --os=linux --libc=glibc --cpu="$(echo "$TARGETARCH" | sed s/amd64/x64/)" \
  && npm pkg delete devDependencies scripts workspaces \
  && npm sbom --omit=dev --sbom-format=cyclonedx >sbom.cdx.json \
  && rm package-lock.json .npmrc \
  && mkdir --parents /image/etc/tonearm/config /image/usr/local/bin /state \
  # Where compose files made for Lavalink mount it.
  && ln --symbolic /opt/Lavalink/application.yml /image/etc/tonearm/config/application.yml \
  && ln --symbolic /opt/tonearm/bin/tonearm.js /image/usr/local/bin/tonearm

FROM $NODE_IMAGE
ARG VERSION=unknown
ARG REVISION=unknown
LABEL org.opencontainers.image.title="Tonearm" \
  org.opencontainers.image.description="Audio node for Discord bots that speaks the Lavalink v4 protocol" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="$VERSION" \
  org.opencontainers.image.revision="$REVISION" \
  org.opencontainers.image.base.name="docker.io/library/node:26-trixie-slim"

COPY --from=build /image/ /
# The state and the persisted data of plugins, the only writable folder.
COPY --from=build --chown=10001:10001 /state/ /var/lib/tonearm/
VOLUME /var/lib/tonearm

# An empty SERVER_ADDRESS leaves the choice to the configuration file. The node does not start without a password: a
# generated one would stay in the engine's log.
ENV NODE_ENV=production \
  SERVER_ADDRESS=0.0.0.0 \
  TONEARM_PLUGIN_DATA_PATH=/var/lib/tonearm \
  TONEARM_REQUIRE_PASSWORD=true \
  TONEARM_STATE_PATH=/var/lib/tonearm/state

# The folder of tonearm.yml or application.yml.
WORKDIR /etc/tonearm
USER 10001:10001
EXPOSE 2333
HEALTHCHECK --interval=30s --timeout=10s --start-period=20s --retries=3 CMD ["tonearm", "health"]
ENTRYPOINT ["tonearm"]
CMD ["start"]
