import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { AGENT_LABEL, annotations, gpuInstanceResource } from '../../api/v1alpha1/names.ts';
import { type Clock, sleep } from '../../lib/clock.ts';
import { parseDollars } from '../../lib/money.ts';
import type { Random } from '../../lib/random.ts';
import { formatTime, parseTime } from '../../lib/time.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { isKubeError } from '../../runtime/kube/kube-error.ts';
import { type Answer, refusal } from './contract.ts';
import type { AgentManifest } from './manifest.ts';
import {
  type AgentState,
  beforeLater,
  beside,
  hasEnded,
  isPending,
  roomFor,
  type ServerLimits,
} from './room.ts';
import { stateAnswer } from './view.ts';

/** Means of an admission. */
export interface AdmissionMeans {
  readonly kube: KubeClient;
  readonly namespace: string;
  readonly agent: string;
  readonly limits: ServerLimits;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Lists the agent's objects consistently, and the budgets. Rejects with a KubeError. */
  readonly state: () => Promise<AgentState>;
}

/** A pending object of this age is left over from a server that ended: an admission takes seconds. */
const STALE_MS = 60_000;
/** Time for which the earliest pending object waits for later ones to withdraw. */
const CONTEST_MS = 5_000;
const CONTEST_STEP_MS = 200;
/** Another caller may delete the object of the same key between two steps. */
const MAX_TRIES = 3;

/** Returns true if this agent created the object, and no group owns it. */
export function isOwn({ metadata }: GpuInstance, agent: string): boolean {
  return metadata.labels?.[AGENT_LABEL] === agent && (metadata.ownerReferences ?? []).length === 0;
}

/**
 * Creates the object of a call within the limits of the server, or returns the object that the same call created
 * before. The object is created paused, so nothing is rented for it. Then all objects of the agent are listed, and the
 * pause ends only if they all have room together. A process that dies between two steps leaves a paused object, which
 * the same call continues, and which every other server counts until it is removed as stale. Rejects with a KubeError.
 */
export async function admit(manifest: AgentManifest, means: AdmissionMeans): Promise<Answer> {
  for (let tries = 0; tries < MAX_TRIES; tries += 1) {
    const answer = await admitOnce(manifest, means);
    if (answer) return answer;
  }
  return busy('The object of this key was created and deleted by another call at the same time.');
}

async function admitOnce(manifest: AgentManifest, means: AdmissionMeans): Promise<Answer | undefined> {
  const { kube, namespace, clock, agent } = means;
  const { name } = manifest.metadata;
  const existing = await kube.get<GpuInstance>(gpuInstanceResource, { namespace, name });
  if (existing) {
    const known = answerFor(existing, manifest, { agent, now: clock.now() });
    return known ?? contest(existing, means);
  }
  const state = await means.state();
  const full = roomFor(ceilingOf(manifest), withoutStale(state, clock.now()), means.limits, clock.now());
  if (full) return full.passes && state.objects.some(isPending) ? busy(full.message) : noRoom(full);
  try {
    return await contest(await createPaused(manifest, means), means);
  } catch (error) {
    if (isKubeError(error, 'alreadyExists')) return undefined;
    throw error;
  }
}

const ceilingOf = ({ spec }: Pick<GpuInstance | AgentManifest, 'spec'>): number =>
  parseDollars(spec.maxTotalCost) ?? Number.POSITIVE_INFINITY;

/** Returns the answer for an object that has the name of the key; undefined if its admission is to be continued. */
function answerFor(
  existing: GpuInstance,
  { metadata }: AgentManifest,
  { agent, now }: { readonly agent: string; readonly now: number },
): Answer | undefined {
  const { name } = metadata;
  if (!isOwn(existing, agent))
    return refusal(
      'KeyInUse',
      `gpui/${name} exists, and this agent did not create it. Choose another idempotencyKey.`,
    );
  const status = { tool: 'status', arguments: { name } } as const;
  if (existing.metadata.annotations?.[annotations.agentCall] !== metadata.annotations[annotations.agentCall])
    return refusal(
      'KeyInUse',
      `gpui/${name} was created with other arguments. Choose another idempotencyKey.`,
      {
        nextAction: status,
      },
    );
  if (existing.metadata.deletionTimestamp !== undefined || hasEnded(existing))
    return refusal('Ended', `gpui/${name} has ended. Choose another idempotencyKey to rent again.`, {
      nextAction: { tool: 'cost', arguments: {} },
    });
  return isPending(existing) ? undefined : stateAnswer(existing, now);
}

/** Returns the refusal of a plan whose key names an object; undefined if the key is free. */
export function keyTaken(existing: GpuInstance | undefined, agent: string): Answer | undefined {
  if (!existing) return undefined;
  const { name } = existing.metadata;
  const another = 'Plan with another idempotencyKey.';
  if (!isOwn(existing, agent))
    return refusal('KeyInUse', `gpui/${name} exists, and this agent did not create it. ${another}`);
  return refusal('KeyInUse', `gpui/${name} exists, so run and job rent nothing new for it. ${another}`, {
    nextAction: { tool: 'status', arguments: { name } },
  });
}

function createPaused(manifest: AgentManifest, { kube, clock }: AdmissionMeans): Promise<GpuInstance> {
  const { metadata, spec } = manifest;
  const pending = { [annotations.agentPending]: formatTime(clock.now()) };
  const object = {
    ...manifest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...pending } },
    spec: { ...spec, paused: true },
  };
  return kube.create<GpuInstance>(gpuInstanceResource, object as GpuInstance, { fieldManager: 'gpu-rent' });
}

/** Resolves to undefined if another caller removed the object meanwhile. */
async function contest(own: GpuInstance, means: AdmissionMeans): Promise<Answer | undefined> {
  const { clock, limits, random, signal } = means;
  const begun = clock.monotonic();
  for (;;) {
    const listed = await means.state();
    if (await removeStale(own, listed, means)) continue;
    const others = beside(own, listed);
    const obstacle = roomFor(ceilingOf(own), others, limits, clock.now());
    if (!obstacle) return admitted(own, means);
    const alone = roomFor(ceilingOf(own), beforeLater(own, others), limits, clock.now());
    const isLate = clock.monotonic() - begun > CONTEST_MS;
    if (alone || isLate) {
      await withdraw(own, means);
      return alone && !others.objects.some(isPending) ? noRoom(alone) : busy(obstacle.message);
    }
    await sleep(clock, CONTEST_STEP_MS * (1 + random.next()), signal);
  }
}

function noRoom({ reason, message, passes }: NonNullable<ReturnType<typeof roomFor>>): Answer {
  return refusal(reason, message, {
    nextAction: { tool: 'cost', arguments: {} },
    ...(passes && { retryAfterSeconds: 60 }),
  });
}

function busy(message: string): Answer {
  return refusal('Busy', `Another call is being counted. ${message}`, { retryAfterSeconds: 2 });
}

/** Ends the pause of the object that was counted, and of no later one of its name. */
async function admitted(
  own: GpuInstance,
  { kube, namespace, clock }: AdmissionMeans,
): Promise<Answer | undefined> {
  const { name, uid } = own.metadata;
  const body = {
    metadata: { uid, annotations: { [annotations.agentPending]: null } },
    spec: { paused: false },
  };
  try {
    const object = await kube.patch<GpuInstance>(
      gpuInstanceResource,
      { namespace, name },
      { type: 'merge', body, fieldManager: 'gpu-rent' },
    );
    return {
      ...stateAnswer(object, clock.now()),
      message: `gpui/${name} is created; the operator rents a machine for it.`,
    };
  } catch (error) {
    if (isKubeError(error, 'notFound', 'conflict')) return undefined;
    throw error;
  }
}

/** Deletes a pending object, which never had a machine, unless it was admitted meanwhile. Resolves to true if it did. */
async function withdraw(object: GpuInstance, { kube, namespace }: AdmissionMeans): Promise<boolean> {
  const { name } = object.metadata;
  const now = await kube.get<GpuInstance>(gpuInstanceResource, { namespace, name });
  if (!now || now.metadata.uid !== object.metadata.uid || !isPending(now)) return false;
  const { uid, resourceVersion } = now.metadata;
  try {
    return await kube.delete(gpuInstanceResource, { namespace, name }, { uid, resourceVersion });
  } catch (error) {
    // Changed at the same time: it counts until it is stale.
    if (isKubeError(error, 'conflict')) return false;
    throw error;
  }
}

const isStale = (object: GpuInstance, now: number): boolean =>
  isPending(object) && now - (parseTime(object.metadata.creationTimestamp) ?? now) > STALE_MS;

function withoutStale(state: AgentState, now: number): AgentState {
  return { ...state, objects: state.objects.filter((object) => !isStale(object, now)) };
}

/** Removes pending objects of servers that ended; their own call then begins again. Resolves to true if one was removed. */
async function removeStale(
  own: GpuInstance,
  { objects }: AgentState,
  means: AdmissionMeans,
): Promise<boolean> {
  const stale = objects.filter(
    (object) => object.metadata.uid !== own.metadata.uid && isStale(object, means.clock.now()),
  );
  let removed = false;
  for (const object of stale) removed = (await withdraw(object, means)) || removed;
  return removed;
}
