import { canonicalJson } from '../canonical-json.ts';
import { say } from '../conditions.ts';
import type { Decision, EventNote, Observed, StatusFields, Step } from '../types.ts';
import type { Published } from '../views.ts';

const ADDRESS_FIELDS = [
  'instanceId',
  'endpoint',
  'ssh',
  'publicAddress',
  'ports',
] as const satisfies readonly (keyof StatusFields)[];

/**
 * Puts the children before a status that speaks of them: the Secret exists when the status names it, and no
 * Service leads to a machine that does not run. Where nothing about the address changes, nothing is written.
 */
export function publishFirst(observed: Observed, step: Step): Step {
  if (step.type !== 'decision' || !step.status || observed.object.spec.adopt?.policy === 'Observe')
    return step;
  const serving = step.status.verdict.Booted.status === 'True';
  const wanted = { ...step, status: { ...step.status, fields: announced(step.status.fields, serving) } };
  const isDue = serving && isCheckDue(observed);
  if (!isDue && !needsPublishing(observed, wanted.status.fields, serving)) return lookAgain(observed, wanted);
  if (!observed.published) return { type: 'publish', publication: { fields: wanted.status.fields, serving } };
  return lookAgain(observed, afterPublishing(observed, wanted, serving));
}

/** Someone may have deleted or changed a child since it was written. */
function isCheckDue({ memory, steadyNow }: Observed): boolean {
  return (memory.childrenDueAt ?? Number.POSITIVE_INFINITY) <= steadyNow;
}

/** At the latest when the children are to be looked at. */
function lookAgain({ memory, steadyNow }: Observed, step: Decision): Decision {
  if (memory.childrenDueAt === undefined || step.status?.verdict.Booted.status !== 'True') return step;
  const dueMs = Math.max(1_000, memory.childrenDueAt - steadyNow);
  return { ...step, look: { ...step.look, afterMs: Math.min(dueMs, step.look.afterMs ?? dueMs) } };
}

/** An endpoint is announced only while something answers there. */
function announced(fields: StatusFields, serving: boolean): StatusFields {
  if (serving) return fields;
  const { endpoint: _silent, ...rest } = fields;
  return rest;
}

function needsPublishing({ object }: Observed, fields: StatusFields, serving: boolean): boolean {
  const { status, metadata } = object;
  if (!serving) return object.spec.service.enabled && status?.endpoint !== undefined;
  if (status?.binding === undefined || status.requestedAt !== fields.requestedAt) return true;
  if (status.observedGeneration !== metadata.generation) return true;
  return ADDRESS_FIELDS.some((field) => canonicalJson(status[field]) !== canonicalJson(fields[field]));
}

function afterPublishing(
  { published }: Observed,
  step: Decision & { readonly status: NonNullable<Decision['status']> },
  serving: boolean,
): Decision {
  if (!serving || !published) return step;
  if (published.type === 'done') {
    const fields = { ...step.status.fields, binding: { name: published.bindingName } };
    const events = [...step.events, ...unpublishedEvent(published)];
    return { ...step, events, status: { ...step.status, fields } };
  }
  const { binding: _none, endpoint: _unsaid, ...fields } = step.status.fields;
  const reason = published.type === 'nameTaken' ? 'NameTaken' : 'NotPermitted';
  const { detail } = published;
  const verdict = {
    ...step.status.verdict,
    Ready: say('False', reason, detail),
    Reconciling: say('True', reason, detail),
  };
  return {
    ...step,
    status: { fields, verdict },
    look: { ...step.look, afterMs: Math.min(60_000, step.look.afterMs ?? 60_000) },
  };
}

/** The connection Secret has the address all the same, so that the machine itself is not held back. */
function unpublishedEvent({
  unpublished,
}: Extract<Published, { readonly type: 'done' }>): readonly EventNote[] {
  if (unpublished === undefined) return [];
  const note = `The Service does not lead to the machine: ${unpublished}. The connection Secret has its address; --allow-private-addresses true publishes private ones.`;
  return [{ type: 'Warning', reason: 'AddressNotPublishable', action: 'Publishing', note }];
}
