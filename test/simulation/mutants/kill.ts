import { z } from 'zod';

const mode = z.enum(['all', 'sweeperOff']);
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

/** What showed that a mutant is broken: enough to show it again. */
export const finding = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('schedule'), seed: z.int(), mode }),
  z.strictObject({
    type: z.literal('plan'),
    life: z.string(),
    strikes: z.array(z.tuple([z.int(), strike])),
  }),
  z.strictObject({ type: z.literal('test'), file: z.string(), name: z.string() }),
  z.strictObject({ type: z.literal('noEnd') }),
]);
export type Finding = z.infer<typeof finding>;

/** The first thing that a search found against a mutant. */
export const kill = z.strictObject({
  finding,
  /** The promise that broke, or what was thrown. */
  broken: z.string(),
  /** Seconds of processor time from the start of the search. */
  seconds: z.number(),
});
export type Kill = z.infer<typeof kill>;

/** A finding in words. */
export function nameOf(found: Finding): string {
  switch (found.type) {
    case 'schedule':
      return `seed ${found.seed}, ${found.mode === 'all' ? 'everything on' : 'sweeper off'}`;
    case 'plan':
      return found.strikes.length === 0
        ? `the unfaulted ${found.life} life`
        : `${found.strikes.map(([index, what]) => `${what} at effect ${index}`).join(' and ')} of the ${found.life} life`;
    case 'test':
      return `\`${found.file}\`: ${found.name}`;
    case 'noEnd':
      return 'a run without end';
  }
}
