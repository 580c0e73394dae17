import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { canonicalJson } from '../../lib/json.ts';
import type { EventNote } from '../../runtime/events.ts';
import { instanceService } from './children.ts';
import type { Facts } from './facts.ts';
import { conditionState } from './status.ts';
import type { Action, Decision, Publication, Published, StatusFields, Step } from './types.ts';

const ADDRESS_FIELDS = [
  'instanceId',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
] as const satisfies readonly (keyof StatusFields)[];

/**
 * Publishes the children before a status that names them: the Secret exists when the status names it, and no Service
 * points to a stopped machine. It writes nothing if the address is unchanged.
 */
export function publishFirst(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  step: Step,
): Step {
  if (step.type !== 'decision' || !step.status || facts.object.spec.adopt?.policy === 'Observe') return step;
  const { verdict } = step.status;
  const serving = verdict.containerRuns;
  // An endpoint is announced only while something answers there.
  const { endpoint: _silent, ...silent } = step.status.fields;
  const fields = serving ? step.status.fields : silent;
  const announcing = { ...step, status: { ...step.status, fields } };
  const ready = isReady((type) => verdict[type]) && !step.actions.some(({ type }) => ENDS_SERVICE.has(type));
  const publication = { fields, serving, ready };
  // Someone may have deleted or changed a child since it was written.
  const isDue = serving && (facts.memory.childrenDueAt ?? Number.POSITIVE_INFINITY) <= facts.clock.steadyNow;
  if (!isDue && !needsPublishing(facts, publication)) return untilChildrenCheck(facts, announcing);
  if (!facts.machine.published) return { type: 'publish', publication };
  return untilChildrenCheck(facts, afterPublishing(facts, announcing, publication));
}

/**
 * Removes the addresses of a deleted object from its Service, before any action on its machine: no client may reach a
 * machine that is about to end. Undefined if this reconcile has tried it, or none was announced.
 */
export function withdraw({
  object,
  machine: { published },
}: Pick<Facts, 'object' | 'machine'>): Step | undefined {
  if (published || !isAnnounced(object) || !instanceService(object)) return undefined;
  return { type: 'publish', publication: { fields: {}, serving: false, ready: false } };
}

type ConditionLookup = (
  type: 'Running' | 'Reconciling',
) => { readonly status: string; readonly reason: string } | undefined;

/** Actions that end the service of a machine without a finding of their own, e.g. of a machine kept beyond a limit. */
const ENDS_SERVICE: ReadonlySet<string> = new Set<Action['type']>(['stop', 'destroy']);

function isLeaving(lookup: ConditionLookup): boolean {
  return facetsOf(lookup('Reconciling')?.reason).endsService === true;
}

/** Returns true if the present or future conditions let a Service point to the machine. */
function isReady(lookup: ConditionLookup): boolean {
  return lookup('Running')?.status === 'True' && !isLeaving(lookup);
}

/** Returns the requeue, at the latest when the children are to be verified. */
function untilChildrenCheck(
  { memory, clock: { steadyNow } }: Pick<Facts, 'clock' | 'memory'>,
  step: Decision,
): Decision {
  if (memory.childrenDueAt === undefined || !step.status?.verdict.containerRuns) return step;
  const dueMs = Math.max(1_000, memory.childrenDueAt - steadyNow);
  return { ...step, requeue: { ...step.requeue, afterMs: Math.min(dueMs, step.requeue.afterMs ?? dueMs) } };
}

/** Returns true if a Service may point to the machine by the conditions of the last write of the children. */
function isAnnounced({ spec, status }: GpuInstance): boolean {
  return spec.service.enabled && status?.endpoint !== undefined;
}

function needsPublishing(
  { object }: Pick<Facts, 'object'>,
  { fields, serving, ready }: Publication,
): boolean {
  const { spec, status, metadata } = object;
  if (!serving) return isAnnounced(object);
  // The Service is to lead there where it did not, or the other way round.
  const wasReady = isReady((of) => status?.conditions?.find(({ type }) => type === of));
  if (spec.service.enabled && ready !== wasReady) return true;
  if (status?.binding === undefined || status.requestedAt !== fields.requestedAt) return true;
  if (status.observedGeneration !== metadata.generation) return true;
  return ADDRESS_FIELDS.some((field) => canonicalJson(status[field]) !== canonicalJson(fields[field]));
}

function afterPublishing(
  { machine: { published } }: Pick<Facts, 'machine'>,
  step: Decision & { readonly status: NonNullable<Decision['status']> },
  { serving }: Publication,
): Decision {
  const { verdict } = step.status;
  if (!serving || !published || isLeaving((type) => verdict[type])) return step;
  if (published.type === 'done') {
    const fields = { ...step.status.fields, binding: { name: published.bindingName } };
    const events = [...step.events, ...unpublishedEvent(published)];
    return { ...step, events, status: { ...step.status, fields } };
  }
  const { binding: _none, endpoint: _unsaid, ...fields } = step.status.fields;
  const reason = published.type === 'nameTaken' ? 'NameTaken' : 'NotPermitted';
  const { detail } = published;
  const blocked = {
    ...verdict,
    Ready: conditionState('False', reason, detail),
    Reconciling: conditionState('True', reason, detail),
  };
  return {
    ...step,
    status: { fields, verdict: blocked },
    requeue: { ...step.requeue, afterMs: Math.min(60_000, step.requeue.afterMs ?? 60_000) },
  };
}

/**
 * Returns the event of an unpublished address. The connection Secret still has the address, so the machine itself is
 * not delayed.
 */
function unpublishedEvent({
  unpublished,
}: Extract<Published, { readonly type: 'done' }>): readonly EventNote[] {
  if (unpublished === undefined) return [];
  const note = `The Service does not lead to the machine: ${unpublished}. The connection Secret has its address; --allow-private-addresses true publishes private ones.`;
  return [{ type: 'Warning', reason: 'EndpointsLeftOut', action: 'Publishing', note }];
}
