// Every hostile case, layer by layer, in the order they are run.

import type { HostileLayer } from "./arena/hostile-case.ts";
import { clients } from "./cases/clients.ts";
import { frameLinks } from "./cases/frame-links.ts";
import { hostileSites } from "./cases/hostile-sites.ts";
import { matroskaLinks } from "./cases/matroska-links.ts";
import { mp4Links } from "./cases/mp4-links.ts";
import { oggLinks } from "./cases/ogg-links.ts";
import { opusLinks } from "./cases/opus-links.ts";
import { playlistLinks } from "./cases/playlist-links.ts";
import { rateLinks } from "./cases/rate-links.ts";
import { strangers } from "./cases/strangers.ts";
import { voiceGateways } from "./cases/voice-gateways.ts";

export const LAYERS: readonly HostileLayer[] = [
  rateLinks,
  matroskaLinks,
  oggLinks,
  mp4Links,
  frameLinks,
  opusLinks,
  playlistLinks,
  hostileSites,
  voiceGateways,
  clients,
  strangers,
];
