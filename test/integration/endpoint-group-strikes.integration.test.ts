import { describe, expect, test } from 'vitest';
import { SimulatedGroup } from '../builders/simulated-group.ts';
import { fateOf, type Strike } from '../simulation/plan.ts';

/*
 * The life of a group in virtual time, struck once at each kind of call that it makes: a dead process, a lost
 * request or answer, a refusal, an event that nobody hears, a cache that is old.
 */

const MOST = 3;
const STRIKES: readonly Strike[] = [
  'crashBefore',
  'crashAfter',
  'requestLost',
  'responseLost',
  'conflict',
  'serverError',
  'hide',
  'stale',
];
const STALE_MS = 30_000;

/** Calls of the controller of groups, without what differs from worker to worker. */
function kindOf(what: string): string | undefined {
  if (!/endpointgroups|services|endpointslices|gpuinstances$|gpuinstances\/llm-\w+$/.test(what))
    return undefined;
  return what.replace(/llm-\w{6}/, 'llm-<worker>').replace(/^(\w+) .*\/default\//, '$1 ');
}

interface Life {
  readonly group: SimulatedGroup;
  /** The kinds of its calls, each where it first came. */
  readonly kinds: ReadonlyMap<string, number>;
}

/** Plays a group from creation through a load rise, a template change and a fall to deletion. */
async function live(strike?: { readonly at: number; readonly what: Strike }): Promise<Life> {
  const kinds = new Map<string, number>();
  let hides = 0;
  let staleUntil = 0;
  const group = new SimulatedGroup({
    flags: { scalingSpeed: '4' },
    fate: ({ side, request }, effect) => {
      if (request.path.includes('watch=true')) {
        return {
          ...{ requestMs: 2, responseMs: 2 },
          chunkDelayMs: () => Math.max(0, staleUntil - group.world.now),
          dropChunk: () => hides-- > 0,
        };
      }
      if (effect === undefined) return undefined;
      const kind = kindOf(group.calls[effect]?.what ?? '');
      if (kind !== undefined && !kinds.has(kind)) kinds.set(kind, effect);
      if (effect !== strike?.at) return undefined;
      if (strike.what === 'hide') hides = 1;
      if (strike.what === 'stale') staleUntil = group.world.now + STALE_MS;
      return fateOf(strike.what, side);
    },
  });
  group.begin({ minLoad: '50', coldWorkers: 2, maxWorkers: MOST });
  await group.until('one is ready', () => group.status().ready === 1);
  group.fleet.offered = 220;
  await group.until('three are ready', () => (group.status().ready ?? 0) >= 3);
  group.fleet.offered = 0;
  await group.until('one is left', () => group.status().replicas === 1 && group.status().draining === 0);
  group.delete();
  await group.until('all of it is gone', () => group.group() === undefined && group.billing().length === 0);
  return { group, kinds };
}

describe('a group whose life is struck once', async () => {
  const calm = await live();
  const plans = [...calm.kinds].flatMap(([kind, at]) =>
    STRIKES.filter((what) => what !== 'conflict' || !kind.startsWith('POST')).map(
      (what) => [what, kind, at] as const,
    ),
  );

  test.each(plans)('%s at %s (call %i)', async (what, _kind, at) => {
    const { group } = await live({ at, what });
    expect(group.mostBilling).toBeLessThanOrEqual(MOST);
    expect(group.fleet.lost).toBe(0);
    expect(group.workers()).toEqual([]);
    expect(group.rentals()).toBeLessThanOrEqual(calm.group.rentals());
  });
});
