// Every hostile case, layer by layer, in the order they are run.

import { clients } from "./cases/clients.ts";
import { frameLinks } from "./cases/frame-links.ts";
import { hostileSites } from "./cases/hostile-sites.ts";
import { localFiles } from "./cases/local-files.ts";
import { matroskaLinks } from "./cases/matroska-links.ts";
import { mp4Links } from "./cases/mp4-links.ts";
import { oggLinks } from "./cases/ogg-links.ts";
import { opusLinks } from "./cases/opus-links.ts";
import { playlistLinks } from "./cases/playlist-links.ts";
import { rateLinks } from "./cases/rate-links.ts";
import { untrustedInput } from "./cases/untrusted-input.ts";
import { voiceGateways } from "./cases/voice-gateways.ts";
import type { HostileLayer } from "./harness/hostile-case.ts";

export const LAYERS: readonly HostileLayer[] = [
  rateLinks,
  matroskaLinks,
  oggLinks,
  mp4Links,
  frameLinks,
  opusLinks,
  playlistLinks,
  hostileSites,
  localFiles,
  voiceGateways,
  clients,
  untrustedInput,
];
