// The reference of a key package, against the codec of the fake Discord, which reads Welcomes by it.

import { DAVESession as MlsSession } from "@snazzah/davey";
import { expect, test } from "vitest";
import { parseKeyPackage } from "../../../../../lab/discord/mls-codec.ts";
import { keyPackageRefOf } from "../../../../../src/media/voice/dave/key-package-ref.ts";

test("the reference of a key package is the one that Welcomes carry", () => {
  const keyPackage = new MlsSession(1, "5001", "6001").getSerializedKeyPackage();
  expect(keyPackageRefOf(keyPackage).toString("hex")).toBe(parseKeyPackage(keyPackage)?.ref);
});
