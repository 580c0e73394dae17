import { decision } from '../decision.ts';
import type { Facts } from '../facts.ts';
import { withRow } from '../machine-fields.ts';
import type { Decision } from '../types.ts';
import { type Held, machineFinding, type StateNamed } from './machine-finding.ts';

/** For a machine that is not wanted to run, whatever it does now. */
export function stop(facts: Facts, held: Held<StateNamed<'running' | 'booting' | 'unrecognized'>>): Decision {
  return decision({
    fields: withRow(facts, held.state.row),
    finding: { phase: 'Stopping', reason: 'Stopping', machine: machineFinding(facts, held.state) },
    record: { type: 'status' },
    ...askToStop(facts, held.machine.instanceId),
  });
}

/** A machine that runs on although it was asked to stop is asked again. */
const STOP_AGAIN_MS = 30_000;

/** Asks at once, and again every half minute. */
export function askToStop(
  { memory, steadyNow }: Facts,
  instanceId: number,
): Pick<Decision, 'actions' | 'look'> {
  const wait = memory.stopAskedAt === undefined ? 0 : memory.stopAskedAt + STOP_AGAIN_MS - steadyNow;
  return {
    actions: wait > 0 ? [] : [{ type: 'stop', instanceId }],
    look: { afterMs: wait > 0 ? wait : STOP_AGAIN_MS },
  };
}
