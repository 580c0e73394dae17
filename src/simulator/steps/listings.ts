import type { Offer } from '../tables/market.ts';
import { between, chance } from '../world/chance.ts';
import type { World } from '../world/world.ts';
import { rowsOf, withRows } from '../world/world-store.ts';
import type { AdvanceStep } from './advance.ts';

/*
 * Hosts list their machines again after a listing has ended, so that the market stays as large as it was. A rented offer
 * keeps its listing until it is free. PURE.
 */

const HOUR_MS = 3_600_000;
const DAY_SECONDS = 86_400;
/** Minimum and maximum duration of a listing, as in the catalog. */
const LISTED_DAYS = { min: 3, max: 365 };

/** Returns the end of a listing in seconds; Infinity if its column is no number, as a written world may have it. */
function endOf({ columns }: Offer): number {
  const end = Number(columns.end_date ?? Number.POSITIVE_INFINITY);
  return Number.isNaN(end) ? Number.POSITIVE_INFINITY : end;
}

/**
 * Returns the time at which a host lists an ended offer again; Infinity while it is rented, or if hosts do not list
 * again.
 */
function relistedAt(world: World, offer: Offer): number {
  const hours = world.settings.market.relistHours;
  if (offer.rentedBy !== null || hours === null) return Number.POSITIVE_INFINITY;
  const [shortest, longest] = hours;
  const end = endOf(offer);
  return Math.ceil(end) * 1000 + between(shortest, longest, chance(world.seed, offer.id, end, 1)) * HOUR_MS;
}

interface NextListing {
  readonly settings: World['settings'];
  readonly seed: number;
  readonly at: number;
}

/** Cached, because reading each offer of a large market takes longer than most calls. */
const known = new WeakMap<readonly Offer[], NextListing>();

function nextListingAt(world: World): number {
  const offers = rowsOf(world.tables.offers);
  const { settings, seed } = world;
  const kept = known.get(offers);
  if (kept?.settings === settings && kept.seed === seed) return kept.at;
  const at = offers.reduce(
    (next, offer) => Math.min(next, relistedAt(world, offer)),
    Number.POSITIVE_INFINITY,
  );
  known.set(offers, { settings, seed, at });
  return at;
}

/** Returns the offer after all listings that its host begins until then. */
function relistedUntil(world: World, offer: Offer, until: number): Offer {
  let current = offer;
  for (let at = relistedAt(world, offer); at <= until; at = relistedAt(world, current))
    current = relisted(world, current, Math.max(at, world.now));
  return current;
}

function relisted(world: World, offer: Offer, at: number): Offer {
  const start = Math.floor(at / 1000);
  const days = between(LISTED_DAYS.min, LISTED_DAYS.max, chance(world.seed, offer.id, endOf(offer), 2));
  const columns = { ...offer.columns, start_date: start, end_date: start + Math.round(days * DAY_SECONDS) };
  return { ...offer, columns };
}

function relistAll(world: World, until: number): World {
  if (nextListingAt(world) > until) return world;
  const due = rowsOf(world.tables.offers).filter((offer) => relistedAt(world, offer) <= until);
  return withRows(
    world,
    'offers',
    due.map((offer) => relistedUntil(world, offer, until)),
  );
}

/** Ended offers are listed again, each after `market.relistHours`. */
export const listingsStep: AdvanceStep = {
  name: 'listings',
  nextAt: nextListingAt,
  run: (world) => relistAll(world, world.now),
  runUntil: relistAll,
};
