/**
 * The public module of the typed client: what `gpu-rental-operator/client` exports. Everything else of the package
 * may change without notice.
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
export type {
  ApiKey,
  ApiKeysResource,
  KeyPermissions,
  NewApiKey,
  NewKeyRequest,
} from './marketplace/api-keys.ts';
export {
  type ClientLimits,
  createLoggedOutClient,
  createMarketplaceClient,
  type MarketplaceClient,
  type MarketplaceClientOptions,
} from './marketplace/client.ts';
export { MarketplaceError, type MarketplaceErrorKind, type Outcome } from './marketplace/errors/errors.ts';
export type { AutoscalerResource, RouteReply, RouteRequest } from './marketplace/groups/autoscaler.ts';
export type {
  EndpointGroupOptions,
  EndpointGroupRow,
  EndpointGroupsResource,
} from './marketplace/groups/endpoint-groups.ts';
export type {
  WorkerGroupOptions,
  WorkerGroupRow,
  WorkerGroupsResource,
} from './marketplace/groups/worker-groups.ts';
export type { CallOptions, ChangeAnswer, GoodReply, KeySource } from './marketplace/http/call.ts';
export {
  createMarketplaceTransport,
  type MarketplaceTransportOptions,
} from './marketplace/http/transport.ts';
export type { ActualStatus, Instance, InstanceList } from './marketplace/instances/instance.ts';
export type {
  InstancePage,
  InstancesResource,
  LogAnswer,
  LogQuery,
  PageQuery,
} from './marketplace/instances/instances.ts';
export type { ContainerPort, RentAnswer, RentRequest, VolumeRequest } from './marketplace/instances/rent.ts';
export type {
  Offer,
  OfferFilter,
  OfferOrder,
  OfferQuery,
  OffersResource,
  PricingType,
} from './marketplace/offers/offers.ts';
export type { EndpointClass } from './marketplace/pacing/pacing.ts';
export { createPacer, type Pacer, type PacerOptions, type Slot } from './marketplace/pacing/pacing.ts';
export type { SecretsResource } from './marketplace/secrets.ts';
export type { SshKey, SshKeysResource } from './marketplace/ssh-keys.ts';
export type { BearerTfa, LoggedOutTfa } from './marketplace/tfa/tfa.ts';
export type { User, UsersResource } from './marketplace/users.ts';
export type { Volume, VolumeOffer, VolumesResource } from './marketplace/volumes.ts';
