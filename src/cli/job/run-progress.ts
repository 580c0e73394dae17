import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { billedPerHour, totalCost } from '../../instance/cost.ts';
import { formatDollars } from '../../lib/money.ts';
import { ageText } from '../../views/amounts.ts';
import { printableLine } from '../../views/printable.ts';

/** Condition whose message names what a run waits for. */
const SUMMARY = 'Ready';

/** Link to the page of a reason; it is too long for a line of a log. */
const LINK = / See https:\/\/\S+$/;

/** State of a run in one line, and the part of it that is no new state when it changes. */
interface StateLine {
  /** Lines with the same key report the same state. */
  readonly key: string;
  readonly text: string;
}

/** Returns the state of a run: phase, machine, price per hour and cost so far. `now`: epoch milliseconds. */
export function stateLine({ metadata, status }: GpuInstance, now: number): StateLine {
  const { phase = 'Pending', instanceId, gpu, cost, conditions } = status ?? {};
  const summary = conditions?.find(({ type }) => type === SUMMARY);
  const price = status && billedPerHour(status);
  const machine = [
    ...(gpu === undefined ? [] : [`${gpu.count} × ${gpu.name}`]),
    ...(instanceId === undefined ? [] : [`machine ${instanceId}`]),
    ...(price === undefined ? [] : [`$${price}/h`]),
    `$${formatDollars(totalCost(cost, now))} so far`,
  ].join(', ');
  const message = summary && summary.status !== 'True' ? `: ${summary.message.replace(LINK, '')}` : '';
  return {
    key: [phase, instanceId, price, summary?.reason].join(' '),
    text: printableLine(`gpui/${metadata.name} ${phase}, ${machine}${message}`),
  };
}

/** Silence of the components that a relay waits for. */
export interface Silence {
  /** Milliseconds since the API server last answered. */
  readonly apiServerMs: number;
  /** Milliseconds since the operator was last seen to work; undefined if it answers. */
  readonly operatorMs: number | undefined;
}

const NOTICE_MS = 60_000;

/** Returns the notice about a silent component; undefined if all answered within a minute. */
export function silenceLine(name: string, { apiServerMs, operatorMs }: Silence): string | undefined {
  if (apiServerMs >= NOTICE_MS)
    return `Waiting for gpui/${name}: no answer from the API server for ${ageText(apiServerMs)}. The machine keeps running.`;
  if (operatorMs !== undefined && operatorMs >= NOTICE_MS)
    return `Waiting for gpui/${name}: no answer from the operator for ${ageText(operatorMs)}. The machine keeps running.`;
  return undefined;
}
