// What keeps this machine out of its cluster, in words for the operator: what is wrong and what to do about it. Used by
// nats-connection.ts and nats-stream.ts. Main thread.

import { isIP } from "node:net";
import { NodeError } from "../errors.ts";
import { messageOf } from "../lib/message-of.ts";
import { redactText } from "../lib/redact-text.ts";
import { API_ERRORS, ApiRefusal } from "./jetstream-api.ts";
import type { NatsModule } from "./live-nats.ts";

/** The detail of an unknown error is cut off behind it. */
const DETAIL_LENGTH_MAX = 300;

/** A reason for which the cluster cannot be used now. */
export class ClusterTrouble extends Error {
  override readonly name = "ClusterTrouble";
  /** It is the operator who has to change something. */
  readonly isLasting: boolean;

  /** `message`: what is wrong and what to do, without secrets. */
  constructor(message: string, options: { readonly isLasting: boolean; readonly cause?: unknown }) {
    super(message, { cause: options.cause });
    this.isLasting = options.isLasting;
  }
}

/** Any error of the connection or of JetStream as a trouble. */
export function troubleOf(error: unknown, module: NatsModule): ClusterTrouble {
  if (error instanceof ClusterTrouble) return error;
  if (error instanceof ApiRefusal) return refusalTrouble(error);
  const lasting = (message: string) => new ClusterTrouble(message, { isLasting: true, cause: error });
  const passing = (message: string) => new ClusterTrouble(message, { isLasting: false, cause: error });
  if (error instanceof NodeError && error.code === "cluster-unusable") return lasting(error.message);
  const found = inCauses(error, (cause) => cause instanceof module.PermissionViolationError);
  if (found instanceof module.PermissionViolationError) {
    const what = found.operation === "publish" ? "publish to" : "subscribe to";
    return lasting(
      `the NATS user may not ${what} ${found.subject}: give it the permissions of the cluster documentation`,
    );
  }
  if (inCauses(error, (cause) => cause instanceof module.UserAuthenticationExpiredError)) {
    return lasting("NATS refuses the login, it has expired: renew the credentials of tonearm.cluster");
  }
  if (inCauses(error, (cause) => cause instanceof module.AuthorizationError)) {
    return lasting(
      "NATS refuses the login: set the user and password, token, nkey or credentials of the servers in tonearm.cluster",
    );
  }
  const code = codeOf(error);
  if (code === "ECONNREFUSED") {
    return passing("no NATS server accepts connections: start one, or correct tonearm.cluster.servers");
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return passing("no host name in tonearm.cluster.servers can be resolved: correct it, or check DNS");
  }
  const detail = detailOf(error);
  if (/does not support 'tls'/.test(detail)) {
    return lasting("the NATS server has no TLS: use nats:// in tonearm.cluster.servers, or configure TLS there");
  }
  if (/^(?:ERR_TLS|ERR_SSL|ERR_OSSL|CERT_|DEPTH_|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH)/.test(code)) {
    return lasting(`TLS with the NATS server fails (${code}): check its certificate and tonearm.cluster.tls`);
  }
  if (error instanceof NodeError && inCauses(error, (cause) => cause instanceof module.TimeoutError)) {
    return passing("JetStream does not answer: more than half of the NATS servers must run and reach each other");
  }
  if (inCauses(error, (cause) => cause instanceof module.TimeoutError) || code === "ETIMEDOUT") {
    return passing("no NATS server answers in time: check that they run, and the network to them");
  }
  return passing(`the connection to NATS fails: ${detail}`);
}

function refusalTrouble(refusal: ApiRefusal): ClusterTrouble {
  const lasting = (message: string) => new ClusterTrouble(message, { isLasting: true, cause: refusal });
  const passing = (message: string) => new ClusterTrouble(message, { isLasting: false, cause: refusal });
  switch (refusal.code) {
    case API_ERRORS.notEnabled:
      return lasting("the NATS server has no JetStream: start it with --jetstream, or with jetstream {} in its file");
    case API_ERRORS.notEnabledForAccount:
    case API_ERRORS.noAccount:
      return lasting("JetStream is not enabled for the account of the NATS user: enable it there");
    case API_ERRORS.clusterNotAvailable:
    case API_ERRORS.clusterNotLeader:
      return passing("JetStream has no leader: more than half of the NATS servers must run and reach each other");
    case API_ERRORS.noPeers:
      return passing("JetStream has fewer servers than the bucket of the cluster needs: start them all");
    case API_ERRORS.subjectsOverlap:
      return lasting("another stream of NATS takes the subjects of the cluster: choose another tonearm.cluster.name");
    case API_ERRORS.accountResources:
    case API_ERRORS.insufficientResources:
    case API_ERRORS.memoryResources:
    case API_ERRORS.storageResources:
    case API_ERRORS.maxBytesOfAccount:
      return lasting("JetStream has no room for the cluster: raise max_file_store of the servers, or of the account");
    default:
      return passing(`JetStream refuses (${refusal.code}): ${shown(refusal.message)}`);
  }
}

/** An error at start that waiting cannot change. */
export function unusable(message: string, cause?: unknown): NodeError {
  return new NodeError("cluster-unusable", message, { cause });
}

/** `host:port` of a configured server; undefined when it is not an address, or holds more than that. */
export function parseServer(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, name, port = "4222"] =
    /^(?:nats|tls):\/\/(?:\[([0-9A-Fa-f:.]+)\]|([A-Za-z0-9._-]+))(?::(\d{1,5}))?\/?$/.exec(text) ?? [];
  const host = bracketed ?? name;
  if (host === undefined || Number(port) < 1 || Number(port) > 65_535) return undefined;
  if (bracketed !== undefined && isIP(bracketed) !== 6) return undefined;
  return { host, port: Number(port) };
}

function inCauses(error: unknown, isIt: (cause: unknown) => boolean): unknown {
  let current = error;
  for (let depth = 0; depth < 8 && current instanceof Error; depth++) {
    if (isIt(current)) return current;
    current = current.cause;
  }
  return undefined;
}

function codeOf(error: unknown): string {
  const found = inCauses(error, (cause) => cause instanceof Error && "code" in cause && typeof cause.code === "string");
  return found instanceof Error && "code" in found ? String(found.code) : "";
}

function detailOf(error: unknown): string {
  return shown(messageOf(error));
}

function shown(text: string): string {
  return redactText(text).slice(0, DETAIL_LENGTH_MAX);
}
