import { expect, test } from "vitest";
import type { LinkCommand } from "../../../../src/bridge/commands.ts";
import type { WorkerEvent } from "../../../../src/bridge/events.ts";
import type { PlayableLink } from "../../../../src/bridge/playable-link.ts";
import { type LinkSource, serveLinks } from "../../../../src/control/workers/link-source.ts";
import { linkTo, SITE_TRACK } from "../../../support/scripted-links.ts";

const LINK_REQUESTED: WorkerEvent = {
  type: "linkRequested",
  linkId: 3,
  track: SITE_TRACK,
  owner: ["address test"],
  reason: "expiring",
  variant: "a",
};
const LINK = linkTo("http://site.example/song");

/** Lets promises run their course. */
const nextIteration = () => new Promise((next) => setImmediate(next));

function start() {
  const gone = new AbortController();
  const sent: LinkCommand[] = [];
  return { gone, sent, asker: { send: (answer: LinkCommand) => sent.push(answer), gone: gone.signal } };
}

test("only an event that requests a link is handled", async () => {
  const { asker, sent } = start();
  expect(serveLinks({ type: "ready" }, undefined, asker)).toBe(false);
  expect(serveLinks(LINK_REQUESTED, { link: async () => LINK }, asker)).toBe(true);
  await nextIteration();
  expect(sent).toEqual([{ type: "link", linkId: 3, link: LINK }]);
});

test("what a source throws by mistake is an error like any other", async () => {
  const { asker, sent } = start();
  const links: LinkSource = {
    link: () => {
      throw new TypeError("a mistake");
    },
  };
  serveLinks(LINK_REQUESTED, links, asker);
  await nextIteration();
  expect(sent).toMatchObject([{ type: "linkError", linkId: 3, error: { code: "internal" } }]);
});

test("a source gets an aborted signal when the requesting thread is already gone", async () => {
  const { asker, gone } = start();
  gone.abort();
  const reported: boolean[] = [];
  const link: LinkSource["link"] = async (_request, { signal }) => {
    reported.push(signal.aborted);
    return LINK;
  };
  serveLinks(LINK_REQUESTED, { link }, asker);
  await nextIteration();
  expect(reported).toEqual([true]);
});

test("once the thread is gone, the source's signal fires and its answer is dropped", async () => {
  const { asker, sent, gone } = start();
  const reported: boolean[] = [];
  let give = (_link: PlayableLink): void => undefined;
  const link: LinkSource["link"] = (_request, { signal }) => {
    signal.addEventListener("abort", () => reported.push(true));
    return new Promise((resolve) => {
      give = resolve;
    });
  };
  serveLinks(LINK_REQUESTED, { link }, asker);
  gone.abort();
  give(LINK);
  await nextIteration();
  expect([reported, sent]).toEqual([[true], []]);
});
