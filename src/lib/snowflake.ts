// The ids of Discord: guilds, channels, users (discord.com/developers/docs/reference, "Snowflakes"). A leaf, on all
// threads.

const UINT64_MAX = 2n ** 64n - 1n;

/** Whether `text` is an unsigned 64-bit integer, in plain digits. */
export function isSnowflake(text: string | undefined): text is string {
  return text !== undefined && /^\d{1,20}$/.test(text) && BigInt(text) <= UINT64_MAX;
}
