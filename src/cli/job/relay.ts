import type { GpuInstance, GpuInstanceManifestSpec } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { annotations, gpuInstanceResource, marketplaceAccountResource } from '../../api/v1alpha1/names.ts';
import { type AccountRef, accountRefOf } from '../../instance/account-ref.ts';
import { cancelTime } from '../../instance/run.ts';
import { sleep } from '../../lib/clock.ts';
import { withDeadline } from '../../lib/deadline.ts';
import type { OwnerReference } from '../../lib/object-meta.ts';
import { formatTime } from '../../lib/time.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import type { KubeObject } from '../../runtime/kube/kube-object.ts';
import { ageText } from '../../views/amounts.ts';
import { type FollowDeps, followRun, type RunEnd, removeRefused } from './follow-run.ts';
import { isPriceLimited, type RunManifest, runsProgram, withOwner } from './run-manifest.ts';
import { runName, runSelector } from './run-name.ts';
import {
  endingOf,
  jobOf,
  jobResource,
  type OwnerObject,
  type OwnerReply,
  ownerOf,
  podResource,
  type RunOwner,
  restartsAlways,
  sharedWork,
} from './run-owner.ts';
import { exitCodeOf, JOB_EXIT, resultOf, summaryLine } from './run-result.ts';
import { attemptOf, runStep } from './run-step.ts';

/** The Pod of a relay, and the run that it requests. */
export interface RelayRequest {
  readonly pod: {
    readonly name: string;
    /** From the downward API; then the relay needs no permission to read Pods. */
    readonly uid?: string | undefined;
  };
  readonly manifest: RunManifest;
}

/** End of a relay. */
export interface RelayEnd {
  readonly exitCode: number;
  /** The last line, for programs and for the termination log of the container. */
  readonly line: string;
}

/** Nothing was rented, and another Pod would be refused, too. */
export class RunRefused extends Error {
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'RunRefused';
    this.reason = reason;
  }
}

const RETRY_MS = 2_000;
const NOTICE_MS = 60_000;
/** A Pod has 30 s by default between SIGTERM and SIGKILL. */
const ENDING_MS = 5_000;

/**
 * Creates the GpuInstance of a Pod, or attaches to it, and follows it to its end. Resolves to the exit code of the
 * container; rejects with {@link RunRefused} if nothing is rented.
 */
export async function relay(request: RelayRequest, deps: FollowDeps): Promise<RelayEnd> {
  const found: { owner?: RunOwner } = {};
  try {
    const owner = await ownerOfPod(request, deps);
    found.owner = owner;
    const object = await begin(owner, request, deps);
    return await endOf(await followRun(object, deps), request, deps);
  } catch (error) {
    if (!deps.signal.aborted || error !== deps.signal.reason) throw error;
    return leave(found.owner, request, deps);
  }
}

/** Failures that a repetition may cure. A token that expires is replaced in its file. */
const PASSING = ['unavailable', 'throttled', 'unknown', 'unauthorized'] as const;

async function ownerOfPod(request: RelayRequest, deps: FollowDeps): Promise<RunOwner> {
  const pod = await readPod(request, deps);
  const again = restartsAlways(pod);
  if (again !== undefined) throw new RunRefused('RestartsAlways', `${again}: write restartPolicy: Never.`);
  const controller = jobOf(pod);
  const job = controller && (await readJob(controller, deps));
  const owner = ownerOf(pod, job);
  if (owner === undefined) throw new Error('an owner without a reply about its Job');
  const shared = job?.type === 'found' ? sharedWork(job.object) : undefined;
  if (shared !== undefined)
    throw new RunRefused('JobNotIndexed', `${shared}: write completionMode: Indexed.`);
  const ending = job && endingOf(owner, job);
  // The garbage collector deletes an object of a deleted owner, but it may be rented before.
  if (ending?.cancels) throw new RunRefused('OwnerEnded', `${ending.cause}: nothing is rented.`);
  return owner;
}

async function readPod({ pod: { name, uid } }: RelayRequest, deps: FollowDeps): Promise<KubeObject> {
  const { kube, namespace } = deps;
  const given = { apiVersion: 'v1', kind: podResource.kind, metadata: { name, uid } };
  try {
    const pod = await whileSilent(deps, () => kube.get<KubeObject>(podResource, { namespace, name }));
    if (pod !== undefined && (uid === undefined || pod.metadata.uid === uid)) return pod;
  } catch (error) {
    if (!isKubeError(error, 'forbidden')) throw error;
    if (uid !== undefined) return given;
    throw new RunRefused('PodUnknown', `The relay may not read Pod ${name}: ${error.message}.`, {
      cause: error,
    });
  }
  throw new RunRefused(
    'PodUnknown',
    `There is no Pod ${name} in namespace ${namespace}: gpu-rent job runs in a Pod, with its name in POD_NAME. Elsewhere use gpu-rent run.`,
  );
}

async function readJob({ name }: OwnerReference, deps: FollowDeps): Promise<OwnerReply> {
  const { kube, namespace } = deps;
  try {
    return replyOf(await whileSilent(deps, () => kube.get<OwnerObject>(jobResource, { namespace, name })));
  } catch (error) {
    if (isKubeError(error, 'forbidden')) return { type: 'forbidden' };
    throw error;
  }
}

function replyOf(object: OwnerObject | undefined): OwnerReply {
  return object === undefined ? { type: 'absent' } : { type: 'found', object };
}

/**
 * Repeats a read while the API server does not answer or does not accept the token, and reports that each minute. Rejects
 * at once with the reason of the signal.
 */
async function whileSilent<T>({ clock, signal, print }: FollowDeps, ask: () => Promise<T>): Promise<T> {
  const begun = clock.monotonic();
  let notices = 0;
  for (;;) {
    signal.throwIfAborted();
    try {
      return await untilAborted(signal, ask());
    } catch (error) {
      if (!isKubeError(error, ...PASSING)) throw error;
      const silentMs = clock.monotonic() - begun;
      if (silentMs >= NOTICE_MS * (notices + 1)) {
        notices += 1;
        print(`Waiting for the API server for ${ageText(silentMs)}: ${error.message}`);
      }
    }
    await sleep(clock, RETRY_MS, signal);
  }
}

/**
 * Settles as a creation does. After SIGTERM it has five seconds left: {@link leave} cancels only what it can list, and
 * without a reply it is open whether the object exists.
 */
async function untilEnding<T>({ clock, signal }: FollowDeps, creation: Promise<T>): Promise<T> {
  const late = new AbortController();
  const onAbort = (): void => {
    clock.setTimer(ENDING_MS, () => late.abort(signal.reason), { background: true });
  };
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await untilAborted(late.signal, creation);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Settles as the promise does, or rejects with the reason of the signal. The request itself goes on. */
async function untilAborted<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Resolves to the object of this work: an existing one, or a new one. */
async function begin(owner: RunOwner, request: RelayRequest, deps: FollowDeps): Promise<GpuInstance> {
  const { kube, clock, namespace, signal, print } = deps;
  let isWaiting = false;
  for (;;) {
    const { items } = await whileSilent(deps, () =>
      kube.list<GpuInstance>(gpuInstanceResource, { namespace, labelSelector: runSelector(owner) }),
    );
    const step = runStep(items, owner);
    switch (step.type) {
      case 'attach':
        reviewProgram(step.object, owner, { request, deps });
        print(`Attached to gpui/${step.object.metadata.name}.`);
        return step.object;
      case 'refuse':
        throw new RunRefused(step.reason, step.message);
      case 'wait':
        if (!isWaiting) print(`Waiting until gpui/${step.name} of the last try ${step.until}.`);
        isWaiting = true;
        break;
      case 'create': {
        const object = await created(step.attempt, owner, { request, deps });
        if (object === undefined) break;
        if (step.supersedes) await removeSuperseded(step.supersedes, deps);
        return object;
      }
    }
    await sleep(clock, RETRY_MS, signal);
  }
}

/**
 * Compares the program of an existing object with the requested one. Throws in a Pod without a Job: another container or
 * step began that run, and its success is none of this one. A mounted file may change while the machine of a Job runs.
 */
function reviewProgram({ metadata, spec }: GpuInstance, owner: RunOwner, { request, deps }: Asked): void {
  if (runsProgram(spec, request.manifest.spec)) return;
  const { kind, name } = owner.reference;
  const found = `gpui/${metadata.name} of ${kind} ${name} runs another program`;
  if (kind === podResource.kind)
    throw new RunRefused('OtherProgram', `${found}: one Pod has one gpu-rent job.`);
  deps.print(`${found} than this Pod requests: it was begun before.`);
}

interface Asked {
  readonly request: RelayRequest;
  readonly deps: FollowDeps;
}

/** Creates the object of a try. Undefined if the outcome is open, or if another relay was first: list again. */
async function created(
  attempt: number,
  owner: RunOwner,
  { request: { manifest }, deps }: Asked,
): Promise<GpuInstance | undefined> {
  const { kube, namespace, print } = deps;
  const object = withOwner(manifest, owner, { attempt, namespace });
  await requirePriceLimit(object, deps);
  const { name } = object.metadata;
  try {
    const creation = kube.create<GpuInstance>(gpuInstanceResource, object, { fieldManager: 'gpu-rent-job' });
    const stored = await untilEnding(deps, creation);
    print(`gpui/${name} created for ${owner.reference.kind} ${owner.reference.name}.`);
    return stored;
  } catch (error) {
    if (isKubeError(error, 'alreadyExists')) {
      await refuseForeign(name, owner, deps);
      return undefined;
    }
    if (isKubeError(error, ...PASSING)) return undefined;
    if (!isKubeError(error)) throw error;
    throw new RunRefused('NotAccepted', `The API server does not accept the GpuInstance: ${error.message}`, {
      cause: error,
    });
  }
}

/** Rejects if an object of other work has this name. */
async function refuseForeign(name: string, owner: RunOwner, deps: FollowDeps): Promise<void> {
  const { kube, namespace } = deps;
  const object = await whileSilent(deps, () =>
    kube.get<GpuInstance>(gpuInstanceResource, { namespace, name }),
  );
  if (object === undefined || attemptOf(object, owner) !== undefined) return;
  throw new RunRefused(
    'NameTaken',
    `gpui/${name} exists and does not belong to ${owner.reference.kind} ${owner.reference.name}.`,
  );
}

async function requirePriceLimit(object: GpuInstance, deps: FollowDeps): Promise<void> {
  if (isPriceLimited(object.spec)) return;
  const account = await whileSilent(deps, () =>
    deps.kube.get<MarketplaceAccount>(marketplaceAccountResource, accountOf(object)),
  ).catch((error: unknown) => {
    if (isKubeError(error, 'forbidden')) return undefined;
    throw error;
  });
  if (account?.spec.limits?.maxPricePerHour !== undefined) return;
  throw new RunRefused(
    'NoPriceLimit',
    'No price limit: give --max-price, or maxPricePerHour in every alternative of spec.offers.',
  );
}

/** Returns the account of an object to which the API server has not added its defaults yet. */
function accountOf({ metadata, spec }: GpuInstance): AccountRef {
  const { accountRef }: GpuInstanceManifestSpec = spec;
  const { name = 'default', namespace } = accountRef ?? {};
  return accountRefOf({ metadata, spec: { accountRef: { name, namespace } } });
}

/** Deletes the failed object of the try before. A failure is harmless: it has no machine. */
async function removeSuperseded({ metadata: { name, uid } }: GpuInstance, deps: FollowDeps): Promise<void> {
  const { kube, namespace, print } = deps;
  await kube
    .delete(gpuInstanceResource, { namespace, name }, { uid })
    .catch((error: Error) => print(`gpui/${name} of the last try stays: ${error.message}`));
}

async function endOf(end: RunEnd, request: RelayRequest, deps: FollowDeps): Promise<RelayEnd> {
  const { clock, print } = deps;
  const { object } = end;
  const { name } = object.metadata;
  const line = summaryLine(object, clock.now());
  switch (end.type) {
    case 'deleted':
      print(`gpui/${name} was deleted before its run ended.`);
      return { exitCode: JOB_EXIT.cancelled, line };
    case 'refused':
      await removeRefused(object, deps);
      throw new RunRefused(end.reason, end.message);
    case 'finished': {
      const result = resultOf(object);
      if (result === undefined) throw new Error('a finished run without a result');
      print(`gpui/${name} ${result.reason}: ${result.message}`);
      await markReported(object, request, deps);
      return { exitCode: exitCodeOf(result), line };
    }
  }
}

/**
 * Records that this Pod has reported the result, so that the next Pod begins another try. Without this record the next
 * Pod reports the same result again, and rents nothing.
 */
async function markReported(
  { metadata: { name } }: GpuInstance,
  { pod }: RelayRequest,
  deps: FollowDeps,
): Promise<void> {
  const body = { metadata: { annotations: { [annotations.jobReported]: pod.name } } };
  await patched(name, body, deps).catch((error: Error) =>
    deps.print(`The next Pod reports the result of gpui/${name} again: ${error.message}`),
  );
}

function patched(name: string, body: unknown, { kube, clock, namespace }: FollowDeps): Promise<unknown> {
  return withDeadline({ clock, limitMs: ENDING_MS }, (signal) =>
    kube.patch(gpuInstanceResource, { namespace, name }, { type: 'merge', body, signal }),
  );
}

/** Decides about the machine after SIGTERM, and acts on that. */
async function leave(
  owner: RunOwner | undefined,
  request: RelayRequest,
  deps: FollowDeps,
): Promise<RelayEnd> {
  const { print } = deps;
  if (owner === undefined) {
    print('Ended before anything was rented.');
    return { exitCode: JOB_EXIT.left, line: JSON.stringify({ exitCode: null, reason: 'Left' }) };
  }
  const ending = endingOf(owner, await ownerNow(owner, deps));
  const objects = await ownObjects(owner, deps);
  if (objects instanceof Error) return leaveUnseen(owner, { ending, error: objects }, deps);
  const running = objects.filter((object) => resultOf(object) === undefined);
  const last = running.at(-1) ?? objects.at(-1);
  const line = last === undefined ? leftLine(owner) : summaryLine(last, deps.clock.now());
  if (!ending.cancels) {
    print(`${ending.cause}: ${stateAfter(owner, running.length === 0 ? last : undefined)}`);
    return { exitCode: JOB_EXIT.left, line };
  }
  for (const object of running) {
    const { metadata } = object;
    try {
      const body = {
        metadata: {
          annotations: {
            [annotations.cancelAt]: formatTime(cancelTime(object, deps.clock.now())),
            [annotations.jobReported]: request.pod.name,
          },
        },
      };
      await patched(metadata.name, body, deps);
      print(`${ending.cause}: gpui/${metadata.name} is cancelled; the operator destroys its machine.`);
    } catch (error) {
      if (isKubeError(error, 'notFound')) continue;
      print(`${ending.cause}, and gpui/${metadata.name} could not be cancelled: ${String(error)}`);
    }
  }
  return { exitCode: JOB_EXIT.cancelled, line };
}

/** Returns what becomes of the run after this Pod. `ended`: its object, if it has ended. */
function stateAfter({ reference }: RunOwner, ended: GpuInstance | undefined): string {
  if (ended !== undefined)
    return `gpui/${ended.metadata.name} has ended, and the next Pod reports its result.`;
  if (reference.kind === podResource.kind) return 'the machine keeps running until this Pod is deleted.';
  return 'the machine keeps running, and the next Pod attaches to it.';
}

function leftLine(owner: RunOwner): string {
  return JSON.stringify({
    gpuJob: runName(owner, 0),
    exitCode: null,
    machines: 0,
    dollars: '0.00',
    seconds: 0,
  });
}

/** Ends without a list of the objects: what a machine of this work does and costs is unknown. */
function leaveUnseen(
  owner: RunOwner,
  { ending, error }: { readonly ending: ReturnType<typeof endingOf>; readonly error: Error },
  { namespace, print }: FollowDeps,
): RelayEnd {
  const line = JSON.stringify({ gpuJob: runName(owner, 0), exitCode: null, reason: 'NotListed' });
  print(`${ending.cause}, and the GpuInstance of this work could not be listed: ${error.message}`);
  if (!ending.cancels) return { exitCode: JOB_EXIT.left, line };
  print(
    `If it has a machine, that keeps billing. End it: kubectl delete gpui -n ${namespace} -l ${runSelector(owner)}`,
  );
  return { exitCode: JOB_EXIT.cancelled, line };
}

/** Reads the owner once more, within five seconds. */
async function ownerNow(
  { reference }: RunOwner,
  { kube, clock, namespace }: FollowDeps,
): Promise<OwnerReply> {
  const resource = reference.kind === jobResource.kind ? jobResource : podResource;
  try {
    const ask = () => kube.get<OwnerObject>(resource, { namespace, name: reference.name });
    return replyOf(await withDeadline({ clock, limitMs: ENDING_MS }, ask));
  } catch (error) {
    return { type: isKubeError(error, 'forbidden') ? 'forbidden' : 'unknown' };
  }
}

/** Lists the objects of this work, twice at most within the grace of the Pod. Resolves to the error if both fail. */
async function ownObjects(owner: RunOwner, deps: FollowDeps): Promise<readonly GpuInstance[] | Error> {
  const { kube, clock, namespace } = deps;
  const selection = { namespace, labelSelector: runSelector(owner) };
  const list = () =>
    withDeadline({ clock, limitMs: ENDING_MS }, (signal) =>
      kube.list<GpuInstance>(gpuInstanceResource, { ...selection, signal }),
    );
  try {
    const { items } = await list().catch(list);
    return items.filter((object) => attemptOf(object, owner) !== undefined);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
