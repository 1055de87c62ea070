// Texts that are read out: `speak:` and `tts://` by Google Translate, `ftts://` by flowery.pw. Both answer a plain request
// with a file, so nothing is asked of them before a track is played. Plugin thread.

import { API_VERSION, definePlugin } from "../../src/plugin-api/plugin.ts";
import { FlowerySource } from "./flowery-source.ts";
import { SPEECH_MANIFEST } from "./manifest.ts";
import { SpeakSource } from "./speak-source.ts";

const { name, version, config, sources, aliases } = SPEECH_MANIFEST;
const GOOGLE = "https://translate.google.com";
const FLOWERY = "https://api.flowery.pw";

export default definePlugin({
  name,
  version,
  config,
  apiVersion: API_VERSION,
  setup({ options, userAgent, addSource, addAlias }) {
    const { speakEnabled, ttsLanguage, speakServer, floweryEnabled, floweryServer, contact, ...rest } = options;
    const speak = new SpeakSource({
      isEnabled: speakEnabled,
      language: ttsLanguage,
      server: speakServer ?? GOOGLE,
    });
    const flowery = new FlowerySource({
      ...rest,
      isEnabled: floweryEnabled,
      server: floweryServer ?? FLOWERY,
      userAgent: contact === "" ? userAgent : `${userAgent} (${headerText(contact)})`,
    });
    for (const alias of aliases) addAlias(alias.name, alias.version);
    for (const [claims, source] of [[sources[0], speak] as const, [sources[1], flowery] as const]) {
      addSource({
        ...claims,
        load: (request) => source.load(request),
        resolve: (request) => source.resolve(request),
      });
    }
  },
});

/** Removes characters that are not allowed in a header. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, "?").slice(0, 200);
}
