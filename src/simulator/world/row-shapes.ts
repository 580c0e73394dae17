import * as z from 'zod';
import { isObject } from '../calls/request-body.ts';
import { FAULTS } from '../faults/faults.ts';
import type { Json, JsonObject } from '../json.ts';
import type { EndedVolume, SshKey, Variable, Volume, VolumeListing } from './account-rows.ts';
import type { DeploymentRow } from './deployment-rows.ts';
import type {
  ActiveFault,
  ApiKey,
  Contract,
  EndedContract,
  Machine,
  Offer,
  PriceIncrease,
  Template,
  User,
} from './world.ts';

/*
 * What rows from outside (`PUT /sim/world`) have to look like: every field, its type and its words. PURE.
 */

/** The id of a row, or of the row it names. */
export const rowId = z.int().min(0);
/** Milliseconds since the epoch; dates beyond have no four-digit year, which HTTP demands. */
export const time = z
  .number()
  .min(0)
  .max(Date.UTC(9999, 11, 31));
export const amount = z.number().min(0);
export const count = z.int().min(0);
/** Any JSON object. */
export const jsonObject = z.custom<JsonObject>((value) => isObject(value as Json), { error: 'an object' });

export const user = z.strictObject({
  id: rowId,
  email: z.string().nullable(),
  username: z.string(),
  fullName: z.string(),
  sshKey: z.string(),
  depositedMicros: z.number(),
  settledMicros: z.number(),
  emailVerifiedAt: time.nullable(),
  phoneNumber: z.string().nullable(),
  tfaStatus: z.enum(['enabled', 'disabled', 'legacy']),
  hasBilling: z.boolean(),
  isAdmin: z.boolean(),
  inTeam: z.boolean(),
  createdAt: time,
}) satisfies z.ZodType<User>;

export const apiKey = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  secret: z.string().min(1),
  permissions: jsonObject.nullable(),
  keyParams: z.string().nullable(),
  instanceId: rowId.nullable(),
  session: z.boolean(),
  createdAt: time,
  expiresAt: time.nullable(),
  revokedAt: time.nullable(),
}) satisfies z.ZodType<ApiKey>;

export const machine = z.strictObject({
  id: rowId,
  hostId: rowId,
  publicAddress: z.string(),
  state: z.enum(['up', 'offline', 'unknown', 'dead']),
  stateUntil: time.nullable(),
  pullFactor: amount,
  reliability: amount,
  listed: z.boolean(),
}) satisfies z.ZodType<Machine>;

export const offer = z.strictObject({
  id: rowId,
  machineId: rowId,
  hostId: rowId,
  rentedBy: rowId.nullable(),
  gpuPricePerHour: amount,
  diskPricePerGBMonth: amount,
  minBidPerHour: amount,
  columns: z.record(
    z.string(),
    z.union([z.string(), z.number(), z.boolean(), z.null()], {
      error: 'a text, a number, true, false or null',
    }),
  ),
}) satisfies z.ZodType<Offer>;

const span = z.strictObject({
  from: time,
  until: time.nullable(),
  gpuPerHour: amount,
  diskPerHour: amount,
});

const transition = z.strictObject({
  at: time,
  status: z.string().nullable(),
  message: z.string().exactOptional(),
});

const mountedVolume = z.strictObject({ id: rowId, mountPath: z.string().nullable(), sizeGB: amount });

export const contract = z.strictObject({
  id: rowId,
  userId: rowId,
  offerId: rowId,
  machineId: rowId,
  hostId: rowId,
  label: z.string().nullable(),
  image: z.string(),
  runtype: z.string(),
  onstart: z.string().nullable(),
  args: z.array(z.string()),
  env: z.record(z.string(), z.string()),
  imageLogin: z.string().nullable(),
  templateId: rowId.nullable(),
  templateHash: z.string().nullable(),
  diskGB: amount,
  isBid: z.boolean(),
  bidPerHour: amount.nullable(),
  gpuPricePerHour: amount,
  diskPricePerHour: amount,
  createdAt: time,
  actualStatus: z.string().nullable(),
  intendedStatus: z.enum(['running', 'stopped', 'frozen']),
  statusMessage: z.string().nullable(),
  statusSince: time,
  timeline: z.array(transition),
  spans: z.array(span),
  ports: z.record(z.string(), z.int().min(1).max(65_535)),
  sshPort: z.int().min(0).max(65_535),
  jupyterToken: z.string(),
  heldBy: z.enum(['outbid', 'credit', 'cannot-start']).nullable(),
  prepaidMicros: amount,
  volumes: z.array(mountedVolume),
  notes: jsonObject,
}) satisfies z.ZodType<Contract>;

export const endedContract = z.strictObject({
  id: rowId,
  userId: rowId,
  offerId: rowId,
  machineId: rowId,
  hostId: rowId,
  label: z.string().nullable(),
  createdAt: time,
  endedAt: time,
  dollarsMicros: z.number(),
  last: contract,
}) satisfies z.ZodType<EndedContract>;

export const template = z.strictObject({
  id: rowId,
  userId: rowId,
  hashId: z.string(),
  name: z.string(),
  body: jsonObject,
  createdAt: time,
}) satisfies z.ZodType<Template>;

export const priceIncrease = z.strictObject({
  id: rowId,
  contractId: rowId,
  userId: rowId,
  gpuPricePerHour: amount,
  announcedAt: time,
  dueAt: time,
}) satisfies z.ZodType<PriceIncrease>;

export const fault = z.strictObject({
  id: rowId,
  name: z.enum(Object.keys(FAULTS)),
  endpoint: z.string().nullable(),
  remaining: count.nullable(),
  probability: z.number().min(0).max(1).nullable(),
  seconds: amount.nullable(),
  instance: rowId.nullable(),
  host: rowId.nullable(),
  createdAt: time,
  expiresAt: time.nullable(),
  snapshot: z.array(contract).exactOptional(),
  struck: z.strictObject({ contracts: z.array(rowId), machines: z.array(rowId) }).exactOptional(),
}) satisfies z.ZodType<ActiveFault>;

export const sshKey = z.strictObject({
  id: rowId,
  userId: rowId,
  key: z.string(),
  createdAt: time,
  deletedAt: time.nullable(),
}) satisfies z.ZodType<SshKey>;

export const variable = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  value: z.string(),
  updatedAt: time,
}) satisfies z.ZodType<Variable>;

const volumeKind = z.enum(['local', 'network']);

export const volumeListing = z.strictObject({
  id: rowId,
  userId: rowId,
  kind: volumeKind,
  machineId: rowId.nullable(),
  sizeGB: amount,
  dollarsPerGBMonth: amount,
  endsAt: time.nullable(),
  undeletable: z.boolean(),
  createdAt: time,
}) satisfies z.ZodType<VolumeListing>;

export const volume = z.strictObject({
  id: rowId,
  userId: rowId,
  listingId: rowId,
  kind: volumeKind,
  machineId: rowId.nullable(),
  sizeGB: amount,
  name: z.string(),
  pricePerHour: amount,
  createdAt: time,
}) satisfies z.ZodType<Volume>;

export const endedVolume = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  createdAt: time,
  endedAt: time,
  dollarsMicros: z.number(),
}) satisfies z.ZodType<EndedVolume>;

const deploymentVersion = z.strictObject({
  id: rowId,
  fileHash: z.string(),
  fileSize: amount,
  label: z.string().nullable(),
  createdAt: time,
  file: z.string().nullable(),
});

export const deployment = z.strictObject({
  id: rowId,
  userId: rowId,
  name: z.string(),
  tag: z.string(),
  image: z.string(),
  endpointId: rowId,
  workerGroupId: rowId,
  versions: z.array(deploymentVersion).min(1),
  storage: z.string().nullable(),
  ttlSeconds: amount.nullable(),
  env: jsonObject,
  searchParams: z.string(),
  lastHeartbeatAt: time.nullable(),
  createdAt: time,
  updatedAt: time,
}) satisfies z.ZodType<DeploymentRow>;
