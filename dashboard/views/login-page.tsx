// Asks for the password. In the browser.

import { Component, createRef } from "preact";
import { logIn } from "../live/node-requests.ts";

interface LoginState {
  readonly isAsking: boolean;
  readonly trouble: string;
}

/** The page shown to users who are not logged in. */
export class LoginPage extends Component<{ readonly loggedIn: () => void }, LoginState> {
  override state: LoginState = { isAsking: false, trouble: "" };
  readonly #field = createRef<HTMLInputElement>();

  override componentDidMount(): void {
    document.title = "Log in · Tonearm";
    this.#field.current?.focus();
  }

  override render({ loggedIn }: { readonly loggedIn: () => void }, { isAsking, trouble }: LoginState) {
    const submit = (event: Event): void => {
      event.preventDefault();
      if (!isAsking) void this.#ask(loggedIn);
    };
    return (
      <main class="login">
        <img src="/dashboard/icon.svg" alt="" width="48" height="48" />
        <h1>Tonearm</h1>
        <form onSubmit={submit}>
          <label for="password">Password of the dashboard</label>
          <input
            ref={this.#field}
            id="password"
            type="password"
            autocomplete="current-password"
            required
            aria-describedby="trouble"
          />
          <p id="trouble" role="alert">
            {trouble}
          </p>
          <button type="submit" aria-disabled={isAsking}>
            {isAsking ? "Asking…" : "Log in"}
          </button>
        </form>
      </main>
    );
  }

  async #ask(loggedIn: () => void): Promise<void> {
    const field = this.#field.current;
    if (field === null) return;
    this.setState({ isAsking: true, trouble: "" });
    const outcome = await logIn(field.value);
    this.setState({ isAsking: false });
    if (outcome.kind === "in") return loggedIn();
    field.select();
    if (outcome.kind === "wrong") this.setState({ trouble: "That password is wrong." });
    if (outcome.kind === "failed") this.setState({ trouble: `That did not work: ${outcome.reason}.` });
    if (outcome.kind === "tooMany") {
      this.setState({ trouble: `Too many wrong passwords from this address. Try again in ${outcome.waitS} s.` });
    }
  }
}
