import {
  anything,
  between,
  integer,
  number,
  readField,
  required,
  sameInteger,
  text,
} from '../calls/fields.ts';
import { BOTH, callerOf, endpoint, json, type Reply, type Route, type RouteContext } from '../calls/route.ts';
import { type Json, type JsonObject, ownValue } from '../json.ts';
import { badRequest, invalidArgs, Refusal } from '../refusal.ts';
import { readSearch } from '../supply/search-query.ts';
import {
  attachedTo,
  DEFAULT_VOLUME_GB,
  findListings,
  listingToUnlist,
  ownVolume,
  rentableListing,
  rentVolume,
} from '../supply/volumes.ts';
import type { Volume, VolumeKind, VolumeListing } from '../tables/market.ts';
import { volumeMicros } from '../world/ledger.ts';

/* Volumes: hosts list and unlist disk, users rent, clone and delete volumes (specification 4.1). */

const UNLISTED = { id: integer };

/** Serves `POST /volumes/unlist` (specification 4.1). */
function unlist(kind: VolumeKind): (ctx: RouteContext<typeof UNLISTED>) => Reply {
  return (ctx) => {
    const id = ctx.body.id;
    if (id === undefined) {
      throw invalidArgs('id must be passed in the request body');
    }
    const listing = listingToUnlist(ctx.world, { id, kind, userId: callerOf(ctx).user.id });
    ctx.write.remove('volumeListings', listing.id);
    return json({ success: true, msg: `Unlisted Volume ${listing.id}.` });
  };
}

function search(kind: VolumeKind): (ctx: RouteContext) => Reply {
  return (ctx) => json({ offers: findListings(ctx.world, readSearch(ctx.json, ctx.settings), kind) });
}

const RENTED = { id: required(integer), size: number, name: text };

function rent(kind: VolumeKind): (ctx: RouteContext<typeof RENTED>) => Reply {
  return (ctx) => {
    const listing = rentableListing(ctx, ctx.body.id, kind);
    const volume = rentVolume(ctx, listing, {
      sizeGB: ctx.body.size ?? DEFAULT_VOLUME_GB,
      name: ctx.body.name || undefined,
    });
    return json({ success: true, id: volume.id, volume_name: volume.name });
  };
}

const KINDS: Readonly<Record<string, readonly VolumeKind[]>> = {
  all_volume: ['local', 'network'],
  local_volume: ['local'],
  network_volume: ['network'],
};

function list(ctx: RouteContext): Reply {
  const type = ctx.query.get('type') ?? 'all_volume';
  const kinds = ownValue(KINDS, type);
  if (!kinds) throw badRequest('type must be all_volume, local_volume or network_volume.');
  const own = Object.values(ctx.world.tables.volumes).filter(
    (volume) => volume.userId === callerOf(ctx).user.id && kinds.includes(volume.kind),
  );
  return json({ volumes: own.map((volume) => volumeRow(ctx, volume)) });
}

function volumeRow(ctx: RouteContext, volume: Volume): JsonObject {
  const instances: Json = attachedTo(ctx.world, volume).map(({ id }) => id);
  return {
    id: volume.id,
    label: volume.name,
    start_date: volume.createdAt / 1000,
    disk_space: volume.sizeGB,
    status: instances.length > 0 ? 'attached' : 'created',
    disk_name: null,
    ...boardOf(ctx, volume),
    machine_id: volume.machineId,
    type: volume.kind,
    instances,
  };
}

const BOARD_COLUMNS = [
  'disk_name',
  'driver_version',
  'inet_up',
  'inet_down',
  'reliability',
  'verification',
  'geolocation',
] as const;

/** Returns the fields of a volume's machine that public clients show. */
function boardOf(ctx: RouteContext, volume: Volume): JsonObject {
  const offer = Object.values(ctx.world.tables.offers).find(
    ({ machineId }) => machineId === volume.machineId,
  );
  if (!offer) return {};
  const board = BOARD_COLUMNS.map((name) => [name, offer.columns[name] ?? null] as const);
  return { ...Object.fromEntries(board), host_id: offer.hostId };
}

const DELETED = { id: anything };

/** Deletes a volume: its id is in the query of public clients and in the body of the documentation. */
function remove(ctx: RouteContext<typeof DELETED>): Reply {
  const id = sameInteger({ '?id': ctx.query.get('id'), id: ctx.body.id ?? null });
  if (id === undefined) throw badRequest('id is required.');
  const volume = ownVolume(ctx, id);
  const [user] = attachedTo(ctx.world, volume);
  if (user) {
    throw new Refusal(400, 'volume_in_use', `Instance ${user.id} uses volume ${id}: destroy it first.`);
  }
  end(ctx, volume);
  return json({ success: true, msg: `Deleted volume ${volume.id}.` });
}

/** Ends all billing of the volume. */
function end(ctx: RouteContext, volume: Volume): void {
  const { id, userId, name, createdAt } = volume;
  const dollarsMicros = volumeMicros(volume, ctx.now);
  const user = ctx.world.tables.users[userId];
  ctx.write.remove('volumes', id);
  if (volume.pricePerHour > 0) {
    ctx.write.put('endedVolumes', { id, userId, name, createdAt, endedAt: ctx.now, dollarsMicros });
  }
  if (user) ctx.write.put('users', { ...user, settledMicros: user.settledMicros + dollarsMicros });
}

/** Reads an integer under either name: older public clients use other names for the ids of a copy. */
function eitherInteger(ctx: RouteContext, name: string, older: string): number {
  const id = sameInteger({ [older]: ctx.json[older] ?? null, [name]: ctx.json[name] ?? null });
  if (id === undefined) throw badRequest(`${name} is required.`);
  return id;
}

const COPY = { size: number, name: text };

/** Copies an owned volume onto a volume offer. */
function clone(ctx: RouteContext<typeof COPY>): Reply {
  const source = ownVolume(ctx, eitherInteger(ctx, 'src_id', 'source'));
  const target = rentableListing(ctx, eitherInteger(ctx, 'dst_id', 'dest'), source.kind);
  const sizeGB = ctx.body.size ?? source.sizeGB;
  if (sizeGB < source.sizeGB)
    throw badRequest(`size must be at least the ${source.sizeGB} GB of the source.`);
  const name = ctx.body.name || undefined;
  const volume = rentVolume(ctx, target, { sizeGB, name });
  return json({ success: true, id: volume.id, volume_name: volume.name });
}

/** Maximum GB of one listing. */
const LISTED_GB = { min: 1, max: 1_000_000 };
/** Maximum dollars per GB and month: with them and {@link LISTED_GB} every bill is a valid number. */
const LISTED_DOLLARS = { min: 0, max: 1000 };
/** End of the last year that an HTTP date can have. */
const EPOCH_SECONDS = { min: 0, max: 253_402_300_799 };

const LISTED = {
  size: between(LISTED_GB),
  price_disk: between(LISTED_DOLLARS),
  end_date: between(EPOCH_SECONDS),
};

/** Returns the handler with which a host offers disk on one or several machines. */
function listForRent(kind: VolumeKind): (ctx: RouteContext<typeof LISTED>) => Reply {
  return (ctx) => {
    const sizeGB = ctx.body.size ?? DEFAULT_VOLUME_GB;
    const price = ctx.body.price_disk ?? 0.15;
    const endsAt = ctx.body.end_date;
    const rows = machinesNamed(ctx, kind).map(
      (machineId): VolumeListing => ({
        id: ctx.write.nextId('volumeListing'),
        userId: callerOf(ctx).user.id,
        kind,
        machineId,
        sizeGB,
        dollarsPerGBMonth: price,
        endsAt: endsAt === undefined ? null : endsAt * 1000,
        undeletable: false,
        createdAt: ctx.now,
      }),
    );
    for (const row of rows) ctx.write.put('volumeListings', row);
    return json({ success: true, ids: rows.map(({ id }) => id), id: rows[0]?.id ?? null });
  };
}

function machinesNamed(ctx: RouteContext, kind: VolumeKind): readonly (number | null)[] {
  const named = ctx.json.machine ?? ctx.json.machines;
  if (named === undefined || named === null) {
    if (kind === 'network') return [null];
    throw badRequest('machine is required.');
  }
  const ids = Array.isArray(named) ? (named as readonly Json[]) : [named];
  return [...new Set(ids.map((value) => readField(required(integer), { machine: value }, 'machine')))].map(
    (id) => {
      if (ctx.world.tables.machines[id]) return id;
      throw invalidArgs(`There is no machine ${id}.`);
    },
  );
}

const NETWORK_DISK = { mount_point: text, mount_path: text, disk_id: integer };

/** Registers a network disk on machines of a host; volumes are then listed from it. */
function addNetworkDisk(ctx: RouteContext<typeof NETWORK_DISK>): Reply {
  const machines = machinesNamed(ctx, 'network');
  const mount = ctx.body.mount_point ?? ctx.body.mount_path ?? null;
  const diskId = ctx.body.disk_id ?? ctx.write.nextId('networkDisk');
  return json({ success: true, disk_id: diskId, mount_point: mount, machines });
}

const VOLUME = { pause: 'volume' } as const;
const WRITE = { category: 'instance_write', ...VOLUME } as const;

export const volumeRoutes: readonly Route[] = [
  endpoint(
    'POST /api/v0/volumes/unlist',
    { category: 'machine_write', profiles: BOTH, written: { id: 'integer' }, body: UNLISTED, ...VOLUME },
    unlist('local'),
  ),
  endpoint('POST /api/v0/volumes/search', { category: 'misc', pause: 'search' }, search('local')),
  endpoint('PUT /api/v0/volumes', { ...WRITE, body: RENTED }, rent('local')),
  endpoint('GET /api/v0/volumes', { category: 'instance_read', pause: 'list' }, list),
  endpoint('POST /api/v0/volumes', { ...WRITE, body: LISTED }, listForRent('local')),
  endpoint('DELETE /api/v0/volumes', { ...WRITE, body: DELETED }, remove),
  endpoint('POST /api/v0/volumes/copy', { ...WRITE, body: COPY }, clone),
  endpoint(
    'POST /api/v0/network_volumes/unlist',
    { category: 'machine_write', body: UNLISTED, ...VOLUME },
    unlist('network'),
  ),
  endpoint('POST /api/v0/network_volumes/search', { category: 'misc', pause: 'search' }, search('network')),
  endpoint('PUT /api/v0/network_volumes', { ...WRITE, body: RENTED }, rent('network')),
  endpoint('POST /api/v0/network_volumes', { ...WRITE, body: LISTED }, listForRent('network')),
  endpoint(
    'POST /api/v0/network_disk',
    { category: 'machine_write', body: NETWORK_DISK, ...VOLUME },
    addNetworkDisk,
  ),
];
