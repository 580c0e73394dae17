import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { driftOf } from '../../api/v1alpha1/machine-drift.ts';
import { totalCost } from '../../instance/cost.ts';
import { formatDollars } from '../../lib/money.ts';
import { parseTime } from '../../lib/time.ts';
import { ageText } from '../output/amounts.ts';

/** What a manifest does to the machine that its object has. */
export interface MachineEffect {
  readonly machine: string;
  readonly effect: 'keeps' | 'replaces' | 'starts' | 'stops';
  /** Milliseconds since it first ran; undefined if it has not. */
  readonly upMs: number | undefined;
  /** Dollars that the object has cost. */
  readonly cost: string;
  readonly detail: string | undefined;
}

/**
 * By the operator's own comparison of the spec with the machine. `object` is what the API server would store, with the
 * status that it has. Undefined if the object has no machine.
 */
export function machineEffect({ spec, status }: GpuInstance, now: number): MachineEffect | undefined {
  if (status?.instanceId === undefined) return undefined;
  const runningAt = parseTime(status.runningAt);
  const known = {
    machine: status.instanceId,
    upMs: runningAt === undefined ? undefined : Math.max(0, now - runningAt),
    cost: formatDollars(Math.round(totalCost(status.cost, now) / CENT) * CENT),
  };
  const drift = driftOf(status, spec);
  if (drift && spec.updateStrategy.type === 'Replace') {
    const why =
      drift.type === 'offers'
        ? drift.detail
        : 'The spec asks for another machine: image, env, start script, ports, ssh or disk.';
    return {
      ...known,
      effect: 'replaces',
      detail: spec.paused ? `${why} It waits for the end of the pause.` : why,
    };
  }
  const power = powerEffect(spec.powerState, status.phase);
  const detail =
    drift && 'It is not what the spec asks for, and stays by updateStrategy: the next machine will be.';
  return { ...known, effect: power ?? 'keeps', detail };
}

function powerEffect(
  desired: 'Running' | 'Stopped',
  phase: string | undefined,
): 'starts' | 'stops' | undefined {
  if (desired === 'Stopped') return phase === 'Stopped' ? undefined : 'stops';
  return phase === 'Stopped' ? 'starts' : undefined;
}

const CENT = 10_000;

/** `replaces machine 20000006 (up 17m, $0.09, disk lost)`. */
export function effectText({ machine, effect, upMs, cost, detail }: MachineEffect): string {
  const facts = [
    ...(upMs === undefined ? ['not up yet'] : [`up ${ageText(upMs)}`]),
    `$${cost}`,
    ...(effect === 'replaces' ? ['disk lost'] : []),
  ];
  const head = `${effect} machine ${machine} (${facts.join(', ')})`;
  return detail === undefined ? `${head}.` : `${head}: ${detail}`;
}
