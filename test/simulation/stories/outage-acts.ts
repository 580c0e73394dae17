import { type JsonObject, listAt } from '../memory-kube/json.ts';
import { statusAt } from '../status-at.ts';
import type { Stage } from './stage.ts';

/** Names of the objects of a fleet. */
export const namesOf = (fleet: number) => [
  'a',
  ...Array.from({ length: fleet - 1 }, (_, index) => `m-${index + 2}`),
];

/** Makes a machine report that status for the given seconds, then run again. */
export function strike(
  stage: Stage,
  object: string,
  name: 'exited' | 'offline' | 'unknown',
  seconds: number,
): void {
  stage.befall({ name, instance: stage.machineOf(object), seconds });
}

/** Forbids destroy calls in that time: an outage from which machines recover costs none of them. */
export function noneDestroyed(stage: Stage, from: number, until: number, why = 'all machines recover'): void {
  stage.at(from, () => stage.forbid({ call: 'destroy', seconds: until - from, why }));
}

/** Reports a violation if more than `most` machines of the fleet have ended. */
export function atMostDestroyed(stage: Stage, most: number): void {
  const ended = objects(stage).flatMap((object) => listAt(statusAt(object), 'history')).length;
  if (ended > most) stage.invariants.report('I4', `${ended} machines were replaced, and ${most} may be`);
}

/** Crashes the operator at that interval. */
export function crashEvery(stage: Stage, period: number, from: number, until: number): void {
  for (let second = from; second < until; second += period) stage.at(second, () => stage.killAll());
}

/** Objects of the fleet. */
export function objects({ world: { kube } }: Stage): readonly JsonObject[] {
  return kube.store.all(kube.kind('gpuinstances'));
}
