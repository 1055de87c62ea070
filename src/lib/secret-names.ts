// Which names stand before a secret: of headers, members, query parameters, path segments. A leaf, used on both
// threads.

/** A part of a name, in lower case and without punctuation, that marks a secret. */
const SECRET_NAME_PART =
  /authori[sz]ation|passw|passphrase|token|secret|cookie|credential|signature|apikey|accesskey|privatekey|bearer|proxyurl/;

/**
 * Whole names. The names in signed addresses differ by site: googlevideo, CloudFront, Akamai, Azure, Google Storage.
 */
const SECRET_NAMES = new Set(
  `sig lsig key auth pass pwd pw pot hmac sid jwt otp nonce dsn session sessionid sessionkey mediakey
  resumekey resumingkey secretkey encryptionkey policy keypairid hdnea hdnts hdntl googleaccessid authkey sign
  wssecret txsecret visitordata`.split(/\s+/),
);

/** True for `token`, `X-Amz-Signature`, `access_token`, `auth[key]`, `%74oken`, `\u0074oken` and the like. */
export function isSecretName(name: string): boolean {
  const plain = unescapeAscii(name)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "");
  return SECRET_NAMES.has(plain) || SECRET_NAME_PART.test(plain) || name.split(/[.[\]]/).some(isWholeName);
}

/** `?` and `%3F` and `%253F`, `\u003f`, `\\u003f`, `\x3f`, `\/`, `\"`: as they read. Other letters stay as they are. */
export function unescapeAscii(text: string): string {
  let plain = text;
  if (plain.includes("\\")) plain = plain.replaceAll(/(?<!\\)\\+(?:u00|x)(0[9ad]|[2-7][0-9a-f])/gi, fromHex);
  if (plain.includes("\\")) plain = plain.replaceAll(/(?<!\\)\\+(?=[/"'])/g, "");
  if (plain.includes("%")) plain = plain.replaceAll(/%(?:25)*(0[9ad]|[2-7][0-9a-f])/gi, fromHex);
  return plain;
}

/** `\t`, `\n` and `\r` as they read. A backslash before a word, as in a path, may be taken for one of them. */
export function unescapeBlanks(text: string): string {
  return text.replaceAll(/(?<!\\)\\+[tnr]/g, (blank) => (blank.endsWith("t") ? "\t" : "\n"));
}

function fromHex(_escape: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 16));
}

function isWholeName(part: string): boolean {
  return SECRET_NAMES.has(part.toLowerCase());
}
