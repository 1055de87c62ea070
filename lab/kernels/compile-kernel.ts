// Compiles audio loops from their AssemblyScript (src/media/kernels/assembly/) to WebAssembly. Part of `npm run build`
// and of the tests; needs the development packages.

import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import asc from "assemblyscript/asc";

/** No runtime: a loop works in the memory that it is given, and on nothing else. */
const COMPILER_OPTIONS: readonly string[] = [
  ...["--optimizeLevel", "3", "--noAssert"],
  ...["--enable", "simd"],
  ...["--runtime", "stub", "--importMemory", "--noExportMemory", "--use", "abort="],
  // Vectors are passed between functions of one loop only (112); addresses have 32 bits (201).
  ...["--disableWarning", "112", "--disableWarning", "201"],
];

/** More than any loop's static data could begin behind. */
const INSPECTED_PAGES = 16;

/** Below this nothing of a module's own is put: address 0 is nowhere. */
const DATA_BYTE = 1024;

/**
 * Equal sources give equal bytes. Throws with the compiler's messages when it has any, when the source needs a runtime,
 * or when it has data at or behind `dataEndByte` (default 0: none at all): static arrays, strings and the like would
 * overlap the loop's audio.
 */
export async function compileKernel(
  source: URL,
  { dataEndByte = 0 }: { readonly dataEndByte?: number } = {},
): Promise<Uint8Array> {
  const said: string[] = [];
  const listener = { write: (chunk: Uint8Array | string) => void said.push(chunk.toString()) };
  let binary: Uint8Array | undefined;
  const folder = fileURLToPath(new URL(".", source));
  const file = basename(fileURLToPath(source));
  const paths = [file, "--baseDir", folder, "--outFile", "kernel.wasm", "--memoryBase", `${DATA_BYTE}`];
  const { error } = await asc.main([...paths, ...COMPILER_OPTIONS], {
    stdout: listener,
    stderr: listener,
    writeFile: (_name, contents) => {
      if (typeof contents !== "string") binary = contents;
    },
  });
  if (error !== null || binary === undefined || said.length > 0) {
    throw new Error(`the audio loop ${file} does not compile:\n${said.join("")}`, { cause: error });
  }
  if (!isBare(binary, dataEndByte))
    throw new Error(`the audio loop ${file} needs static data or a runtime, which loops have no space for`);
  return binary;
}

/** True when it needs nothing but a memory, and does not initialise that from `dataEndByte` on. */
function isBare(binary: Uint8Array, dataEndByte: number): boolean {
  const module = new WebAssembly.Module(binary);
  const imports = WebAssembly.Module.imports(module).map((entry) => `${entry.module}.${entry.name}`);
  if (imports.join() !== "env.memory") return false;
  const memory = new WebAssembly.Memory({ initial: INSPECTED_PAGES });
  new WebAssembly.Instance(module, { env: { memory } });
  return new Uint8Array(memory.buffer, dataEndByte).every((byte) => byte === 0);
}
