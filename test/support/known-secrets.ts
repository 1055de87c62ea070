// Secrets as operators have them, and every form in which one could get out of a text that was meant to have none.

/** With all that makes one hard to find: signs, slashes, quotes, letters beyond ASCII, blanks. */
export const KNOWN_SECRETS: readonly string[] = [
  "correct horse/battery+staple",
  "hunter2hunter2",
  'pa"ss\\w0rd&more=1',
  "Grüße-an-alle-99",
  "1//0gAbCdEf-GhIjKlMnOpQrStUvWxYz_0123456789",
  "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY",
];

/** The text itself and what encoders make of it; `text` should hold none. */
export function formsOfSecret(secret: string): readonly string[] {
  const bytes = Buffer.from(secret);
  const forms = [
    secret,
    secret.toUpperCase(),
    secret.toLowerCase(),
    encodeURIComponent(secret),
    encodeURIComponent(secret).toLowerCase(),
    encodeURI(secret),
    new URLSearchParams([["", secret]]).toString().slice(1),
    Array.from(bytes, (byte) => `%${byte.toString(16)}`).join(""),
    bytes.toString("hex"),
    bytes.toString("hex").toUpperCase(),
    JSON.stringify(secret).slice(1, -1),
    bytes.toString("base64"),
    bytes.toString("base64url"),
    Buffer.from(`tonearm:${secret}`).toString("base64"),
    Buffer.from(`user:${secret}@host`).toString("base64"),
    Buffer.from(`ab${secret}`).toString("base64url"),
  ];
  return [...new Set(forms)];
}

/** The parts of the secret that are still readable: the whole in some form, or in base64 all but the shared edges. */
export function leaksOf(secret: string, text: string): readonly string[] {
  const folded = text.toLowerCase();
  const cores = ["", "a", "ab"].flatMap((before) => {
    const letters = Buffer.from(before + secret).toString("base64");
    const core = letters.slice(before === "" ? 0 : before.length + 1, -4);
    return [core, core.replaceAll("+", "-").replaceAll("/", "_")];
  });
  return [...formsOfSecret(secret).slice(0, 11), ...cores].filter((form) => folded.includes(form.toLowerCase()));
}
