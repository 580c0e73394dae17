import { type Random, seededRandom } from '../../src/lib/random.ts';
import { instanceRow as wireInstance } from '../../src/markets/vast/instances/instance.ts';
import { rentReply } from '../../src/markets/vast/instances/rent.ts';
import { offerRow } from '../../src/markets/vast/offers/offers.ts';
import { userReply } from '../../src/markets/vast/users.ts';
import { ALL_FIELDS, type Change, changesOf } from '../../src/simulator/faults/wrong-field.ts';
import { instanceRow } from '../../src/simulator/instances/instance-row.ts';
import { Chance } from './chance.ts';
import type { Invariants } from './invariants.ts';
import type { Users } from './users.ts';
import { causeFault } from './weather.ts';
import type { SimulatedWorld } from './world.ts';

/**
 * Every field that the client reads of a reply. They come from its schemas, so that a field that is read tomorrow is wrong
 * at times as well.
 */
const FIELDS = {
  machines: [...Object.keys(wireInstance.parse({ id: 1 })), ALL_FIELDS],
  search: Object.keys(offerRow.shape),
  rent: Object.keys(rentReply.shape),
  user: Object.keys(userReply.shape),
} as const;

/** Fields whose values are few words: any other word is one that the service has never used. */
const WORDS: Readonly<Record<string, readonly [string, ...string[]]>> = {
  actual_status: ['exited', 'unknown', 'offline', 'stopped', 'running', 'loading', 'created', 'destroyed'],
  intended_status: ['running', 'stopped', 'frozen'],
};

/** Number of first changes of a value that are as likely as all others together. */
const LIKELY = 3;

/** The id in the reply to a rental; in this share of cases that of a machine that a person has just rented. */
const NEW_CONTRACT = 'new_contract';
const FOREIGN_SHARE = 0.6;
/** Number of lists that do not show that machine yet. */
const UNLISTED = 3;

const USER = 'GET /api/v0/users/current';
const SECOND = 1000;
/** No fault is in force any more when the next one comes, so that no two of them agree. */
const LASTS_SECONDS = 32;
const SPACING_SECONDS = { min: 33, mean: 8 };
/** The share of schedules that have any. */
const SHARE = 0.5;
/** Fields that may end a machine or a budget: drawn in this share of all cases, beside all others. */
const DECISIVE_SHARE = 0.65;
const DECISIVE = [
  'dph_total',
  'storage_total_cost',
  'start_date',
  'label',
  'actual_status',
  'id',
  ALL_FIELDS,
] as const;

/** Wrong field, as `/sim/faults` accepts it. */
type WrongFact = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Returns true if replies of a schedule contain wrong facts. */
export function hasWrongFacts(seed: number, isStrict: boolean): boolean {
  return seededRandom(seed * 7457 + (isStrict ? 13 : 17)).next() < SHARE;
}

export interface WrongFactsOptions {
  readonly seed: number;
  readonly isStrict: boolean;
  readonly world: SimulatedWorld;
  readonly invariants: Invariants;
  readonly users: Users;
  /** Returns true if a fault of that kind strikes, and counts it. */
  readonly strikes: (kind: string) => boolean;
  /** Returns true while the storm lasts. */
  readonly lasts: () => boolean;
}

/**
 * Single facts of replies that are wrong: of up to three lists, of one or two reads, or of one list and one read. Never of
 * two lists and a read, nor of two replies with the user of a key, which together are believed.
 */
export class WrongFacts {
  readonly #options: WrongFactsOptions;
  readonly #random: Random;
  readonly #chance: Chance;

  constructor(options: WrongFactsOptions) {
    this.#options = options;
    this.#random = seededRandom(options.seed * 7459 + (options.isStrict ? 19 : 23));
    this.#chance = new Chance(this.#random);
  }

  /** Starts a series of wrong facts, each after a delay. */
  begin(): void {
    const { world, lasts } = this.#options;
    const { min, mean } = SPACING_SECONDS;
    const seconds = min - Math.log(1 - this.#random.next()) * mean;
    world.scheduler.after(seconds * SECOND, () => {
      if (!lasts()) return;
      this.#strike();
      this.begin();
    });
  }

  #strike(): void {
    const drawn = this.#drawn();
    const [first] = drawn;
    if (!first || !this.#options.strikes(`wrong-${first['endpoint']}-${first['field']}`)) return;
    if (
      first['endpoint'] === 'rent' &&
      first['field'] === NEW_CONTRACT &&
      this.#chance.isWithin(FOREIGN_SHARE)
    ) {
      this.#nameForeign();
      return;
    }
    for (const fact of drawn)
      void causeFault(this.#options.world, { name: 'wrong-field', seconds: LASTS_SECONDS, ...fact });
  }

  /**
   * Rents the most expensive offer as a person; no list shows it yet when the response to the next rental names that
   * machine.
   */
  #nameForeign(): void {
    const { world, users } = this.#options;
    const { offers } = world.market.store.current().tables;
    const free = Object.values(offers).filter(({ rentedBy }) => rentedBy === null);
    const [dearest] = free.sort((left, right) => right.gpuPricePerHour - left.gpuPricePerHour);
    if (!dearest) return;
    void users.console.rent(dearest.id, 'mine').then(() => {
      const foreign = world.market.store.current().tables.offers[dearest.id]?.rentedBy;
      if (foreign === null || foreign === undefined) return;
      void causeFault(world, { name: 'lagging-list', seconds: LASTS_SECONDS, count: UNLISTED });
      const fact = { endpoint: 'rent', field: NEW_CONTRACT, change: 'set', value: foreign, count: 1 };
      void causeFault(world, { name: 'wrong-field', seconds: LASTS_SECONDS, ...fact });
    });
  }

  /** Draws the kind of response first, then the field, the change, and the number of responses. */
  #drawn(): readonly WrongFact[] {
    const chance = this.#chance;
    const of = chance.isWithin(0.7) ? 'machines' : chance.oneOf(['search', 'rent', 'rent', 'user']);
    const field = FIELDS[of][chance.below(FIELDS[of].length)] ?? ALL_FIELDS;
    if (of === 'machines')
      return this.#ofMachines(chance.isWithin(DECISIVE_SHARE) ? chance.oneOf(DECISIVE) : field);
    const count = chance.upTo(2);
    // The first two replies that name the user of a key are believed together.
    if (of === 'user') return [{ endpoint: USER, field, count: field === 'id' ? 1 : count }];
    return [{ endpoint: of, field, count }];
  }

  #ofMachines(field: string): readonly WrongFact[] {
    const chance = this.#chance;
    const ids = this.#owned();
    const [first] = ids;
    if (first === undefined) return [];
    const instance = chance.oneOf([first, ...ids]);
    const change = this.#changeOf(instance, field);
    const isOfAll = chance.isWithin(0.25);
    const fact = { field, ...change, ...(!isOfAll && { instance }) };
    const lists = { endpoint: 'list', ...fact, count: chance.upTo(3) };
    const reads = { endpoint: 'get', ...fact, count: chance.upTo(2) };
    return chance.oneOf([
      [lists],
      [lists],
      [reads],
      [
        { ...lists, count: 1 },
        { ...reads, count: 1 },
      ],
    ]);
  }

  #changeOf(instance: number, field: string): Change {
    const chance = this.#chance;
    const words = WORDS[field];
    if (words) return { change: 'set', value: chance.oneOf(words) };
    if (field === ALL_FIELDS) return { change: chance.oneOf(['other-row', 'other-login', 'stale']) };
    const world = this.#options.world.market.store.current();
    const contract = world.tables.contracts[instance];
    const row = contract ? instanceRow(contract, { world, profile: 'public' }) : {};
    const all = changesOf(row[field] ?? null);
    const likely = all.slice(0, LIKELY);
    const [first, ...others] = chance.isWithin(0.5) ? likely : all;
    return first ? chance.oneOf([first, ...others]) : { change: 'remove' };
  }

  #owned(): readonly number[] {
    const { world, invariants } = this.#options;
    const { contracts } = world.market.store.current().tables;
    return Object.keys(contracts)
      .map(Number)
      .filter((id) => !invariants.isForeign(id));
  }
}
