import { type GpuInstanceCondition, gpuInstanceConditions } from '../../src/api/v1alpha1/conditions.ts';
import type { Action, ConditionState, Decision, Step } from '../../src/controllers/gpu-instance/types.ts';

const CONDITIONS = Object.keys(gpuInstanceConditions) as readonly GpuInstanceCondition[];

/**
 * Returns the complete effect of a step, one line each: conditions with their messages, changed fields, events, acts.
 */
export function wholeDecision(step: Step, before: object = {}): string {
  if (step.type === 'read') return `reads ${JSON.stringify(step.requests)}`;
  if (step.type === 'publish') return `publishes ${JSON.stringify(step.publication)}`;
  return [
    `rule ${step.rule}; ${recording(step)}; looks ${JSON.stringify(step.requeue)}`,
    ...conditions(step),
    ...changes(before, step.status?.fields),
    ...step.events.map((event) => `event ${event.type} ${event.reason} (${event.action}): ${event.note}`),
    ...step.actions.map((action) => `act ${act(action)}`),
    ...step.avoid.map((avoid) => `avoid ${JSON.stringify(avoid)}`),
    ...step.settled.map((id) => `settled ${id}`),
    ...(step.ended ? [`ended ${JSON.stringify(step.ended)}`] : []),
    ...(step.finishesRun ? [`finishes the run (${step.finishesRun})`] : []),
  ].join('\n');
}

function recording({ record }: Decision): string {
  switch (record.type) {
    case 'nothing':
      return `records nothing (${record.because})`;
    case 'intent':
      return `records the intent ${JSON.stringify(record.purchase)}`;
    case 'status':
    case 'finalizer':
      return `records the ${record.type}`;
  }
}

function conditions({ status }: Decision): readonly string[] {
  if (!status) return [];
  const { verdict } = status;
  const lines = CONDITIONS.flatMap((type) => {
    const condition: ConditionState | undefined = verdict[type];
    return condition ? [`${type} ${condition.status} ${condition.reason}: ${condition.message}`] : [];
  });
  return [`phase ${verdict.phase}`, ...lines];
}

/** Fields that the status gains, loses or changes; what stays is not told. */
function changes(before: object, after: object | undefined): readonly string[] {
  if (!after) return [];
  const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const text = (value: unknown) => (value === undefined ? 'none' : JSON.stringify(value));
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((name) => !STAYING.has(name) && text(old.get(name)) !== text(now.get(name)))
    .toSorted()
    .map((name) => `field ${name}: ${text(old.get(name))} -> ${text(now.get(name))}`);
}

const STAYING: ReadonlySet<string> = new Set(['conditions', 'observedGeneration', 'phase']);

function act(action: Action): string {
  if (action.type === 'rent') return `rent ${action.purchase.offer.id}`;
  const { type, ...facts } = action;
  return `${type} ${JSON.stringify(facts)}`;
}
