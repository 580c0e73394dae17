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

/** Returns a title such as `burst of 200, round trip 100 ms`. */
export function titleOf({ name, plan, roundTripMs, paced }: Scenario): string {
  if (plan.workersPerGroup > 0)
    return `${name} of ${plan.objects / plan.workersPerGroup}, ${plan.workersPerGroup} workers each`;
  const limits = paced ? ', documented rate limits' : '';
  return `${name} of ${plan.objects}, round trip ${roundTripMs} ms${limits}`;
}

const OWN = 'gpu-rental-operator';
const TUNED = 'controller-runtime tuned';
const DEFAULT = 'controller-runtime default';
const KUBE_RS = 'kube-rs';
const KOPF = 'kopf';
const BARE = 'bare client';
const BESIDE_DEAD = 'gpu-rental-operator beside a dead account';

/** Objects of 0 parts: a burst alone. */
const BURST: Plan = {
  objects: 100,
  workersPerGroup: 0,
  trickle: 0,
  pollSeconds: 1,
  outage: false,
  failover: false,
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

/**
 * Ends in less than forty minutes on two idle cores. A burst of 100 is for all; where each run takes a minute or more,
 * the rounds are fewer, and the table shows how many counted. Accounts and groups are only of the operator. Kube-rs and kopf elect no leader, so neither has a standby.
 */
export const ALL: readonly Scenario[] = [
  burst(10),
  burst(100, {
    contenders: [OWN, TUNED, DEFAULT, KUBE_RS, KOPF],
    plan: { ...BURST, objects: 100, trickle: 20 },
  }),
  burst(100, { contenders: [OWN, TUNED, KUBE_RS], roundTripMs: 100, rounds: 3 }),
  burst(1000, { contenders: [OWN, TUNED, BARE] }),
  burst(1000, { roundTripMs: 100, rounds: 2, dropped: 0 }),
  { ...burst(1000, { rounds: 1, dropped: 0 }), name: 'life', plan: { ...WHOLE, objects: 1000 } },
  {
    ...burst(100, { contenders: [OWN, BESIDE_DEAD], rounds: 3 }),
    name: 'accounts',
    plan: { ...BURST, objects: 100, trickle: 20 },
  },
  {
    ...burst(4000, { contenders: [OWN], rounds: 1, dropped: 0 }),
    name: 'EndpointGroups',
    plan: { ...BURST, objects: 4000, workersPerGroup: 20, restSeconds: 20, limitSeconds: 600 },
  },
  burst(8, { rounds: 1, dropped: 0, paced: true }),
  {
    ...burst(5, { rounds: 1, dropped: 0 }),
    name: 'failover',
    plan: { ...BURST, objects: 5, failover: true },
  },
  {
    ...burst(10_000, { rounds: 1, dropped: 0 }),
    name: 'life',
    plan: { ...WHOLE, objects: 10_000, trickle: 0, outage: false, deletion: false, limitSeconds: 900 },
  },
];
