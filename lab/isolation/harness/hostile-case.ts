// A hostile case: a name, a description, and the attack. Cases are in tables, one file per layer, below cases/;
// cases.ts is the list.

import type { Answer } from "../../media-server/answer-plan.ts";
import type { LoggedRequest } from "../../media-server/media-server.ts";
import type { Attack } from "./attack.ts";
import type { NodeSetting } from "./node-context.ts";

export interface HostileCase {
  /** Kebab-case, for `--case`. */
  readonly name: string;
  /** One line: the input that is sent. */
  readonly what: string;
  /** One of the most telling cases in the least time (`--quick`). */
  readonly isQuick?: boolean;
  /** How long its hostile tracks play, in seconds. Default 4. */
  readonly seconds?: number;
  /** Default "plain". Others are not run against a node that was started elsewhere. */
  readonly node?: NodeSetting;
  /** Does the slow preparation; the attack begins when the returned function is called. */
  readonly arm: (attack: Attack) => Strike | Promise<Strike>;
}

/** The attack. Its result is printed as the node's answer. */
export type Strike = () => Promise<string>;

export interface HostileLayer {
  readonly layer: string;
  readonly cases: readonly HostileCase[];
}

type Options = Pick<HostileCase, "isQuick" | "seconds">;

/** A file behind a link: loaded once, then played by two players of an attacker. Its file extension gives its type. */
export function playsFile(
  name: string,
  what: string,
  build: () => Uint8Array | string,
  { fileName = name, ...options }: Options & { readonly fileName?: string } = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => {
      const url = attack.serveFile(fileName, build());
      return () => attack.loadAndPlay(url);
    },
  };
}

/** A scripted site behind a link, used likewise. `answer` is called for every request. */
export function playsSite(
  name: string,
  what: string,
  answer: (request: LoggedRequest, attack: Attack) => Answer | undefined,
  { path = "song.mp3", ...options }: Options & { readonly path?: string } = {},
): HostileCase {
  return {
    name,
    what,
    ...options,
    arm: (attack) => {
      const url = attack.serve(path, (request) => answer(request, attack));
      return () => attack.loadAndPlay(url);
    },
  };
}
