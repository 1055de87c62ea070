// The entry of the dashboard's page: connects and renders the state. In the browser.

import { render } from "preact";
import { openLiveSocket } from "./live/browser-socket.ts";
import { askSession } from "./live/node-requests.ts";
import { PageStore } from "./live/page-store.ts";
import { chooseTheme, persistedTheme } from "./live/theme-choice.ts";
import { App } from "./views/app.tsx";

chooseTheme(persistedTheme());

const store = new PageStore({
  askSession,
  openSocket: openLiveSocket,
  now: () => Date.now(),
  later: (call, delayMs) => {
    const timer = setTimeout(call, delayMs);
    return () => clearTimeout(timer);
  },
});
document.addEventListener("visibilitychange", () => store.setHidden(document.hidden));
addEventListener("online", () => store.setHidden(document.hidden));

const container = document.getElementById("page");
if (container === null) throw new Error("index.html has no element for the page");
render(<App store={store} />, container);
store.connect();
if (document.hidden) store.setHidden(true);
