import { z } from 'zod';
import { DEADMAN_KINDS } from '../deadman/kinds.ts';
import { MARKET_NAMES } from '../simulated-market.ts';

const mode = z.enum(['all', 'sweeperOff']);
/** Market; omitted for the simulator. */
const market = z.enum(MARKET_NAMES).exclude(['vast']);
const strike = z.enum([
  'crashBefore',
  'crashAfter',
  'requestLost',
  'responseLost',
  'late',
  'conflict',
  'serverError',
  'hide',
  'stale',
]);

/** Simulation input that violates a promise with the mutant: enough to reproduce it. */
export const finding = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('story'), name: z.string(), market: market.optional() }),
  z.strictObject({ type: z.literal('schedule'), seed: z.int(), mode, market: market.optional() }),
  z.strictObject({
    type: z.literal('plan'),
    life: z.string(),
    strikes: z.array(z.tuple([z.int(), strike])),
  }),
  z.strictObject({ type: z.literal('gateway'), seed: z.int() }),
  z.strictObject({ type: z.literal('deadman'), seed: z.int(), kind: z.enum(DEADMAN_KINDS) }),
  z.strictObject({ type: z.literal('noEnd') }),
]);
export type Finding = z.infer<typeof finding>;

/** The first thing that a search of the simulation found against a mutant. */
export const kill = z.strictObject({
  finding,
  /** The promise that broke, or what was thrown. */
  broken: z.string(),
  /** Seconds of processor time from the start of the search. */
  seconds: z.number(),
});
export type Kill = z.infer<typeof kill>;

/** A unit test that fails with the mutant and passes without it. */
export const failingTest = z.strictObject({ file: z.string(), name: z.string() });
export type FailingTest = z.infer<typeof failingTest>;

/** All findings against one mutant; any finding kills it. */
export const evidence = z.strictObject({ simulation: kill.optional(), test: failingTest.optional() });
export type Evidence = z.infer<typeof evidence>;

const atMarket = ({ market }: { readonly market?: string | undefined }): string =>
  market ? ` at the ${market} market` : '';

/** Describes a finding in words. */
export function nameOf(found: Finding): string {
  switch (found.type) {
    case 'story':
      return `story${atMarket(found)}: ${found.name}`;
    case 'schedule':
      return `seed ${found.seed}${atMarket(found)}, ${found.mode === 'all' ? 'everything on' : 'sweeper off'}`;
    case 'plan':
      return found.strikes.length === 0
        ? `the unfaulted ${found.life} life`
        : `${found.strikes.map(([index, what]) => `${what} at effect ${index}`).join(' and ')} of the ${found.life} life`;
    case 'gateway':
      return `worlds of the gateway of seed ${found.seed}`;
    case 'deadman':
      return `self-ending machines of seed ${found.seed}, ${found.kind === 'erased' ? 'cluster erased' : 'outages'}`;
    case 'noEnd':
      return 'a run without end';
  }
}
