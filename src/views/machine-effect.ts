import * as z from 'zod';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import { diskGB, driftOf } from '../api/v1alpha1/machine-drift.ts';
import { totalCost } from '../instance/cost.ts';
import { ONCE_RENTABLE } from '../instance/replacement-text.ts';
import { formatDollars } from '../lib/money.ts';
import { parseTime } from '../lib/time.ts';
import { ageText } from './amounts.ts';

export const machineEffectSchema = z.strictObject({
  machine: z.string().describe('Id of the machine at the marketplace.'),
  effect: z
    .enum(['keeps', 'replaces', 'blocked', 'starts', 'stops'])
    .describe('`blocked`: the spec needs another machine and none can be rented, so this one is kept.'),
  upMs: z.number().optional().describe('Milliseconds since it first ran.'),
  cost: z.string().describe('Dollars that the object has cost.'),
  detail: z.string().optional(),
  diskGB: z.number().optional().describe('Disk of the present machine.'),
});

/** Effect of a manifest on the machine of its object. */
export type MachineEffect = z.infer<typeof machineEffectSchema>;

/**
 * Returns the effect of a manifest, by the operator's own comparison of spec and machine. `object`: the object as the
 * API server would store it, with its present status; `before`: the stored object. Undefined if the object has no
 * machine.
 */
export function machineEffect(
  { spec, status }: GpuInstance,
  now: number,
  before?: Pick<GpuInstance, 'spec'>,
): MachineEffect | undefined {
  if (status?.instanceId === undefined) return undefined;
  const runningAt = parseTime(status.runningAt);
  const known = {
    machine: status.instanceId,
    upMs: runningAt === undefined ? undefined : Math.max(0, now - runningAt),
    ...(before && { diskGB: diskGB(before.spec) }),
    cost: formatDollars(Math.round(totalCost(status.cost, now) / CENT) * CENT),
  };
  const drift = driftOf(status, spec);
  if (drift && spec.updateStrategy.type === 'Replace') {
    const why =
      drift.type === 'offers'
        ? drift.detail
        : 'The spec needs another machine: image, command, args, env, start script, ports, ssh or disk.';
    return {
      ...known,
      effect: 'replaces',
      detail: spec.paused ? `${why} The replacement waits for the end of the pause.` : why,
    };
  }
  const power = powerEffect(spec.powerState, status.phase);
  const detail =
    drift && 'It does not match the spec, and stays by updateStrategy: only the next machine uses it.';
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

/** Returns `replaces machine 20000006 (up 17m, $0.09, 32 GB disk lost) once another machine can be rented`. */
export function effectText({ machine, effect, upMs, cost, detail, diskGB: disk }: MachineEffect): string {
  const facts = [
    ...(upMs === undefined ? ['not up yet'] : [`up ${ageText(upMs)}`]),
    `$${cost}`,
    ...(effect === 'replaces' ? [`${disk === undefined ? '' : `${disk} GB `}disk lost`] : []),
  ];
  const when = effect === 'replaces' ? ` ${ONCE_RENTABLE}` : '';
  const verb = effect === 'blocked' ? 'keeps' : effect;
  const head = `${verb} machine ${machine} (${facts.join(', ')})${when}`;
  return detail === undefined ? `${head}.` : `${head}: ${detail}`;
}
