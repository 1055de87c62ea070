// A fake getyarn.io: a clip with its film, and a page that names none. Shapes: fact sheet of the sources, section 4.14
// (meta tags, as lavaplayer reads them). The film is a WAV where the site has MP4: the player detects the format by
// bytes, not by names. Runs in the process that starts it.

import { wav } from "../media-files/containers.ts";
import { type SiteAnswer, type SiteRequest, SiteServer } from "./site-server.ts";

const RATE_HZ = 8000;
const LENGTH_SECONDS = 4;

export class GetyarnSite {
  readonly site: SiteServer;
  /** Where the film is. */
  filmUrl = "";

  static async start(): Promise<GetyarnSite> {
    const box: { self?: GetyarnSite } = {};
    const site = await SiteServer.start((request) => box.self?.answer(request));
    box.self = new GetyarnSite(site);
    return box.self;
  }

  private constructor(site: SiteServer) {
    this.site = site;
    // A quiet saw, two channels of 16 bits.
    const data = Uint8Array.from({ length: RATE_HZ * LENGTH_SECONDS * 4 }, (_, index) =>
      index % 2 === 0 ? 0 : index % 16,
    );
    site.addMedia("film.mp4", { bytes: wav({ rateHz: RATE_HZ, data }), mimeType: "video/mp4" });
    this.moveFilm();
  }

  /** To another address: the old one is no good any more. */
  moveFilm(): void {
    this.site.expireLinks();
    this.filmUrl = this.site.link("film.mp4", { a: "1" });
  }

  /** For `tonearm.hosts`. */
  get hosts(): Record<string, string> {
    return this.site.hosts("getyarn.io");
  }

  answer({ path }: SiteRequest): SiteAnswer | undefined {
    if (path === "/yarn-clip/bare") return { text: "<html><head><meta charset=utf-8></head></html>" };
    if (path !== "/yarn-clip/0a1b2c3d-1111-2222-3333-444455556666") return undefined;
    const film = this.filmUrl.replaceAll("&", "&amp;");
    return {
      text: `<html><head><meta charset="utf-8"><meta property="og:title" content="It&#39;s &quot;on&quot;">
        <meta content='${film}' property='og:video:secure_url'/>
        <meta property="og:title" content="second"></head></html>`,
    };
  }

  close(): Promise<void> {
    return this.site.close();
  }
}
