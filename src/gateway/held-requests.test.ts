import { expect, test } from 'vitest';
import { seededRandom } from '../lib/random.ts';
import { type Charge, type Held, HeldRequests, type Measure } from './held-requests.ts';

/** A model of the same queue that searches all requests at each step. */
class SimpleLine {
  #waiting: Held[] = [];
  #served = new Map<string, number>();
  #turn = 0;
  #contest = 0;

  add(held: Held): void {
    const served = this.#served.get(held.caller) ?? 0;
    const isWaiting = this.#waiting.some(({ caller }) => caller === held.caller);
    this.#served.set(held.caller, isWaiting ? served : Math.max(served, this.#turn));
    this.#waiting.push(held);
  }

  remove(id: string): void {
    this.#waiting = this.#waiting.filter((held) => held.id !== id);
    if (this.#waiting.length > 0) return;
    this.#served = new Map();
    this.#turn = 0;
    this.#contest += 1;
  }

  next(isFree: (subset: readonly string[] | undefined) => boolean): Held | undefined {
    const servedTo = ({ caller }: Held): number => this.#served.get(caller) ?? 0;
    const free = this.#waiting.filter(({ subset }) => isFree(subset));
    const least = Math.min(...free.map(servedTo));
    return free.find((held) => servedTo(held) === least);
  }

  serve({ id, caller, work = 0 }: Held): Charge {
    const charge = { caller, contest: this.#contest };
    const served = this.#served.get(caller) ?? 0;
    this.#turn = Math.max(this.#turn, served);
    this.#served.set(caller, served + work);
    this.remove(id);
    return charge;
  }

  correct({ caller, contest }: Charge, difference: number): void {
    const served = this.#served.get(caller);
    if (contest === this.#contest && served !== undefined) this.#served.set(caller, served + difference);
  }

  mostOf(id: string, measure: Measure): Held | undefined {
    const count = (name: string): number =>
      this.#waiting
        .filter(({ caller }) => caller === name)
        .reduce((sum, { bytes }) => sum + (measure === 'bytes' ? bytes : 1), 0);
    const own = this.#waiting.find((held) => held.id === id)?.caller;
    const callers = [...(own === undefined ? [] : [own]), ...this.#served.keys()];
    const most = Math.max(...callers.map(count));
    const named = callers.find((caller) => count(caller) === most);
    return this.#waiting.findLast(({ caller }) => caller === named);
  }

  ids(): readonly string[] {
    return this.#waiting.map(({ id }) => id);
  }
}

const SUBSETS = [undefined, undefined, undefined, ['w1'], ['w1', 'w2'], ['w3']] as const;

function play(seed: number, callers: number): number {
  const random = seededRandom(seed);
  const below = (end: number): number => Math.floor(random.next() * end);
  const [real, model] = [new HeldRequests(), new SimpleLine()];
  const charges: { readonly real: Charge; readonly model: Charge }[] = [];
  let served = 0;
  for (let count = 0; count < 400; count += 1) {
    const roll = random.next();
    const ids = model.ids();
    const some = ids[below(ids.length)];
    if (roll < 0.5) {
      const subset = SUBSETS[below(SUBSETS.length)];
      const held = {
        ...{ id: `r${count}`, work: 1 + below(3), bytes: below(4), since: count },
        caller: `c${below(callers)}`,
      };
      for (const each of [real, model]) each.add({ ...held, session: undefined, subset });
    } else if (roll < 0.8) {
      const free = ['w1', 'w2', 'w3'].filter(() => random.next() < 0.6);
      const isFree = (subset: readonly string[] | undefined): boolean =>
        free.some((name) => subset?.includes(name) ?? true);
      const next = model.next(isFree);
      expect(real.next(isFree)?.id).toBe(next?.id);
      const work = next?.work ?? 0;
      if (next) charges.push({ real: real.serve({ ...next, work }), model: model.serve(next) });
      served += next ? 1 : 0;
    } else if (roll < 0.9) {
      const [charge] = charges.splice(below(charges.length), 1);
      if (!charge) continue;
      const difference = below(5) - 2;
      real.correct(charge.real, difference);
      model.correct(charge.model, difference);
    } else if (some !== undefined) {
      for (const measure of ['requests', 'bytes'] as const)
        expect(real.mostOf(some, measure)?.id).toBe(model.mostOf(some, measure)?.id);
      real.remove(some);
      model.remove(some);
    }
    expect(real.all().map(({ id }) => id)).toEqual(model.ids());
    expect(real.oldest()?.id).toBe(model.ids()[0]);
  }
  return served;
}

test.each([1, 2, 5, 40, 300])('serves and refuses %i callers in the order of a plain search', (callers) => {
  let served = 0;
  for (let seed = 1; seed <= 20; seed += 1) served += play(seed, callers);
  expect(served).toBeGreaterThan(1000);
});

test('empties many callers in the order of their work and of their arrival', () => {
  const held = new HeldRequests();
  for (let count = 0; count < 15_000; count += 1)
    held.add({ id: String(count), work: 1, bytes: 0, since: 0, caller: `c${count % 5_000}`, ...ANY });
  for (let count = 0; count < 15_000; count += 1) {
    const next = held.next(() => true);
    expect(next?.id).toBe(String(count));
    if (next) held.serve(next);
  }
  expect(held.size).toBe(0);
});

const ANY = { session: undefined, subset: undefined };
