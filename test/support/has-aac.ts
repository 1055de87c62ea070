// Whether this machine can decode AAC: the package for it is optional, and has no build for some platforms.

export const hasAac = await import("@napi-rs/webcodecs").then(
  () => true,
  () => false,
);
