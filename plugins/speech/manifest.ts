// The speech plugin's options and identifier claims, known to the main thread before the plugin's thread starts. Main
// and plugin threads.

import type { BuiltinManifest } from "../builtin-manifest.ts";

export const SPEECH_MANIFEST = {
  name: "speech",
  version: "1.0.0",
  config: {
    speakEnabled: {
      type: "flag",
      default: true,
      meaning: "whether `speak:` and `tts://` have Google Translate read a text out",
    },
    ttsLanguage: {
      type: "text",
      default: "en-AU",
      meaning: "language of `speak:`, and of `tts://` where it names none, as a tag such as `en-AU` or `de`",
    },
    speakServer: {
      type: "server",
      meaning: "server to use instead of https://translate.google.com",
    },
    floweryEnabled: { type: "flag", default: true, meaning: "whether `ftts://` has flowery.pw read a text out" },
    voice: { type: "text", meaning: "voice of `ftts://` where it names none; without one, the site's own default" },
    translate: {
      type: "flag",
      default: false,
      meaning: "whether `ftts://` translates a text into the language of its voice",
    },
    silence: {
      type: "integer",
      default: 0,
      min: 0,
      max: 10_000,
      meaning: "silence behind a text of `ftts://`, in milliseconds",
    },
    speed: {
      type: "number",
      default: 1,
      min: 0.5,
      max: 10,
      meaning: "speed of `ftts://`; 1 is the voice's normal speed",
    },
    audioFormat: {
      type: "choice",
      names: ["mp3", "ogg_opus", "ogg_vorbis", "aac", "wav", "flac"],
      default: "mp3",
      meaning: "what `ftts://` is sent as; `aac` needs the optional decoder",
    },
    contact: {
      type: "text",
      default: "",
      meaning:
        "how flowery.pw can reach the operator, such as a mail address; sent with each request, as the site asks for",
    },
    floweryServer: { type: "server", meaning: "server to use instead of https://api.flowery.pw" },
  },
  sources: [
    { name: "speak", prefixes: ["speak:", "tts://"] },
    { name: "flowery-tts", prefixes: ["ftts://"] },
  ],
  // Clients check for these names before they use `speak:` and `tts://`; for `ftts://` they check the source.
  aliases: [
    { name: "DuncteBot-plugin", version: "1.7.1" },
    { name: "tts-plugin", version: "0.1.0" },
  ],
} as const satisfies BuiltinManifest;
