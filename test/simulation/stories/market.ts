import { answered, type Stage } from './stage.ts';

/** Offers of every market, the cheapest first: the operator takes that one, and no other before it the last. */
export const CHEAPEST_OFFER = 8_000_001;
export const HIGHEST_PRICED_OFFER = 8_000_024;
/** The physical machine of the last of them. */
export const MACHINE_OF_HIGHEST_PRICE = '7023';
/** The id that the first contract of a market gets. */
export const FIRST_MACHINE = 20_000_001;

const NO_MACHINE = answered({ instances: null });
/** A complete list in which no machine stands. */
export const NO_MACHINES = answered({
  instances: [],
  instances_found: 0,
  total_instances: 0,
  next_token: null,
  success: true,
});

/** No proof that a machine is gone takes less time, in seconds. */
const SHORTEST_PROOF = 10;

/** Hides all machines from lists and reads. Only its label identifies a machine that reappears after its proof. */
export function nothingFor(stage: Stage, seconds: number): void {
  if (seconds > SHORTEST_PROOF) stage.world.has('labels');
  stage.cast({ call: 'list', seconds, fate: NO_MACHINES });
  stage.cast({ call: 'read', seconds, fate: NO_MACHINE });
}
