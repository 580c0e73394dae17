import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { Random } from '../lib/random.ts';
import type { Secret } from '../lib/secret.ts';
import type { Transport } from '../lib/transport.ts';
import { createInstances, type InstancesResource } from './instances.ts';
import { createOffers, type OffersResource } from './offers.ts';
import type { Pacer } from './pacing.ts';
import { createRequester } from './request.ts';
import { createUsers, type UsersResource } from './users.ts';

/** Bounds of one client's requests. */
export interface ClientLimits {
  /** Milliseconds for one attempt, from its place in the pacer to the last byte. Default 30,000. */
  readonly attemptDeadlineMs?: number;
  /** Attempts of a read, the first included. Default 3. Writes always have one. */
  readonly readAttempts?: number;
  /** Bytes of a reply's body, decompressed. Default 33,554,432. */
  readonly maxReplyBytes?: number;
}

/** What a client is made of. */
export interface MarketplaceClientOptions {
  /** Origin of the service, e.g. `https://console.example`; a path prefix and a final slash are allowed. */
  readonly baseUrl: string;
  readonly apiKey: Secret;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Shared by every client of the same login. */
  readonly pacer: Pacer;
  readonly limits?: ClientLimits;
}

/** One login's typed access to a marketplace. Every failure is a `MarketplaceError`. */
export interface MarketplaceClient {
  readonly offers: OffersResource;
  readonly instances: InstancesResource;
  readonly users: UsersResource;
}

/** A client of one login. Throws a MarketplaceError where the base URL is none. */
export function createMarketplaceClient(options: MarketplaceClientOptions): MarketplaceClient {
  const requester = createRequester({ ...options, ...options.limits });
  return {
    offers: createOffers(requester),
    instances: createInstances(requester),
    users: createUsers(requester),
  };
}
