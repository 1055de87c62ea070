// The real audio worker, on a machine for which the package that decodes AAC has no build. Needs dist.

import { register } from "node:module";

const hooks = `export async function resolve(name, context, next) {
  // Not found, as Node.js says it.
  return next(name === "@napi-rs/webcodecs" ? "@napi-rs/webcodecs-missing" : name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
await import("../../../dist/node/src/media/main.js");
