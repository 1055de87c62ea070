// The page as a whole: login, head, menu, the view that the address names, and the question before each action. In the
// browser.

import { Component } from "preact";
import { logOut } from "../live/node-requests.ts";
import type { PageStore } from "../live/page-store.ts";
import { MENU, type PageRoute, parseRoute, writeRoute } from "../state/page-route.ts";
import { Announcer } from "./announcer.tsx";
import { ConfirmDialog } from "./confirm-dialog.tsx";
import { ConnectionBanner } from "./connection-banner.tsx";
import { LogPage } from "./log-page.tsx";
import { LoginPage } from "./login-page.tsx";
import { MachinesPage } from "./machines-page.tsx";
import { NodePage } from "./node-page.tsx";
import { type Notice, Notices } from "./notices.tsx";
import { PageHead } from "./page-head.tsx";
import type { AskedAction, PageProps } from "./page-props.ts";
import { PlayerPage } from "./player-page.tsx";
import { PlayersPage } from "./players-page.tsx";
import { SessionsPage } from "./sessions-page.tsx";
import { SourcesPage } from "./sources-page.tsx";

const NOTICES_MAX = 3;

interface AppState {
  readonly route: PageRoute;
  readonly question: { readonly action: AskedAction; readonly subject: string } | null;
  readonly notices: readonly Notice[];
}

/** Everything that is seen. */
export class App extends Component<{ readonly store: PageStore }, AppState> {
  override state: AppState = { route: parseRoute(location.hash), question: null, notices: [] };
  #nextNotice = 1;

  override componentDidMount(): void {
    this.props.store.watch(() => this.setState({}));
    addEventListener("hashchange", () => this.#routeChanged());
    this.props.store.open(this.state.route);
    document.title = titleOf(this.state.route);
  }

  override render() {
    const { store } = this.props;
    const { connection, role, latest } = store.state;
    if (connection.kind === "checking") return <p class="wait">Asking the node…</p>;
    if (connection.kind === "loggedOut") return <LoginPage loggedIn={() => store.connect()} />;
    const isLive = connection.kind === "live";
    const isInCluster = latest !== null && latest.cluster.status.kind !== "disabled";
    const props: PageProps = {
      store,
      known: store.state,
      isLive,
      canAct: role === "operator",
      ask: (action, subject) => this.setState({ question: { action, subject } }),
      go: (route) => this.#go(route),
    };
    return (
      <>
        {/* biome-ignore lint/a11y/useValidAnchor: it leads to #main, where the address must not follow */}
        <a class="skip" href="#main" onClick={skipToMain}>
          Skip to the content
        </a>
        <PageHead state={store.state} logOut={() => void this.#logOut()} />
        <nav class="menu" aria-label="Pages">
          <ul>
            {MENU.filter(({ page }) => page !== "machines" || isInCluster).map(({ page, name }) => (
              <li key={page}>
                <a href={`#/${page}`} {...(page === menuPageOf(this.state.route) && { "aria-current": "page" })}>
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <ConnectionBanner state={store.state} retry={() => store.connect()} />
        <Announcer state={store.state} />
        <main id="main" tabIndex={-1} class={isLive ? "" : "stale"}>
          {latest === null ? <p class="wait">Waiting for the node…</p> : this.#page(props)}
        </main>
        <Notices notices={this.state.notices} close={(id) => this.#closeNotice(id)} />
        {this.state.question && (
          <ConfirmDialog
            {...this.state.question}
            isLive={isLive}
            cancel={() => this.setState({ question: null })}
            confirm={() => void this.#carryOut()}
          />
        )}
      </>
    );
  }

  #page(props: PageProps) {
    const { route } = this.state;
    switch (route.page) {
      case "players":
        return <PlayersPage {...props} route={route} />;
      case "player":
        return <PlayerPage {...props} route={route} key={`${route.sessionId}/${route.guildId}`} />;
      case "machines":
        return <MachinesPage {...props} />;
      case "node":
        return <NodePage {...props} />;
      case "sources":
        return <SourcesPage {...props} />;
      case "sessions":
        return <SessionsPage {...props} route={route} />;
      case "log":
        return <LogPage {...props} route={route} />;
    }
  }

  /** Within a page the address changes without a step back; the menu's links are steps. */
  #go(route: PageRoute): void {
    history.replaceState(null, "", writeRoute(route));
    this.props.store.open(route);
    this.setState({ route });
  }

  #routeChanged(): void {
    const route = parseRoute(location.hash);
    this.props.store.open(route);
    // Moves the focus of screen reader and keyboard users to the start of the new page.
    this.setState({ route }, () => {
      document.title = titleOf(route);
      scrollTo(0, 0);
      document.querySelector<HTMLElement>("main h1")?.focus();
    });
  }

  async #carryOut(): Promise<void> {
    const { question } = this.state;
    this.setState({ question: null });
    if (question === null) return;
    const { action, subject } = question;
    if (action.kind === "downloadSupport") return downloadSupport();
    const error = await this.props.store.act(action);
    this.#notify({ action, subject, error });
  }

  #notify(what: Omit<Notice, "id">): void {
    const notice = { ...what, id: this.#nextNotice++ };
    this.setState(({ notices }) => ({ notices: [...notices, notice].slice(-NOTICES_MAX) }));
  }

  #closeNotice(id: number): void {
    this.setState(({ notices }) => ({ notices: notices.filter((notice) => notice.id !== id) }));
  }

  async #logOut(): Promise<void> {
    if (await logOut()) this.props.store.loggedOut();
    else this.#notify({ action: { kind: "logOut" }, subject: "", error: "the node has not answered" });
  }
}

function menuPageOf({ page }: PageRoute): string {
  return page === "player" ? "players" : page;
}

function titleOf(route: PageRoute): string {
  const name = MENU.find(({ page }) => page === menuPageOf(route))?.name ?? "";
  return `${route.page === "player" ? "Player" : name} · Tonearm`;
}

function skipToMain(event: Event): void {
  // The address names the view, and stays.
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function downloadSupport(): void {
  const link = document.createElement("a");
  link.href = "/dashboard/support";
  link.download = "";
  link.click();
}
