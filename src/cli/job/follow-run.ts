import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import type { Clock } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import { silentLogger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import { createInformer, type Informer } from '../../runtime/list-watch/informer.ts';
import type { FollowLog, LogFollower } from '../logs/run-log.ts';
import { silenceLine, stateLine } from './run-progress.ts';
import { resultOf } from './run-result.ts';

/** Dependencies of a process that follows a run. */
export interface FollowDeps {
  readonly kube: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly namespace: string;
  /** Aborted by a signal to the process. The client's own requests do not end with it. */
  readonly signal: AbortSignal;
  /** Prints a line for people. */
  readonly print: (line: string) => void;
  readonly followLog: FollowLog;
}

/** End of a run, as its follower sees it. A watch that ends is no end of the run. */
export type RunEnd =
  | { readonly type: 'finished'; readonly object: GpuInstance }
  /** With the last known state. */
  | { readonly type: 'deleted'; readonly object: GpuInstance }
  /** The operator will not rent for this spec. */
  | {
      readonly type: 'refused';
      readonly object: GpuInstance;
      readonly reason: string;
      readonly message: string;
    };

const NOTICE_MS = 60_000;
const POLL_MS = 5_000;
/** Maximum time for the rest of the log after the end of the run. */
const LOG_REST_MS = 15_000;

/**
 * Watches a GpuInstance until its run ends, and prints its state, its log, and once a minute what it waits for. Rejects
 * with the reason of the signal.
 */
export async function followRun(first: GpuInstance, deps: FollowDeps): Promise<RunEnd> {
  const { kube, clock, random, namespace, signal, followLog } = deps;
  const { name } = first.metadata;
  const stop = new AbortController();
  const log = followLog(name, stop.signal);
  const informer = createInformer<GpuInstance>({
    ...{ client: kube, clock, random, log: silentLogger, namespace },
    resource: gpuInstanceResource,
    fieldSelector: `metadata.name=${name}`,
  });
  const stopNotices = announceSilence({ first, informer, log, deps });
  try {
    const end = await seenEnd(first, informer, deps);
    if (end.type === 'finished') {
      // SIGTERM does not wait for the rest of the log: the next Pod prints it.
      const limit = { clock, limitMs: 2 * LOG_REST_MS, signal };
      const isWhole = await withDeadline(limit, () => log.finish(LOG_REST_MS));
      if (!isWhole) printLastLines(end.object, deps);
    }
    signal.throwIfAborted();
    return end;
  } finally {
    stopNotices();
    stop.abort();
    await informer.stop();
  }
}

/** Deletes an object for which the operator rents nothing, unless it has changed since. */
export async function removeRefused({ metadata }: GpuInstance, { kube, print }: FollowDeps): Promise<void> {
  const { uid, resourceVersion } = metadata;
  await kube
    .delete(gpuInstanceResource, metadata, { uid, resourceVersion })
    .catch((error: Error) => print(`gpui/${metadata.name} was refused and stays: ${error.message}`));
}

/** Prints the last lines that the status has, because the log itself may be incomplete. */
function printLastLines({ status }: GpuInstance, { print }: FollowDeps): void {
  const message = status?.run?.message?.trimEnd();
  const lines = message ? message.split('\n') : [];
  print(`The log may be incomplete${message ? '; the last lines of the program are:' : '.'}`);
  for (const line of lines) print(line);
}

function seenEnd(first: GpuInstance, informer: Informer<GpuInstance>, deps: FollowDeps): Promise<RunEnd> {
  const { clock, signal, print } = deps;
  return new Promise<RunEnd>((resolve, reject) => {
    let shown: string | undefined;
    let last = first;
    const report = (object: GpuInstance): void => {
      last = object;
      const { key, text } = stateLine(object, clock.now());
      if (key !== shown) print(text);
      shown = key;
      const end = endSeen(object);
      if (end) resolve(end);
    };
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    if (signal.aborted) reject(signal.reason);
    informer.onChange((change) => {
      const isOther = change.object.metadata.uid !== first.metadata.uid;
      if (change.type === 'deleted' || isOther) resolve({ type: 'deleted', object: last });
      else report(change.object);
    });
    informer.start();
    // An object that is deleted before the first list is in no change.
    informer.synced.then(() => {
      if (informer.get(objectKey(first.metadata)) === undefined) resolve({ type: 'deleted', object: last });
    }, reject);
  });
}

function endSeen(object: GpuInstance): RunEnd | undefined {
  if (resultOf(object) !== undefined) return { type: 'finished', object };
  const { conditions = [], attempt = 0, observedGeneration } = object.status ?? {};
  // The author may have corrected the spec since.
  if (observedGeneration !== object.metadata.generation) return undefined;
  const stalled = conditions.find(({ type, status }) => type === 'Stalled' && status === 'True');
  if (stalled?.reason !== 'InvalidSpec' || attempt > 0) return undefined;
  return { type: 'refused', object, reason: stalled.reason, message: stalled.message };
}

/** Reports each minute which component does not answer. Returns a function that stops it. */
function announceSilence({
  first,
  informer,
  log,
  deps: { clock, print },
}: {
  readonly first: GpuInstance;
  readonly informer: Informer<GpuInstance>;
  readonly log: LogFollower;
  readonly deps: FollowDeps;
}): () => void {
  const begun = clock.monotonic();
  const key = objectKey(first.metadata);
  let failingSince: number | undefined;
  let noticeAt = begun + NOTICE_MS;
  const poll = (): void => {
    const now = clock.monotonic();
    failingSince = informer.health().failure === undefined ? undefined : (failingSince ?? now);
    const object = informer.get(key) ?? first;
    const isUnseen = (object.status?.observedGeneration ?? 0) < 1;
    const operatorSince = isUnseen ? begun : log.silentSince;
    const line = silenceLine(first.metadata.name, {
      apiServerMs: failingSince === undefined ? 0 : now - failingSince,
      operatorMs: operatorSince === undefined ? undefined : now - operatorSince,
    });
    if (line !== undefined && now >= noticeAt) {
      print(line);
      noticeAt = now + NOTICE_MS;
    }
    timer = clock.setTimer(POLL_MS, poll, { background: true });
  };
  let timer = clock.setTimer(POLL_MS, poll, { background: true });
  return () => timer.cancel();
}
