/** Fields of a spec that CEL rules compare with each other, of all kinds. */
const TOGETHER: readonly (readonly string[])[] = [
  ['onStart', 'onStartFrom', 'command', 'args', 'entrypoint', 'ssh', 'ports', 'readinessProbe'],
  ['maxQueueTime', 'targetQueueTime'],
  ['coldWorkers', 'maxWorkers', 'replicas'],
  ['scaleToZero', 'inactivityTimeout'],
  ['template', 'maxSpendPerHour'],
  ['load', 'gateway'],
];

/** What a field of a spec is about: fields of one topic may not be edited apart from each other. */
export function topicOf(field: string): string {
  return TOGETHER.find((fields) => fields.includes(field))?.join('+') ?? field;
}
