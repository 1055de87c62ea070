// Every hostile case, layer by layer, in the order they are run.

import { containerLinks } from "./cases/container-links.ts";
import { hostileSites } from "./cases/hostile-sites.ts";
import { rateLinks } from "./cases/rate-links.ts";
import type { HostileLayer } from "./hostile-case.ts";

export const LAYERS: readonly HostileLayer[] = [rateLinks, containerLinks, hostileSites];
