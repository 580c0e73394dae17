import type { BreakerState } from '../../src/accounts/breaker.ts';
import { at, type Given, time, withMachine } from './observed.ts';

/** Returns begin times of lists, in seconds from now. */
export const lists = (...seconds: number[]): readonly number[] => seconds.map((second) => at(second));

/** The status of a machine that was rented by another spec. */
export const OUTDATED = { specHash: 'v2:0000000000000000' } as const;

/** The annotation that holds a machine. */
export const HOLD = { 'gpurental.dev/hold': '' } as const;

/** A breaker that a mass failure opened five seconds ago. */
export const OPEN_BREAKER: BreakerState = {
  ...{ type: 'open', since: at(-5), cause: 'massFailure' },
  ...{ unhealthy: 4, message: 'm' },
};

/** Returns the status of a machine that has reported this word since then. */
export const since = (actualStatus: string, seconds: number) => ({
  actualStatus,
  actualStatusSince: time(seconds),
});

/** Returns a machine whose host has been offline for longer than the default minute; pass only what matters. */
export function lost(situation: Given = {}): Given {
  const status = { ...since('offline', -61), ...situation.status };
  return withMachine({ state: 'offline' }, { ...situation, status });
}

/** Returns the outline of a decision that destroys machine 1: rule, reason, and reason of the Reconciling condition. */
export const destroys = (rule: string, reason: string, reconciling = 'Replacing') => ({
  rule,
  record: 'status',
  actions: [`destroy 1 (${reason})`],
  phase: 'Replacing',
  says: `${reason}, ${reconciling}`,
  afterMs: 1000,
});
