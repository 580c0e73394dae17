/**
 * Public module of the typed client, exported as `gpu-rental-operator/client`. All other modules may change without
 * notice.
 */
export { type Clock, systemClock } from './lib/clock.ts';
export { type LogFields, type Logger, silentLogger } from './lib/logger.ts';
export type { MicroDollars } from './lib/money.ts';
export { type Random, systemRandom } from './lib/random.ts';
export { Secret } from './lib/secret.ts';
export {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from './lib/transport.ts';
export type { CallOptions } from './market/call-options.ts';
export { MarketplaceError, type MarketplaceErrorKind, type Outcome } from './market/errors.ts';
export type { Offer, OfferFilter, OfferOrder, OfferQuery, PricingType } from './market/offer.ts';
export type { EndpointClass } from './market/pacing.ts';
export { createPacer, type Pacer, type PacerOptions, type Slot } from './market/pacing.ts';
export type {
  ApiKey,
  ApiKeysResource,
  KeyPermissions,
  NewApiKey,
  NewKeyRequest,
} from './markets/vast/api-keys.ts';
export {
  type ClientLimits,
  createLoggedOutClient,
  createMarketplaceClient,
  type MarketplaceClient,
  type MarketplaceClientOptions,
} from './markets/vast/client.ts';
export type { AutoscalerResource, RouteReply, RouteRequest } from './markets/vast/groups/autoscaler.ts';
export type {
  EndpointGroupOptions,
  EndpointGroupRow,
  EndpointGroupsResource,
} from './markets/vast/groups/endpoint-groups.ts';
export type {
  WorkerGroupOptions,
  WorkerGroupRow,
  WorkerGroupsResource,
} from './markets/vast/groups/worker-groups.ts';
export type { ChangeAnswer, GoodReply, KeySource } from './markets/vast/http/call.ts';
export {
  createMarketplaceTransport,
  type MarketplaceTransportOptions,
} from './markets/vast/http/transport.ts';
export type { ActualStatus, Instance, InstanceList } from './markets/vast/instances/instance.ts';
export type {
  InstancePage,
  InstancesResource,
  LogQuery,
  PageQuery,
  ResultAnswer,
} from './markets/vast/instances/instances.ts';
export {
  type ContainerPort,
  ON_START_LIMIT,
  type PackedOnStart,
  packOnStart,
  type RentAnswer,
  type RentRequest,
  type VolumeRequest,
} from './markets/vast/instances/rent.ts';
export type { OffersResource } from './markets/vast/offers/offers.ts';
export type { SecretsResource } from './markets/vast/secrets.ts';
export type { SshKey, SshKeysResource } from './markets/vast/ssh-keys.ts';
export type { BearerTfa, LoggedOutTfa } from './markets/vast/tfa/tfa.ts';
export type { User, UsersResource } from './markets/vast/users.ts';
export type { Volume, VolumeOffer, VolumesResource } from './markets/vast/volumes.ts';
