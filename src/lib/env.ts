import type { Clock } from './clock.ts';
import type { Logger } from './logger.ts';
import type { Random } from './random.ts';
import type { Transport } from './transport.ts';

/**
 * Everything effectful that the operator touches, as one argument. Production builds it once in
 * `src/main.ts`; simulation gives a virtual clock, a seeded generator and in-memory transports.
 */
export interface Env {
  readonly clock: Clock;
  readonly random: Random;
  /** To the Kubernetes API server. */
  readonly kube: Transport;
  /** To marketplaces. */
  readonly marketplace: Transport;
  readonly log: Logger;
}
