// Maps the address behind `#` to the open page, so that reload, back and shared links work. In the browser.

import type { PlayerReference, ViewMessage } from "../../src/control/dashboard/live-messages.ts";
import type { LogLevel } from "../../src/log/log.ts";

/** Rows of one page of players. */
export const PAGE_ROWS = 100;

/** From the least important to the most. */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const satisfies readonly LogLevel[];

/** Whether it is about all machines of the cluster. Default: about the one that the page is connected to. */
interface OfMachines {
  readonly allMachines?: boolean;
}

/** The open page. Pages of players count from 1. */
export type PageRoute =
  | ({
      readonly page: "players";
      readonly filter: string;
      readonly onlyTrouble: boolean;
      readonly number: number;
    } & OfMachines)
  | ({ readonly page: "player" } & PlayerReference & OfMachines)
  | ({ readonly page: "sessions" } & OfMachines)
  | { readonly page: "node" | "machines" | "sources" }
  | { readonly page: "log"; readonly level: LogLevel };

/** The pages of the menu, in order. */
export const MENU = [
  { page: "players", name: "Players" },
  { page: "machines", name: "Machines" },
  { page: "node", name: "Node" },
  { page: "sources", name: "Sources" },
  { page: "sessions", name: "Sessions" },
  { page: "log", name: "Log" },
] as const;

const FILTER_LENGTH_MAX = 100;
const NUMBER_MAX = 1_000_000;
const ALL_PLAYERS: PageRoute = { page: "players", filter: "", onlyTrouble: false, number: 1 };

/** Reads `#/players?q=…`; anything unknown leads to the players. */
export function parseRoute(hash: string): PageRoute {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [page, ...rest] = path.split("/").map(decoded);
  const values = new URLSearchParams(query);
  const wide = values.get("machines") === "all" ? { allMachines: true } : {};
  switch (page) {
    case "players": {
      const [sessionId = "", guildId = ""] = rest;
      if (sessionId !== "" && guildId !== "") return { page: "player", sessionId, guildId, ...wide };
      const number = Math.floor(Number(values.get("page") ?? 1));
      return {
        page: "players",
        filter: (values.get("q") ?? "").slice(0, FILTER_LENGTH_MAX),
        onlyTrouble: values.get("trouble") === "1",
        number: number >= 1 && number <= NUMBER_MAX ? number : 1,
        ...wide,
      };
    }
    case "sessions":
      return { page, ...wide };
    case "node":
    case "machines":
    case "sources":
      return { page };
    case "log":
      return { page, level: LOG_LEVELS.find((level) => level === values.get("level")) ?? "info" };
    default:
      return ALL_PLAYERS;
  }
}

/** The inverse of `parseRoute`; the result begins with `#/`. */
export function writeRoute(route: PageRoute): string {
  switch (route.page) {
    case "player":
      return `#/players/${encodeURIComponent(route.sessionId)}/${encodeURIComponent(route.guildId)}${wideQuery(route)}`;
    case "players": {
      const values = new URLSearchParams();
      if (route.filter !== "") values.set("q", route.filter);
      if (route.onlyTrouble) values.set("trouble", "1");
      if (route.number > 1) values.set("page", String(route.number));
      if (route.allMachines) values.set("machines", "all");
      return `#/players${values.size === 0 ? "" : `?${values}`}`;
    }
    case "sessions":
      return `#/sessions${wideQuery(route)}`;
    case "log":
      return `#/log${route.level === "info" ? "" : `?level=${route.level}`}`;
    default:
      return `#/${route.page}`;
  }
}

/** The view that the node is asked for: no more than the page shows. */
export function viewOf(route: PageRoute): ViewMessage {
  const nothing = { filter: "", onlyTrouble: false, offset: 0, count: 1, focus: null, logLevel: null };
  const wide = "allMachines" in route && route.allMachines ? { allMachines: true } : {};
  switch (route.page) {
    case "players": {
      const { filter, onlyTrouble, number } = route;
      return {
        type: "view",
        focus: null,
        logLevel: null,
        filter,
        onlyTrouble,
        offset: (number - 1) * PAGE_ROWS,
        count: PAGE_ROWS,
        ...wide,
      };
    }
    case "player":
      // The player's row has fields that the diagnosis lacks: requester, length, cost.
      return {
        ...nothing,
        type: "view",
        filter: route.guildId,
        count: 10,
        focus: { sessionId: route.sessionId, guildId: route.guildId },
        ...wide,
      };
    case "machines":
      return { ...nothing, type: "view", allMachines: true };
    case "log":
      return { ...nothing, type: "view", logLevel: route.level };
    default:
      return { ...nothing, type: "view", ...wide };
  }
}

function wideQuery({ allMachines }: OfMachines): string {
  return allMachines ? "?machines=all" : "";
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // A malformed address matches no player.
    return "";
  }
}
