import type { RecordedVersion } from './version-recorder.ts';

const PRESENT_WHILE_TRUE = ['Reconciling', 'Stalled'];

/** What a version of an object breaks of the status contract; nothing where it keeps it. */
export function brokenRules(version: RecordedVersion): readonly string[] {
  const { metadata, status } = version;
  const broken: string[] = [];
  const observed = status?.observedGeneration;
  if (observed === undefined) return ['no observedGeneration: generic tools would call it done'];
  if (observed > (metadata.generation ?? 0)) broken.push('observed a generation that does not exist yet');
  for (const { type, status: value, observedGeneration, reason, message } of status?.conditions ?? []) {
    if (observedGeneration !== observed)
      broken.push(`${type} observed ${observedGeneration}, the status ${observed}`);
    if (PRESENT_WHILE_TRUE.includes(type) && value !== 'True')
      broken.push(`${type} is present while ${value}`);
    if (!/^[A-Z][A-Za-z0-9]+$/.test(reason)) broken.push(`${type} has the reason "${reason}"`);
    if (message === undefined) broken.push(`${type} has no message`);
  }
  const holds = (type: string) =>
    status?.conditions?.some((one) => one.type === type && one.status === 'True');
  if (observed >= 0 && !status?.conditions?.some(({ type }) => type === 'Ready')) broken.push('no Ready');
  if (holds('Ready') && (holds('Reconciling') || holds('Stalled'))) broken.push('Ready and not done');
  if (holds('Reconciling') && holds('Stalled')) broken.push('Reconciling and Stalled');
  return broken;
}
