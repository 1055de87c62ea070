// The seed of a fuzz test: a different one in each run, printed, or that of FUZZ_SEED to repeat a run.

export function fuzzSeed(): number {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 32);
  console.log(`FUZZ_SEED=${seed}`);
  return seed;
}
