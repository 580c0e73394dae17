import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { hasService } from '../../instance/run.ts';
import { canonicalJson } from '../../lib/json.ts';
import type { EventNote } from '../../runtime/events.ts';
import { instanceService } from './children.ts';
import { conditionState } from './conditions.ts';
import { type Added, type StatusDecision, sooner } from './decision.ts';
import type { Facts } from './facts.ts';
import type { Action, Publication, Published, Requeue, StatusFields, Step } from './types.ts';

const ADDRESS_FIELDS = [
  'instanceId',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
] as const satisfies readonly (keyof StatusFields)[];

type PublishStep = Extract<Step, { type: 'publish' }>;

/**
 * Returns the write of the children, or its result. The write precedes a status that names the children: the Secret
 * exists when the status names it, and no Service points to a stopped machine. There is none if the address is
 * unchanged.
 */
export function addedPublication(
  facts: Pick<Facts, 'object' | 'machine' | 'clock' | 'memory'>,
  { status, actions }: StatusDecision,
): Added<'Ready' | 'Reconciling'> | PublishStep {
  if (facts.object.spec.adopt?.policy === 'Observe') return {};
  const { verdict } = status;
  const serving = verdict.containerRuns;
  // An endpoint is announced only while something answers there.
  const { endpoint: _silent, ...silent } = status.fields;
  const fields = serving ? status.fields : silent;
  const ready = isReady((type) => verdict[type]) && !actions.some(({ type }) => ENDS_SERVICE.has(type));
  const publication = { fields, serving, ready };
  // Someone may have deleted or changed a child since it was written.
  const isDue = serving && (facts.memory.childrenDueAt ?? Number.POSITIVE_INFINITY) <= facts.clock.steadyNow;
  const requeue = serving ? untilChildrenCheck(facts) : {};
  if (!isDue && !needsPublishing(facts, publication)) return { fields, requeue };
  const { published } = facts.machine;
  if (!published) return { type: 'publish', publication };
  if (!serving || isLeaving((type) => verdict[type])) return { fields, requeue };
  const result = resultOf(published, fields);
  return { ...result, requeue: sooner(requeue, result.requeue ?? {}) };
}

/**
 * Removes the addresses of a deleted object from its Service, before any action on its machine: no client may reach a
 * machine that is about to end. Undefined if this reconcile has tried it, or no address was published.
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

/**
 * Actions that end the service of a machine without a finding of their own, for example of a machine kept beyond a
 * limit.
 */
const ENDS_SERVICE: ReadonlySet<string> = new Set<Action['type']>(['stop', 'destroy']);

function isLeaving(lookup: ConditionLookup): boolean {
  return facetsOf(lookup('Reconciling')?.reason).endsService === true;
}

/** Returns true if the present or future conditions allow a Service to route to the machine. */
function isReady(lookup: ConditionLookup): boolean {
  return lookup('Running')?.status === 'True' && !isLeaving(lookup);
}

/** Returns the requeue at the next check of the children. */
function untilChildrenCheck({ memory, clock }: Pick<Facts, 'clock' | 'memory'>): Requeue {
  if (memory.childrenDueAt === undefined) return {};
  return { afterMs: Math.max(1_000, memory.childrenDueAt - clock.steadyNow) };
}

/** Returns true if a Service may point to the machine by the conditions of the last write of the children. */
function isAnnounced({ spec, status }: GpuInstance): boolean {
  return hasService({ spec }) && status?.endpoint !== undefined;
}

function needsPublishing(
  { object }: Pick<Facts, 'object'>,
  { fields, serving, ready }: Publication,
): boolean {
  const { status, metadata } = object;
  if (!serving) return isAnnounced(object);
  // The Service must start or stop routing to the machine.
  const wasReady = isReady((of) => status?.conditions?.find(({ type }) => type === of));
  if (hasService(object) && ready !== wasReady) return true;
  if (status?.binding === undefined || status.requestedAt !== fields.requestedAt) return true;
  if (status.observedGeneration !== metadata.generation) return true;
  return ADDRESS_FIELDS.some((field) => canonicalJson(status[field]) !== canonicalJson(fields[field]));
}

/** Returns the result of writing the children of a serving machine. */
function resultOf(published: Published, before: StatusFields): Added<'Ready' | 'Reconciling'> {
  if (published.type === 'done')
    return {
      fields: { ...before, binding: { name: published.bindingName } },
      events: unpublishedEvent(published),
    };
  const { binding: _none, endpoint: _unsaid, ...fields } = before;
  const reason = published.type === 'nameTaken' ? 'NameTaken' : 'NotPermitted';
  const { detail } = published;
  return {
    fields,
    conditions: {
      Ready: conditionState('False', reason, detail),
      Reconciling: conditionState('True', reason, detail),
    },
    requeue: { afterMs: 60_000 },
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
