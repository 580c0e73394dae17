import type { Plan } from './life.ts';

/** A comparison: the same run of some contenders on the same marketplace, round by round. */
export interface Scenario {
  readonly name: string;
  readonly contenders: readonly string[];
  readonly rounds: number;
  /** Rounds at the beginning that count for nothing. */
  readonly dropped: number;
  readonly roundTripMs: number;
  readonly paced: boolean;
  readonly plan: Plan;
}

/** Such as `burst of 200, round trip 100 ms`. */
export function titleOf({ name, plan, roundTripMs, paced }: Scenario): string {
  const limits = paced ? ', documented rate limits' : '';
  return `${name} of ${plan.objects}, round trip ${roundTripMs} ms${limits}`;
}

const OWN = 'gpu-rental-operator';
const TUNED = 'controller-runtime tuned';
const DEFAULT = 'controller-runtime default';

/** Objects of 0 parts: a burst alone. */
const BURST: Plan = {
  objects: 100,
  trickle: 0,
  pollSeconds: 1,
  outage: false,
  restart: false,
  restPollSeconds: 10,
  restSeconds: 0,
  deletion: false,
  limitSeconds: 180,
};
/** With the poll interval that accounts have by default, from the restart on. */
const WHOLE: Plan = { ...BURST, trickle: 20, outage: true, restart: true, restSeconds: 20, deletion: true };

const burst = (objects: number, more: Partial<Scenario> = {}): Scenario => ({
  name: 'burst',
  contenders: [OWN, TUNED],
  ...{ rounds: 5, dropped: 1, roundTripMs: 0, paced: false },
  plan: { ...BURST, objects },
  ...more,
});

/** Ends in less than five minutes on two idle cores. */
export const QUICK: readonly Scenario[] = [
  burst(200, { plan: { ...BURST, objects: 200, trickle: 15 } }),
  burst(200, { roundTripMs: 100, rounds: 3 }),
  {
    ...burst(200, { rounds: 1, dropped: 0 }),
    name: 'life',
    plan: { ...WHOLE, objects: 200, trickle: 0, restSeconds: 10 },
  },
];

/** Ends in less than forty minutes on two idle cores. */
export const ALL: readonly Scenario[] = [
  burst(10, { contenders: [OWN, TUNED] }),
  burst(100, { contenders: [OWN, TUNED, DEFAULT], plan: { ...BURST, objects: 100, trickle: 20 } }),
  burst(1000, { contenders: [OWN, TUNED, DEFAULT] }),
  burst(1000, { roundTripMs: 100, rounds: 3 }),
  { ...burst(1000, { rounds: 3 }), name: 'life', plan: { ...WHOLE, objects: 1000 } },
  {
    ...burst(12, { rounds: 2, dropped: 0, paced: true }),
    name: 'burst',
  },
  {
    ...burst(10_000, { rounds: 1, dropped: 0 }),
    name: 'life',
    plan: { ...WHOLE, objects: 10_000, trickle: 0, outage: false, deletion: false, limitSeconds: 900 },
  },
];
