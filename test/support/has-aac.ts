// Whether this machine can decode AAC: the package that does is optional, and has no build for some.

export const hasAac = await import("@napi-rs/webcodecs").then(
  () => true,
  () => false,
);
