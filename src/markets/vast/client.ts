import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/logger.ts';
import type { Random } from '../../lib/random.ts';
import type { Secret } from '../../lib/secret.ts';
import type { Transport } from '../../lib/transport.ts';
import type { Pacer } from '../../market/pacing.ts';
import { type ApiKeysResource, createApiKeys } from './api-keys.ts';
import { type AutoscalerResource, createAutoscaler } from './groups/autoscaler.ts';
import { createEndpointGroups, type EndpointGroupsResource } from './groups/endpoint-groups.ts';
import { createWorkerGroups, type WorkerGroupsResource } from './groups/worker-groups.ts';
import type { GoodReply, KeySource } from './http/call.ts';
import { createRequester } from './http/request.ts';
import { createInstances, type InstancesResource } from './instances/instances.ts';
import { createOffers, type OffersResource } from './offers/offers.ts';
import { createSecrets, type SecretsResource } from './secrets.ts';
import { createSshKeys, type SshKeysResource } from './ssh-keys.ts';
import { type BearerTfa, createBearerTfa, createLoggedOutTfa, type LoggedOutTfa } from './tfa/tfa.ts';
import { createUsers, type UsersResource } from './users.ts';
import { createVolumes, type VolumesResource } from './volumes.ts';

/** Limits of one client's requests. */
export interface ClientLimits {
  /** Milliseconds for one attempt, from its place in the pacer to the last byte. Default 30,000. */
  readonly attemptDeadlineMs?: number;
  /** Attempts of a read, including the first. Default 3. Writes always have one. */
  readonly readAttempts?: number;
  /** Bytes of a reply's body, decompressed. Default 33,554,432. */
  readonly maxReplyBytes?: number;
}

/** Options of a client. */
export interface MarketplaceClientOptions {
  /** Origin of the service, e.g. `https://console.example`; a path prefix and a final slash are allowed. */
  readonly baseUrl: string;
  /** Key of every request, or the source that returns it at the moment of sending. */
  readonly apiKey: Secret | KeySource;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Shared by every client of the same login. */
  readonly pacer: Pacer;
  readonly limits?: ClientLimits;
  /** Address of the autoscaler, if it differs from the base address (as at the public service). */
  readonly autoscalerUrl?: string;
  /** Called for each good (2xx, well-formed) reply. */
  readonly onGoodReply?: (reply: GoodReply) => void;
}

/** A login's typed access to a marketplace. Every failure is a `MarketplaceError`. */
export interface MarketplaceClient {
  readonly offers: OffersResource;
  readonly instances: InstancesResource;
  readonly users: UsersResource;
  readonly apiKeys: ApiKeysResource;
  readonly sshKeys: SshKeysResource;
  readonly secrets: SecretsResource;
  readonly volumes: VolumesResource;
  readonly endpointGroups: EndpointGroupsResource;
  readonly workerGroups: WorkerGroupsResource;
  readonly autoscaler: AutoscalerResource;
  readonly tfa: BearerTfa;
}

/** Returns a client of one login. Throws a MarketplaceError if the base URL is invalid. */
export function createMarketplaceClient(options: MarketplaceClientOptions): MarketplaceClient {
  const { apiKey } = options;
  const keySource: KeySource = typeof apiKey === 'function' ? apiKey : () => apiKey;
  const requester = createRequester({ ...options, ...options.limits, apiKey: keySource });
  return {
    offers: createOffers(requester),
    instances: createInstances(requester),
    users: createUsers(requester),
    apiKeys: createApiKeys(requester),
    sshKeys: createSshKeys(requester),
    secrets: createSecrets(requester),
    volumes: createVolumes(requester),
    endpointGroups: createEndpointGroups(requester),
    workerGroups: createWorkerGroups(requester),
    autoscaler: createAutoscaler(requester, { ...options, apiKey: keySource }),
    tfa: createBearerTfa(requester),
  };
}

/** Returns the 2FA calls of a caller without a key, who only has the secret of a login. */
export function createLoggedOutClient(
  options: Omit<MarketplaceClientOptions, 'apiKey'> & { readonly secret: Secret },
): LoggedOutTfa {
  const requester = createRequester({ ...options, ...options.limits, apiKey: undefined });
  return createLoggedOutTfa(requester, options.secret);
}
