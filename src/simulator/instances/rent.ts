import { integer, list, readField } from '../calls/fields.ts';
import { callerOf, type RouteContext } from '../calls/route.ts';
import type { Json, JsonObject } from '../json.ts';
import { invalidArgs, Refusal } from '../refusal.ts';
import { diskMicrosPerHour, isForSale, secondsLeft } from '../supply/offer-row.ts';
import { DEFAULT_VOLUME_GB, ownVolume, rentableListing, rentVolume } from '../supply/volumes.ts';
import type { Contract, MountedVolume, Transition } from '../tables/contracts.ts';
import type { Machine, Offer, Volume } from '../tables/market.ts';
import type { ApiKey } from '../tables/users.ts';
import { creditMicros } from '../world/ledger.ts';
import { rowsOf } from '../world/world-store.ts';
import { assignPorts, bootTimeline, containerPorts, crashTimeline } from './boot.ts';
import { holdContract } from './contract-state.ts';
import { type Order, readOrder, type VolumeRequest } from './order.ts';

/* Renting one offer (specification 4.5): every check first, then contract, key and listing together. */

/** Result of a rental. */
export interface Rental {
  readonly contract: Contract;
  readonly instanceKey: ApiKey;
}

/** Rents the offer for the caller, or throws the refusal without any change. */
export function rentOffer(ctx: RouteContext, offerId: number, body: JsonObject): Rental {
  const order = readOrder(ctx, body);
  checkMachines(ctx);
  const offer = rentableOffer(ctx, offerId, order);
  checkDisk(ctx, order, offer);
  checkCredit(ctx);
  const machine = ctx.world.tables.machines[offer.machineId];
  if (!machine) throw noSuchAsk(offerId, false);
  if (machine.state !== 'up' && order.cancelUnavailable) throw noSuchAsk(offerId, true);
  const volumes = order.volume ? [mounted(ctx, order.volume, machine)] : [];
  const contract = makeContract(ctx, { order, offer, machine, volumes });
  const instanceKey = makeInstanceKey(ctx, contract);
  ctx.write.put('contracts', contract);
  ctx.write.put('offers', soldOffer(ctx, offer, contract));
  ctx.write.put('apiKeys', instanceKey);
  return { contract, instanceKey };
}

/** Returns the refusal of an unavailable offer: 410 if the caller sent the cancel option, else 404. */
export function noSuchAsk(offerId: number | string, cancel: boolean): Refusal {
  const msg = `no_such_ask Instance type by id ${offerId} is not available.`;
  return cancel
    ? new Refusal(410, 'no_such_ask', { msg, ask_id: offerId })
    : new Refusal(404, 'invalid_args', { msg, ask_id: offerId });
}

function rentableOffer(ctx: RouteContext, offerId: number, order: Order): Offer {
  const offer = ctx.world.tables.offers[offerId];
  const gone = ctx.fault('offer-gone', offer ? { host: offer.hostId } : {}) !== undefined;
  if (!offer || gone || !isForSale(offer)) throw noSuchAsk(offerId, order.cancelUnavailable);
  const machine = ctx.world.tables.machines[offer.machineId];
  if (machine?.state === 'dead' || machine?.listed === false || secondsLeft(offer, ctx) === 0)
    throw noSuchAsk(offerId, order.cancelUnavailable);
  return offer;
}

/** Returns the offer after its sale. One that was sold twice stays with its first buyer. */
function soldOffer(ctx: RouteContext, { soldAgain, ...offer }: Offer, { id, hostId }: Contract): Offer {
  if (soldAgain && offer.rentedBy !== null) return offer;
  const isSoldAgain = ctx.fault('sold-twice', { instance: id, host: hostId }) !== undefined;
  return { ...offer, rentedBy: id, ...(isSoldAgain && { soldAgain: true }) };
}

/** Returns true if another machine has the ports of the offer; the ports of a later buyer do not answer. */
const isHeld = (ctx: RouteContext, offer: Offer): boolean =>
  Object.values(ctx.world.tables.contracts).some(({ offerId }) => offerId === offer.id);

function checkMachines(ctx: RouteContext): void {
  const max = ctx.settings.limits.machines;
  if (max === null || rowsOf(ctx.world.tables.contracts).length < max) return;
  const msg = `This simulator runs at most ${max} machines (limits.machines). Destroy one first.`;
  throw new Refusal(400, 'too_many_machines', msg);
}

/** Maximum GB: beyond it a bill would be no valid number, and no host has such a disk. */
const MAX_DISK_GB = 1_000_000;

function checkDisk(ctx: RouteContext, order: Order, offer: Offer): void {
  const { minDiskGB, diskWithinOffer } = ctx.settings.limits;
  if (order.diskGB < minDiskGB) throw invalidArgs(`disk must be at least ${minDiskGB} GB.`);
  const space = diskWithinOffer ? Number(offer.columns.disk_space ?? 0) : MAX_DISK_GB;
  if (order.diskGB > space)
    throw invalidArgs(`disk: ${order.diskGB} GB are more than the ${space} GB offered.`);
}

function checkCredit(ctx: RouteContext): void {
  const { user } = callerOf(ctx);
  const { minCreditToRent } = ctx.settings.billing;
  if (minCreditToRent === null) return;
  const credit = creditMicros(ctx.world, user, ctx.now) / 1e6;
  if (credit <= 0 || credit < minCreditToRent) {
    throw new Refusal(
      400,
      'insufficient_credit',
      'Your credit does not cover this rental. Add credit first.',
    );
  }
}

/** Returns the volume to mount, rented now if the order needs a new one. The machine must be able to reach it. */
function mounted(ctx: RouteContext, request: VolumeRequest, machine: Machine): MountedVolume {
  const source = request.createNew ? rentableListing(ctx, request.id, 'local') : ownVolume(ctx, request.id);
  if (source.machineId !== null && source.machineId !== machine.id) {
    throw invalidArgs(
      `volume_info: volume_id ${request.id} is on machine ${source.machineId}, the offer on ${machine.id}.`,
    );
  }
  const volume = request.createNew ? newVolume(ctx, request) : ownVolume(ctx, request.id);
  return { id: volume.id, mountPath: request.mountPath, sizeGB: volume.sizeGB };
}

function newVolume(ctx: RouteContext, { id, name, sizeGB = DEFAULT_VOLUME_GB }: VolumeRequest): Volume {
  return rentVolume(ctx, rentableListing(ctx, id, 'local'), { sizeGB, name });
}

/** Terms of a contract. */
interface Agreed {
  readonly order: Order;
  readonly offer: Offer;
  readonly machine: Machine;
  readonly volumes: readonly MountedVolume[];
}

function makeContract(ctx: RouteContext, given: Agreed): Contract {
  const { order, offer, machine, volumes } = given;
  const contract: Contract = {
    id: ctx.write.nextId('contract'),
    userId: callerOf(ctx).user.id,
    offerId: offer.id,
    machineId: machine.id,
    hostId: machine.hostId,
    ...orderedFields(order),
    volumes,
    ...priceFields(ctx, order, offer),
    createdAt: ctx.now,
    actualStatus: null,
    intendedStatus: 'running',
    statusMessage: null,
    statusSince: ctx.now,
    timeline: plannedBoot(ctx, machine),
    ...assignPorts(ctx.world, containerPorts(order.runtype, order.env), offer),
    jupyterToken: Buffer.from(ctx.random.bytes(16)).toString('hex'),
    blockedBy: null,
    prepaidMicros: 0,
    notes: isHeld(ctx, offer) ? { portsTaken: true } : {},
  };
  return asCreated(ctx, contract, { order, machine });
}

/** Returns the renter's fields for the contract. */
function orderedFields(order: Order) {
  return {
    label: order.label,
    image: order.image,
    runtype: order.runtype,
    onstart: order.onstart,
    args: order.args,
    env: order.env,
    imageLogin: order.imageLogin,
    templateId: order.template?.id ?? null,
    templateHash: order.template?.hashId ?? null,
    diskGB: order.diskGB,
  };
}

/** Returns prices and the first span: compute and disk are billed from now on. */
function priceFields(ctx: RouteContext, order: Order, offer: Offer) {
  const diskPerHour = diskMicrosPerHour(offer, order.diskGB, ctx.settings);
  const gpuPerHour = order.bidPerHour ?? offer.gpuPricePerHour;
  return {
    isBid: order.bidPerHour !== null,
    bidPerHour: order.bidPerHour,
    gpuPricePerHour: offer.gpuPricePerHour,
    diskPricePerHour: diskPerHour,
    spans: [{ from: ctx.now, until: null, gpuPerHour, diskPerHour }],
  };
}

/**
 * Returns the contract as created. Some rentals begin stopped: on request, by a fault, or because the machine cannot
 * start.
 */
function asCreated(
  ctx: RouteContext,
  contract: Contract,
  given: { order: Order; machine: Machine },
): Contract {
  const fault = ctx.fault('create-stopped', { instance: contract.id, host: contract.hostId });
  if (given.order.targetStopped)
    return { ...holdContract(contract, ctx.now, 'cannot-start'), blockedBy: null, intendedStatus: 'stopped' };
  if (fault || given.machine.state !== 'up') return holdContract(contract, ctx.now, 'cannot-start');
  return contract;
}

/** Returns the boot of this rental, with the effects of faults. */
function plannedBoot(ctx: RouteContext, machine: Machine): readonly Transition[] {
  const target = { host: machine.hostId };
  const timeline = bootTimeline({ settings: ctx.settings, seed: ctx.world.seed, machine, now: ctx.now });
  if (ctx.fault('stuck-loading', target)) return timeline.filter(({ status }) => status !== 'running');
  const slow = ctx.fault('slow-pull', target);
  const extraMs = slow ? (slow.seconds ?? 600) * 1000 : 0;
  const shifted = timeline.map((step) =>
    step.status === 'running' ? { ...step, at: step.at + extraMs } : step,
  );
  if (!ctx.fault('crash-image', target)) return shifted;
  const runsAt = shifted.at(-1)?.at ?? ctx.now;
  return [...shifted, ...crashTimeline(ctx.settings, runsAt + 1000)];
}

function makeInstanceKey(ctx: RouteContext, contract: Contract): ApiKey {
  return {
    id: ctx.write.nextId('apiKey'),
    userId: contract.userId,
    name: `instance ${contract.id}`,
    secret: Buffer.from(ctx.random.bytes(32)).toString('hex'),
    permissions: null,
    keyParams: null,
    instanceId: contract.id,
    rentedBy: callerOf(ctx).key.id,
    session: false,
    createdAt: ctx.now,
    expiresAt: null,
    revokedAt: null,
  };
}

/** Returns the reply of a successful rental. */
export function rentalReply(rental: Rental): Record<string, Json> {
  return {
    success: true,
    new_contract: rental.contract.id,
    instance_api_key: rental.instanceKey.secret,
  };
}

/** The offers of a bulk rental. */
export const BULK = { ids: list };

/**
 * Returns the offer ids of a bulk rental: whole numbers, at least one and at most `limits.bulkRent`. Throws a 400
 * `invalid_args` Refusal for anything else.
 */
export function bulkIds(ctx: RouteContext<typeof BULK>): readonly number[] {
  const ids = ctx.body.ids ?? [];
  if (ids.length === 0) throw invalidArgs('ids must name at least one offer.');
  if (ids.length > ctx.settings.limits.bulkRent) {
    throw invalidArgs(
      `ids names ${ids.length} offers; ${ctx.settings.limits.bulkRent} are allowed in one call.`,
    );
  }
  return ids.map((id) => readField(integer, { ids: id }, 'ids') ?? 0);
}
