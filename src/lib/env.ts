import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Random } from './random.ts';
import type { Transport } from './transport.ts';

/**
 * All effects of the operator, as one argument. Production builds it once in `src/main.ts`; simulation passes a virtual
 * clock, a seeded generator and in-memory transports.
 */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  /** Transport to the Kubernetes API server. */
  readonly kube: Transport;
  /** Transport to marketplaces. */
  readonly marketplace: Transport;
  readonly log: Logger;
}
