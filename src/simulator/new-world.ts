import type { Random } from '../lib/random.ts';
import { type Profile, type Settings, type SettingsOverride, settingsFor } from './settings.ts';
import { type Catalog, catalogOf, type OfferSketch, seededCatalog } from './supply/catalog.ts';
import { firstUserVolumes, seededListings } from './supply/volumes.ts';
import type { Machine, Offer } from './tables/market.ts';
import type { ApiKey, SshKey, User } from './tables/users.ts';
import { emptyWorld, type World } from './world/world.ts';

/** First id, high enough never to be confused with an index. */
const FIRST_CONTRACT = 20_000_000;
const FIRST_USER = 400;

/** Properties of a new market. */
export interface NewWorldOptions {
  readonly now: number;
  readonly seed: number;
  readonly random: Random;
  /** Key of the first user; random by default. */
  readonly apiKey?: string;
  /** Profile of its settings; `public` by default. */
  readonly profile?: Profile;
  readonly settings?: SettingsOverride;
  /** A number of seeded offers (2,200 by default), or exactly the listed offers. */
  readonly catalog?: number | readonly OfferSketch[];
}

/** Returns a market with a catalog and one user whose key has full access. */
export function newWorld(options: NewWorldOptions): World {
  const settings = settingsFor(options.profile ?? 'public', options.settings);
  const base = emptyWorld({ now: options.now, seed: options.seed, settings });
  const { machines, offers } = makeCatalog(options);
  const user = makeUser({ id: FIRST_USER + 1, now: options.now, settings });
  const key = makeKey({
    id: 1,
    user,
    secret: options.apiKey ?? Buffer.from(options.random.bytes(32)).toString('hex'),
    now: options.now,
  });
  const sshKey: SshKey = {
    id: 1,
    userId: user.id,
    key: user.sshKey,
    createdAt: options.now,
    deletedAt: null,
  };
  return {
    ...base,
    counters: {
      contract: FIRST_CONTRACT,
      user: user.id,
      apiKey: key.id,
      sshKey: sshKey.id,
      volume: 100,
      volumeListing: 100,
    },
    tables: {
      ...base.tables,
      machines: byId<Machine>(machines),
      offers: byId<Offer>(offers),
      users: { [user.id]: user },
      apiKeys: { [key.id]: key },
      sshKeys: { [sshKey.id]: sshKey },
      ...volumeTables(options, { user, machines }),
    },
  };
}

/** Returns the listings of hosts, and two of the first user: one that can be unlisted, one that is active. */
function volumeTables(
  { seed, now }: NewWorldOptions,
  { user, machines }: { user: User; machines: readonly Machine[] },
): Pick<World['tables'], 'volumeListings' | 'volumes'> {
  const own = firstUserVolumes(user.id, now);
  return {
    volumeListings: byId([...own.listings, ...seededListings(seed, machines, now)]),
    volumes: byId(own.volumes),
  };
}

function makeCatalog({ catalog = 2200, seed, now }: NewWorldOptions): Catalog {
  return typeof catalog === 'number' ? seededCatalog({ seed, count: catalog, now }) : catalogOf(catalog, now);
}

function byId<Row extends { readonly id: number }>(rows: readonly Row[]): Record<number, Row> {
  return Object.fromEntries(rows.map((row) => [row.id, row]));
}

/** Returns a user with a verified address, credit and a registered SSH key. */
export function makeUser(given: { id: number; now: number; settings: Settings }): User {
  return {
    id: given.id,
    email: `renter${given.id}@example.com`,
    username: `renter${given.id}`,
    fullName: 'Simulated Renter',
    sshKey:
      'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHNpbXVsYXRlZCBrZXkgb2YgdGhlIHNpbXVsYXRvcg renter@example.com',
    depositedMicros: Math.round(given.settings.billing.initialCredit * 1e6),
    settledMicros: 0,
    emailVerifiedAt: given.now,
    phoneNumber: null,
    tfaStatus: 'disabled',
    hasBilling: true,
    isAdmin: false,
    inTeam: false,
    createdAt: given.now,
  };
}

/** Returns a key with full access. */
export function makeKey(given: { id: number; user: User; secret: string; now: number }): ApiKey {
  return {
    id: given.id,
    userId: given.user.id,
    name: 'default',
    secret: given.secret,
    permissions: null,
    keyParams: null,
    instanceId: null,
    session: false,
    createdAt: given.now,
    expiresAt: null,
    revokedAt: null,
  };
}
