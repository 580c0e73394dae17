import type { LeaderElection } from '../runtime/lease/leader-election.ts';
import type { Wiring } from './wiring.ts';

/** The lease of who leads without asking: nobody else can. */
export const ALWAYS_LEADING: Pick<LeaderElection, 'leaseRemainingMs'> = {
  leaseRemainingMs: () => Number.POSITIVE_INFINITY,
};

/** Whether this process leads for so long yet that what it begins now is over before another one may. */
export function isLeading({
  election,
  constants,
}: {
  readonly election: Pick<LeaderElection, 'leaseRemainingMs'> | undefined;
  readonly constants: Pick<Wiring['constants'], 'leaseMarginMs'>;
}): boolean {
  return (election ?? ALWAYS_LEADING).leaseRemainingMs() > constants.leaseMarginMs;
}
