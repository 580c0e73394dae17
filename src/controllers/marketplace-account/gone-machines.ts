import { provesPinned } from './pinned-login.ts';
import type { Observed } from './types.ts';

const NONE: ReadonlySet<number> = new Set();

/** Machines that the status may forget. Lists of another login, or of a service that is not well, prove no end. */
export function goneMachines({ session, proof, account }: Observed): ReadonlySet<number> {
  const believed = session?.breaker.type === 'closed' && provesPinned(proof, account.status?.login);
  return believed ? session.longGone : NONE;
}
