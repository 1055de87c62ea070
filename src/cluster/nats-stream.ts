// The stream that is the bucket: made by the first machine, adapted and checked by each. Called with every new
// connection, before anything else uses it. Main thread.

import type { Random } from "../lib/random.ts";
import type { Logger } from "../log/log.ts";
import type { Sealing } from "../state/sealing.ts";
import { sendBatch } from "./atomic-batch.ts";
import { ClusterTrouble } from "./cluster-trouble.ts";
import { API_ERRORS, ApiRefusal, askApi, asNumber, asRecord } from "./jetstream-api.ts";
import type { LiveBucket, LiveNats } from "./live-nats.ts";
import { CONTRACT_VERSION } from "./machine.ts";
import type { RecordSubjects } from "./record-subjects.ts";
import { lastMessage } from "./stored-message.ts";

/** Proves the key of the cluster, and says what the bucket's records are. */
export const CONTRACT_KEY = "meta/contract";
/** With which servers have atomic batches. */
const SERVER_VERSION_MIN = [2, 12] as const;
const API_TIMEOUT_MS = 2000;
/** Servers that should hold the bucket. */
export const REPLICAS = 3;
const MIB = 1024 * 1024;
/** Halved until the servers have room for it. */
const SIZE_MAX_BYTES = 1024 * MIB;
const SIZE_MIN_BYTES = 16 * MIB;

export interface StreamOptions {
  readonly subjects: RecordSubjects;
  readonly sealing: Sealing;
  readonly random: Random;
  readonly logger: Logger;
  /** Asked when there are too few servers for a new bucket: whether to wait for more of them. */
  readonly isWaiting: () => boolean;
}

type Config = Readonly<Record<string, unknown>>;

interface Found {
  readonly config: Config;
  readonly madeAt: string;
}

/**
 * Makes or adapts the bucket, and proves the key.
 * @throws ClusterTrouble, ApiRefusal, NodeError "cluster-away"
 */
export async function readyBucket(live: LiveNats, options: StreamOptions): Promise<LiveBucket> {
  checkVersion(live);
  const found = (await findStream(live, options)) ?? (await makeStream(live, options));
  const config = await adapted(live, found.config, options);
  await proveKey(live, options);
  await proveWritable(live, options);
  return { ...live, madeAt: found.madeAt, replicaCount: asNumber(config.num_replicas) };
}

function checkVersion({ nats }: LiveNats): void {
  const version = nats.info?.version ?? "";
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin, minorMin] = SERVER_VERSION_MIN;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return;
  const message = `the NATS server is of version ${version.slice(0, 20)}: update it to ${majorMin}.${minorMin} or newer`;
  throw new ClusterTrouble(message, { isLasting: true });
}

/** What the bucket must have, also if another program made it. */
function requiredConfig(): Config {
  return {
    // Each message removes the one before (atomic-batch.ts).
    max_msgs_per_subject: -1,
    allow_rollup_hdrs: true,
    discard: "new",
    allow_atomic: true,
    allow_msg_ttl: true,
    allow_direct: true,
  };
}

async function findStream(live: LiveNats, { subjects }: StreamOptions): Promise<Found | undefined> {
  try {
    return foundOf(await askApi(live, `STREAM.INFO.${subjects.stream}`, undefined, API_TIMEOUT_MS));
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === API_ERRORS.streamNotFound) return undefined;
    throw error;
  }
}

function foundOf(answer: Readonly<Record<string, unknown>>): Found {
  return { config: asRecord(answer.config), madeAt: String(answer.created) };
}

async function makeStream(live: LiveNats, options: StreamOptions): Promise<Found> {
  const { subjects, logger, isWaiting } = options;
  let replicas = REPLICAS;
  let sizeBytes = SIZE_MAX_BYTES;
  for (;;) {
    const config: Config = {
      name: subjects.stream,
      subjects: [subjects.all],
      storage: "file",
      retention: "limits",
      max_bytes: sizeBytes,
      deny_delete: true,
      num_replicas: replicas,
      ...requiredConfig(),
    };
    try {
      const made = foundOf(await askApi(live, `STREAM.CREATE.${subjects.stream}`, config, API_TIMEOUT_MS));
      logger.info("bucket of the cluster made in NATS", { stream: subjects.stream, replicas, sizeBytes });
      return made;
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error;
      if (error.code === API_ERRORS.streamExists) {
        const found = await findStream(live, options);
        if (found !== undefined) return found;
      }
      if (replicas > 1 && isTooFewServers(error)) {
        // Of servers that start together some are there first.
        if (live.nats.info?.cluster !== undefined && isWaiting()) throw error;
        replicas = 1;
      } else if (sizeBytes > SIZE_MIN_BYTES && isTooLarge(error)) sizeBytes /= 2;
      else throw error;
    }
  }
}

function isTooFewServers({ code, message }: ApiRefusal): boolean {
  return code === API_ERRORS.replicasNotSupported || (code === API_ERRORS.noPeers && !/storage/.test(message));
}

function isTooLarge({ code, message }: ApiRefusal): boolean {
  const codes: readonly number[] = [
    API_ERRORS.storageResources,
    API_ERRORS.insufficientResources,
    API_ERRORS.accountResources,
    API_ERRORS.maxBytesOfAccount,
  ];
  return codes.includes(code) || (code === API_ERRORS.noPeers && /storage/.test(message));
}

/** The configuration of the stream that is there, changed where it must be. */
async function adapted(live: LiveNats, config: Config, { subjects, logger }: StreamOptions): Promise<Config> {
  const required = requiredConfig();
  let current = config;
  if (Object.entries(required).some(([name, value]) => current[name] !== value)) {
    current = await updated(live, subjects.stream, { ...current, ...required });
  }
  const replicas = asNumber(current.num_replicas);
  const isClustered = live.nats.info?.cluster !== undefined;
  if (!isClustered || replicas >= REPLICAS) return current;
  try {
    current = await updated(live, subjects.stream, { ...current, num_replicas: REPLICAS });
    logger.info("bucket of the cluster is now held by more NATS servers", { replicas: REPLICAS });
  } catch (error) {
    if (!(error instanceof ApiRefusal)) throw error;
    logger.info("bucket of the cluster is held by fewer NATS servers than it should: it is lost with them", {
      replicas,
      wanted: REPLICAS,
      reason: error.message,
    });
  }
  return current;
}

async function updated(live: LiveNats, stream: string, config: Config): Promise<Config> {
  return foundOf(await askApi(live, `STREAM.UPDATE.${stream}`, config, API_TIMEOUT_MS)).config;
}

async function proveKey(live: LiveNats, { subjects, sealing, random }: StreamOptions): Promise<void> {
  const subject = subjects.ofKey(CONTRACT_KEY);
  const existing = await lastMessage(live, subjects.stream, subject, API_TIMEOUT_MS);
  if (existing?.data !== undefined) return checkContract(sealing.open(CONTRACT_KEY, existing.data));
  const data = sealing.seal(CONTRACT_KEY, JSON.stringify({ version: CONTRACT_VERSION }));
  const expected = { subject, revision: existing?.revision ?? 0 };
  const id = Buffer.from(random.bytes(16)).toString("hex");
  const outcome = await sendBatch(live, [{ subject, data, expected }], { id, timeoutMs: API_TIMEOUT_MS });
  if (outcome.kind === "stored") return;
  // Another machine may have been first.
  const made = await lastMessage(live, subjects.stream, subject, API_TIMEOUT_MS);
  if (made?.data !== undefined) return checkContract(sealing.open(CONTRACT_KEY, made.data));
  if (outcome.kind === "refused") throw outcome.refusal;
  throw new ApiRefusal(API_ERRORS.clusterNotAvailable, "the stream has no leader");
}

/** Finds missing permissions, and a stream without a leader. A full one is another matter: it can be read. */
async function proveWritable(live: LiveNats, { subjects, random }: StreamOptions): Promise<void> {
  const message = { subject: subjects.ofKey("touch/check"), data: undefined, expected: undefined };
  const id = Buffer.from(random.bytes(16)).toString("hex");
  const outcome = await sendBatch(live, [message], { id, timeoutMs: API_TIMEOUT_MS });
  if (outcome.kind === "nobody") throw new ApiRefusal(API_ERRORS.clusterNotAvailable, "the stream has no leader");
  if (outcome.kind === "refused" && outcome.refusal.code !== API_ERRORS.storeFailed) throw outcome.refusal;
}

function checkContract(text: string | undefined): void {
  if (text === undefined) {
    throw new ClusterTrouble(
      "the bucket of the cluster is sealed with another key: give all machines the same tonearm.state.key, or two " +
        "clusters on these servers different names (tonearm.cluster.name)",
      { isLasting: true },
    );
  }
  const version = asNumber(asRecord(JSON.parse(text)).version);
  if (version <= CONTRACT_VERSION) return;
  throw new ClusterTrouble(
    "the bucket of the cluster was made by a newer version of Tonearm: update this machine, or choose another " +
      "tonearm.cluster.name",
    { isLasting: true },
  );
}
