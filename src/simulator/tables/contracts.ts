import * as z from 'zod';
import { amount, jsonObject, type Row, rowId, time } from './row.ts';

/* Rented instances, live and ended, and the price increases announced for them. */

/** A span of a contract's life at one price; `until` null is the running span. */
const billingSpan = z.strictObject({
  from: time,
  until: time.nullable(),
  gpuPerHour: amount,
  diskPerHour: amount,
});
export type BillingSpan = Row<typeof billingSpan>;

/** A scheduled change of state. */
const transition = z.strictObject({
  at: time,
  status: z.string().nullable(),
  message: z.string().exactOptional(),
});
export type Transition = Row<typeof transition>;

/** A volume in the view of the instance that mounts it. */
const mountedVolume = z.strictObject({
  id: rowId,
  mountPath: z.string().nullable(),
  sizeGB: amount,
});
export type MountedVolume = Row<typeof mountedVolume>;

/** A rented instance that has not been destroyed. */
export const contractRow = z.strictObject({
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
  /** Status of the contract if its machine is up; {@link shownStatus} adds the machine's own state. */
  actualStatus: z.string().nullable(),
  intendedStatus: z.enum(['running', 'stopped', 'frozen']),
  statusMessage: z.string().nullable(),
  /** Start of the present `actualStatus`. */
  statusSince: time,
  /** Coming changes, earliest first. */
  timeline: z.array(transition),
  spans: z.array(billingSpan),
  /** Host ports by container port (`22/tcp`), assigned at the first boot and kept. */
  ports: z.record(z.string(), z.int().min(1).max(65_535)),
  sshPort: z.int().min(0).max(65_535),
  jupyterToken: z.string(),
  /** Reason why it is stopped although its user wants it to run. */
  blockedBy: z.enum(['outbid', 'credit', 'cannot-start']).nullable(),
  prepaidMicros: amount,
  volumes: z.array(mountedVolume),
  /** Time until which its GPUs are not used; null: for ever. Absent: they are used whenever it runs. */
  idleUntil: time.nullable().exactOptional(),
  /** Modelled files by path from the root, in bytes; a final slash marks a folder. Absent: those of a new container. */
  files: z.record(z.string(), amount).exactOptional(),
  /** Modelled lines that the program wrote to its log. */
  output: z.array(z.string()).exactOptional(),
  /** Modelled end of the program, while the container runs. Absent: it does not end. */
  programEndsAt: time.exactOptional(),
  /** Notes of other parts, such as the worker group that owns it. */
  notes: jsonObject,
});
export type Contract = Row<typeof contractRow>;

/** Remaining row of a destroyed contract. */
export const endedContractRow = z.strictObject({
  id: rowId,
  userId: rowId,
  offerId: rowId,
  machineId: rowId,
  hostId: rowId,
  label: z.string().nullable(),
  createdAt: time,
  endedAt: time,
  dollarsMicros: z.number(),
  /** The contract at its end, for lists that still show it. */
  last: contractRow,
});
export type EndedContract = Row<typeof endedContractRow>;

/** A price increase without the user's answer. */
export const priceIncreaseRow = z.strictObject({
  id: rowId,
  contractId: rowId,
  userId: rowId,
  gpuPricePerHour: amount,
  announcedAt: time,
  dueAt: time,
});
export type PriceIncrease = Row<typeof priceIncreaseRow>;

/** A template for rentals. */
export const templateRow = z.strictObject({
  id: rowId,
  userId: rowId,
  hashId: z.string(),
  name: z.string(),
  body: jsonObject,
  createdAt: time,
});
export type Template = Row<typeof templateRow>;
