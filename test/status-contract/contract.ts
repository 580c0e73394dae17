import type { Condition } from '../../src/api/v1alpha1/object.ts';
import type { RecordedVersion } from './version-recorder.ts';

const PRESENT_WHILE_TRUE = ['Reconciling', 'Stalled'];

/** Returns the rules of the status contract that a version of an object violates. */
export function brokenRules(version: RecordedVersion): readonly string[] {
  const { metadata, status } = version;
  const broken: string[] = [];
  const observed = status?.observedGeneration;
  if (observed === undefined) return ['no observedGeneration: generic tools would call it done'];
  if (observed > (metadata.generation ?? 0)) broken.push('observed a generation that does not exist yet');
  for (const { type, status: value, observedGeneration, reason, message } of status?.conditions ?? []) {
    // Left out, it is the one of the status, as kubectl wait has it.
    if (observedGeneration !== undefined && observedGeneration !== observed)
      broken.push(`${type} observed ${observedGeneration}, the status ${observed}`);
    if (PRESENT_WHILE_TRUE.includes(type) && value !== 'True')
      broken.push(`${type} is present while ${value}`);
    if (!/^[A-Z][A-Za-z0-9]+$/.test(reason)) broken.push(`${type} has the reason "${reason}"`);
    if (message === undefined) broken.push(`${type} has no message`);
  }
  if (observed >= 0 && !status?.conditions?.some(({ type }) => type === 'Ready')) broken.push('no Ready');
  return [...broken, ...contradictions(status?.conditions ?? [])];
}

/** Returns conditions that contradict each other: one tool would treat the object as complete, another not. */
export function contradictions(conditions: readonly Pick<Condition, 'type' | 'status'>[]): readonly string[] {
  const holds = (type: string) => conditions.some((one) => one.type === type && one.status === 'True');
  return [
    ...(holds('Ready') && (holds('Reconciling') || holds('Stalled')) ? ['Ready and not done'] : []),
    ...(holds('Reconciling') && holds('Stalled') ? ['Reconciling and Stalled'] : []),
  ];
}
