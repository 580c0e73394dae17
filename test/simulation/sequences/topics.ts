/** Fields of a spec that CEL rules compare with each other, of all kinds. */
const TOGETHER: readonly (readonly string[])[] = [
  ['onStart', 'onStartFrom', 'command', 'args', 'entrypoint', 'ssh', 'ports', 'readinessProbe'],
  ['maxQueueTime', 'targetQueueTime'],
  ['coldWorkers', 'maxWorkers', 'replicas'],
  ['scaleToZero', 'inactivityTimeout'],
  ['template', 'maxSpendPerHour'],
  ['load', 'gateway'],
];

/** Returns the topic of a spec field: fields of one topic may only be edited together. */
export function topicOf(field: string): string {
  return TOGETHER.find((fields) => fields.includes(field))?.join('+') ?? field;
}
