// The route that says of the running node what belongs into a support bundle (docs/how-to/support.md). Main thread;
// what it says is made in src/observability/support-bundle.

import { AccountBuckets } from "../../lib/account-buckets.ts";
import { TokenBucket } from "../../lib/token-bucket.ts";
import type { ApiContext } from "./api-context.ts";
import { ApiError, badRequest } from "./api-error.ts";
import type { RestRoute } from "./route.ts";

/** The format of the key that pseudonyms of ids are made with, as `tonearm support` makes it. */
const KEY = /^[\da-f]{16,64}$/;

/** Each keeps the thread that answers everybody for a tenth of a second, and viewers may ask as well. */
const BUNDLES = { burst: 30, perSecond: 0.6 };
/** Those of one account. */
const OWN_BUNDLES = { burst: 10, perSecond: 0.2 };
const TOO_OFTEN = "too many requests for support bundles; wait five seconds";

/** GET /v4/tonearm/support. */
export function supportRoutes({ readSupport, clock }: Pick<ApiContext, "readSupport" | "clock">): readonly RestRoute[] {
  const bundles = new TokenBucket({ clock, ...BUNDLES });
  const ownBundles = new AccountBuckets({ clock, ...OWN_BUNDLES });
  return [
    {
      method: "GET",
      path: "/v4/tonearm/support",
      access: "viewer",
      handle: async ({ query, owner }) => {
        const key = query.get("key");
        if (key !== undefined && !KEY.test(key)) throw badRequest("key is not 16 to 64 hexadecimal digits");
        if (!ownBundles.of(owner).take(1) || !bundles.take(1))
          throw new ApiError(429, TOO_OFTEN, { retryAfterS: 1 / OWN_BUNDLES.perSecond });
        return {
          kind: "text",
          status: 200,
          contentType: "text/plain;charset=UTF-8",
          text: await readSupport(key),
        };
      },
      description: {
        summary: "The running node's part of a support bundle, in Markdown, without secrets.",
        query: [{ name: "key", meaning: "Hexadecimal digits; the same give ids the same names.", type: "string" }],
        answers: { 200: "text" },
        errors: [400],
      },
    },
  ];
}
