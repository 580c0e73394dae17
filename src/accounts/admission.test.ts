import { beforeEach, describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import { createVirtualClock, type VirtualClock } from '../../test/builders/virtual-clock.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { createPacer, type Pacer } from '../market/pacing.ts';
import { listedObjects } from './account-objects.ts';
import {
  type AccountRefusal,
  Admission,
  type StartDecision,
  type Ticket,
  type TicketDecision,
} from './admission.ts';
import type { BudgetRefusal } from './budget-rules.ts';
import type { LabelEcho } from './feed-observer.ts';
import type { BudgetRequest } from './namespace-budgets.ts';
import { OfferReservations, RESERVATION_MS } from './pending-rentals.ts';
import { AdmissionQueue } from './queue/admission-queue.ts';
import { type AccountLimits, sumAccount } from './spend-limits.ts';

const DOLLAR = 1_000_000;

/** State of the account; tests change it before they request. */
interface Setting {
  limits: AccountLimits;
  refusal: AccountRefusal | undefined;
  echo: LabelEcho;
  isLoginRenting: boolean;
  isSuspended?: boolean;
  budgetRefusal?: ((request: BudgetRequest) => BudgetRefusal | undefined) | undefined;
  objects: readonly InstanceSummary[];
}

let clock: VirtualClock;
let setting: Setting;
let reservations: OfferReservations;
let pacer: Pacer;

beforeEach(() => {
  clock = createVirtualClock();
  setting = { limits: {}, refusal: undefined, echo: 'echoed', isLoginRenting: false, objects: [] };
  reservations = new OfferReservations(clock);
  pacer = createPacer({ clock });
});

function office(paced = false, maxDollarsPerHour = 1000 * DOLLAR, maxRentalsPerHour = 100): Admission {
  return new Admission({
    clock,
    budgets: { refusal: (request) => setting.budgetRefusal?.(request) },
    reservations,
    queue: new AdmissionQueue({ clock, pacer, paced, search: async () => [], isReserved: () => false }),
    settings: { maxRentalsPerHour, maxLiveMachines: 100, maxDollarsPerHour },
    limits: () => setting.limits,
    refusal: () => setting.refusal,
    isSuspended: () => setting.isSuspended === true,
    labelEcho: () => setting.echo,
    isLoginRenting: () => setting.isLoginRenting,
    objects: () => listedObjects(setting.objects),
    sums: (objects, { instead, pending }) =>
      sumAccount({
        objects: objects.sums(clock.now(), instead),
        pending,
        deleted: undefined,
        credit: undefined,
        now: clock.now(),
        month: '2023-11',
      }),
  });
}

const ask = (objectUid: string, offerId: string, wake = () => {}) => ({
  ...{ objectUid, offerId, pricePerHour: DOLLAR },
  ...{ namespace: 'team', generation: 1, wake },
});

function ticketOf(decision: TicketDecision): Ticket {
  if (decision.type !== 'ticket') throw new Error(`refused: ${decision.reason}`);
  return decision;
}

const recorded = (uid: string, changes: Partial<InstanceSummary> = {}): InstanceSummary =>
  instanceSummary({ uid, key: `team/${uid}`, hasOpenIntent: true, newestRentalAt: clock.now(), ...changes });

test('a ticket is used once', () => {
  const ticket = ticketOf(office().request(ask('a', '1')));
  expect([ticket.use(), ticket.use()]).toEqual([true, false]);
});

test('a ticket is worth nothing after five seconds', async () => {
  const ticket = ticketOf(office().request(ask('a', '1')));
  await clock.advance(5_000);
  expect(ticket.use()).toBe(false);
});

test('the reason that the account as a whole gives comes first', () => {
  setting.refusal = { reason: 'AccountNotReady', message: 'no key' };
  setting.limits = { maxInstances: 0 };
  expect(office().request(ask('a', '1'))).toMatchObject({ reason: 'AccountNotReady', message: 'no key' });
});

describe('scenario 10: two objects that chose the same offer', () => {
  test('the second is refused at once, and sees the offer as reserved', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('b', '1'))).toMatchObject({ type: 'refused', reason: 'OfferReserved' });
    expect([tickets.reservedFor('b').has('1'), tickets.reservedFor('b').has('2')]).toEqual([true, false]);
    expect(tickets.reservedFor('a').has('1')).toBe(false);
  });

  test('it may have the offer when the first one did not rent it', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1'))).settle({ rented: false });
    expect(tickets.request(ask('b', '1')).type).toBe('ticket');
  });

  test('it may not while a shared search can still show the rented offer', async () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1'))).settle({ rented: true });
    expect(tickets.request(ask('b', '1'))).toMatchObject({ reason: 'OfferReserved' });
    await clock.advance(RESERVATION_MS);
    expect(tickets.request(ask('b', '1')).type).toBe('ticket');
  });

  test('both get an offer whose stock is two machines', () => {
    const tickets = office();
    reservations.shown([{ id: '1', stock: 2 }], clock.monotonic());
    ticketOf(tickets.request(ask('a', '1')));
    ticketOf(tickets.request(ask('b', '1')));
    expect(tickets.reservedFor('c').has('1')).toBe(true);
  });

  test('a rental is counted once: by its reservation until a search shows the stock without it', async () => {
    const tickets = office();
    reservations.shown([{ id: '1', stock: 1 }], clock.monotonic());
    ticketOf(tickets.request(ask('a', '1'))).settle({ rented: true });
    expect(tickets.request(ask('b', '1'))).toMatchObject({ reason: 'OfferReserved' });
    await clock.advance(1_000);
    reservations.shown([{ id: '1', stock: 1 }], clock.monotonic());
    ticketOf(tickets.request(ask('b', '1')));
  });

  test('accounts of two logins of one marketplace see each other’s reservations', () => {
    ticketOf(office().request(ask('a', '1')));
    expect(office().request(ask('b', '1'))).toMatchObject({ reason: 'OfferReserved' });
  });
});

describe('limits under concurrency', () => {
  test('ten requests at once cannot all pass a limit with room for three', () => {
    setting.limits = { maxInstances: 3 };
    const tickets = office();
    const decisions = Array.from({ length: 10 }, (_, index) =>
      tickets.request(ask(`o${index}`, String(index))),
    );
    expect(decisions.filter(({ type }) => type === 'ticket')).toHaveLength(3);
  });

  test('a rental that was refused leaves its room to the next', () => {
    setting.limits = { maxInstances: 1 };
    const tickets = office();
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('b', '2')).type).toBe('refused');
    ticket.settle({ rented: false });
    expect(tickets.request(ask('b', '2')).type).toBe('ticket');
  });

  test('who was refused an offer may ask for another at once, though its record still shows the first', () => {
    setting.limits = { maxInstances: 1 };
    const tickets = office();
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    ticket.use();
    setting.objects = [recorded('a')];
    ticket.settle({ rented: false });
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'AtLimit' });
    expect(tickets.request(ask('a', '2')).type).toBe('ticket');
  });

  test('a ticket that is never used leaves its room after five seconds', async () => {
    setting.limits = { maxInstances: 1 };
    const tickets = office();
    tickets.request(ask('a', '1'));
    await clock.advance(5_000);
    expect(tickets.request(ask('b', '2')).type).toBe('ticket');
  });

  test('a rental counts once when its record arrives, and its price stays', () => {
    setting.limits = { maxInstances: 2 };
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1'))).use();
    setting.objects = [recorded('a')];
    expect(tickets.sums()).toMatchObject({ liveMachines: 1, dollarsPerHour: DOLLAR });
    setting.objects = [recorded('a', { hasOpenIntent: false, instanceId: '5', pricePerHour: 2 * DOLLAR })];
    expect(tickets.sums()).toMatchObject({ liveMachines: 1, dollarsPerHour: 2 * DOLLAR });
  });

  test('a rental counts towards the hour from its ticket on, also while its record shows no more than the intent', () => {
    const tickets = office(false, 1000 * DOLLAR, 1);
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    const second = () => tickets.request(ask('b', '2'));
    expect(second()).toMatchObject({ reason: 'AtLimit' });
    ticket.use();
    setting.objects = [recorded('a')];
    expect(second()).toMatchObject({ reason: 'AtLimit' });
    ticket.settle({ rented: true });
    setting.objects = [recorded('a', { hasOpenIntent: false, instanceId: '5', rentals: [clock.now()] })];
    expect(second()).toMatchObject({ reason: 'AtLimit' });
    expect(tickets.sums().rentalsLastHour).toBe(1);
  });

  test('a rental that an object made before does not hide the one that it makes now', () => {
    const earlier = { hasOpenIntent: false, pricePerHour: DOLLAR, newestRentalAt: clock.now() - 60_000 };
    setting.objects = [recorded('a', earlier)];
    setting.limits = { maxInstances: 1 };
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.sums()).toMatchObject({ liveMachines: 1, dollarsPerHour: DOLLAR });
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'AtLimit' });
  });
});

test('scenario 122: a suspended account refuses rentals and starts, whatever else would refuse them (P5)', () => {
  setting.isSuspended = true;
  setting.limits = { maxInstances: 0 };
  setting.refusal = { reason: 'AccountNotReady', message: 'no' };
  const tickets = office();
  expect(tickets.request(ask('a', '1'))).toMatchObject({ type: 'refused', reason: 'Suspended' });
  const start = { objectUid: 'a', namespace: 'team', pricePerHour: DOLLAR, timeoutMs: 1000 };
  expect(tickets.requestStart(start)).toMatchObject({ type: 'refused', reason: 'Suspended' });
});

describe('rentals whose outcome is unknown', () => {
  /** Rents without an answer; the record of its object shows the intent. */
  function rentWithoutAnswer(tickets: Admission, uid: string): void {
    const ticket = ticketOf(tickets.request(ask(uid, String(setting.objects.length))));
    ticket.use();
    setting.objects = [...setting.objects, recorded(uid, { maxPrice: 3 * DOLLAR })];
    ticket.settle({ rented: 'unknown' });
  }

  beforeEach(() => {
    setting.limits = { maxSpendPerHour: 2 * DOLLAR };
  });

  test('keep their money as long as they may still come to a machine', async () => {
    const tickets = office();
    rentWithoutAnswer(tickets, 'a');
    rentWithoutAnswer(tickets, 'b');
    await clock.advance(210_000);
    expect(tickets.request(ask('c', '9'))).toMatchObject({ reason: 'AtLimit' });
    expect(tickets.sums()).toMatchObject({ dollarsPerHour: 2 * DOLLAR, liveMachines: 2 });
  });

  test('give it back when they are settled', () => {
    const tickets = office();
    rentWithoutAnswer(tickets, 'a');
    rentWithoutAnswer(tickets, 'b');
    setting.objects = setting.objects.map((object) => ({ ...object, hasOpenIntent: false }));
    expect(tickets.request(ask('c', '9')).type).toBe('ticket');
  });

  test('count at the most that they may cost in a process that has not sent them', () => {
    rentWithoutAnswer(office(), 'a');
    const restarted = office();
    expect(restarted.sums().dollarsPerHour).toBe(3 * DOLLAR);
    expect(restarted.request(ask('b', '9'))).toMatchObject({ reason: 'AtLimit' });
    setting.limits = { maxSpendPerHour: 2 * DOLLAR, maxPricePerHour: 1.5 * DOLLAR };
    expect(restarted.sums().dollarsPerHour).toBe(1.5 * DOLLAR);
  });

  test('cost nothing from when their object asks for another', () => {
    setting.limits = { maxSpendPerHour: DOLLAR };
    setting.objects = [recorded('a', { maxPrice: DOLLAR })];
    const tickets = office(true);
    expect(tickets.sums().dollarsPerHour).toBe(DOLLAR);
    pacer.reserve('rent', 5_000);
    expect(tickets.request(ask('a', '2'))).toMatchObject({ reason: 'Queued' });
    expect(tickets.sums()).toMatchObject({ dollarsPerHour: 0, liveMachines: 1 });
  });

  test('of an object with a machine count at no less than that costs', () => {
    setting.objects = [recorded('a', { instanceId: '5', pricePerHour: 4 * DOLLAR, maxPrice: DOLLAR })];
    expect(office().sums().dollarsPerHour).toBe(4 * DOLLAR);
  });
});

describe('a price that is unknown (S4, L3)', () => {
  const unknown = (objectUid: string) => ({ ...ask(objectUid, '1'), pricePerHour: undefined });
  const held = { hasOpenIntent: false, instanceId: '5', hasUnknownPrice: true };

  test.each<[string, AccountLimits]>([
    ['maxSpendPerHour', { maxSpendPerHour: 1 }],
    ['maxPricePerHour', { maxPricePerHour: 5 * DOLLAR }],
  ])('is refused where %s does not leave room for the highest allowed one', (_, limits) => {
    setting.limits = limits;
    setting.objects = [recorded('a', { hasOpenIntent: false, maxPrice: DOLLAR })];
    expect(office().request(unknown('a'))).toMatchObject({ reason: 'AtLimit' });
  });

  test('is rented at the highest allowed one where the account permits it', () => {
    setting.limits = { maxPricePerHour: 2 * DOLLAR, maxSpendPerHour: 3 * DOLLAR, allowUnknownPrice: true };
    setting.objects = [recorded('a', { hasOpenIntent: false })];
    const tickets = office();
    ticketOf(tickets.request(unknown('a'))).use();
    expect(tickets.sums().dollarsPerHour).toBe(2 * DOLLAR);
    expect(tickets.request({ ...unknown('b'), offerId: '2' })).toMatchObject({
      reason: 'AtLimit',
    });
  });

  test('counts in the sums at the highest allowed one, also after a restart', () => {
    setting.objects = [recorded('a', { ...held, maxPrice: undefined })];
    setting.limits = { maxSpendPerHour: 3 * DOLLAR };
    expect(office().sums().dollarsPerHour).toBe(3 * DOLLAR);
    setting.objects = [recorded('a', { ...held, maxPrice: DOLLAR })];
    expect(office().sums().dollarsPerHour).toBe(DOLLAR);
  });

  test('counts at the start of a machine', () => {
    setting.limits = { maxSpendPerHour: DOLLAR };
    setting.objects = [recorded('a', { ...held, hasUnknownPrice: false, maxPrice: 2 * DOLLAR })];
    const start = { objectUid: 'a', namespace: 'team', pricePerHour: undefined, timeoutMs: 1000 };
    expect(office().requestStart(start)).toMatchObject({ reason: 'AtLimit' });
    setting.limits = { maxSpendPerHour: 2 * DOLLAR };
    const tickets = office();
    expect(tickets.requestStart(start).type).toBe('permitted');
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'AtLimit' });
  });
});

describe('where labels are not known to come back', () => {
  beforeEach(() => {
    setting.echo = 'unknown';
  });

  test('an object waits for one whose intent is unreadable', () => {
    setting.objects = [instanceSummary({ uid: 'a', hasDoubtfulIntent: true })];
    expect(office().request(ask('b', '2'))).toMatchObject({ reason: 'Queued' });
  });

  test('a second object waits for the first', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'Queued' });
  });

  test('an object waits for one of another account of its login, and says of its own that it rents', () => {
    const tickets = office();
    setting.isLoginRenting = true;
    expect(tickets.request(ask('a', '1'))).toMatchObject({ reason: 'Queued' });
    expect(tickets.isRenting()).toBe(false);
    setting.isLoginRenting = false;
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.isRenting()).toBe(true);
    ticket.settle({ rented: true });
    expect(tickets.isRenting()).toBe(false);
    setting.objects = [recorded('b')];
    expect(tickets.isRenting()).toBe(true);
  });

  test('the same object may ask again', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('a', '2')).type).toBe('ticket');
  });

  test('the turn passes on when the rental is settled', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1'))).settle({ rented: true });
    expect(tickets.request(ask('b', '2')).type).toBe('ticket');
  });

  test('an outcome that is unknown keeps the turn, through the record of its intent', async () => {
    const tickets = office();
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    ticket.use();
    ticket.settle({ rented: 'unknown' });
    setting.objects = [recorded('a')];
    await clock.advance(600_000);
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'Queued' });
  });
});

describe('pacing', () => {
  test('one place is kept for a ticket, and the next asks later', async () => {
    const tickets = office(true);
    const ticket = ticketOf(tickets.request(ask('a', '1')));
    const refused = tickets.request(ask('b', '2'));
    expect(refused).toMatchObject({ type: 'refused', reason: 'Queued' });
    ticket.settle({ rented: false });
    expect(tickets.request(ask('b', '2')).type).toBe('ticket');
  });

  test('a refusal by pacing reserves nothing', () => {
    const tickets = office(true);
    ticketOf(tickets.request(ask('a', '1')));
    tickets.request(ask('b', '2'));
    expect(['1', '2'].map((offer) => tickets.reservedFor('c').has(offer))).toEqual([true, false]);
    expect(tickets.sums().liveMachines).toBe(1);
  });
});

describe('a burst of rentals under the marketplace’s pace', () => {
  test('is served in the order in which it came, at more than 97 % of the allowed rate', async () => {
    const tickets = office(true);
    const rentedAt: number[] = [];
    const order: string[] = [];
    const tryOnce = (uid: string, offerId: string): void => {
      const decision = tickets.request(ask(uid, offerId, () => tryOnce(uid, offerId)));
      if (decision.type === 'refused') return;
      // The intent is written, then the call takes its place.
      clock.setTimer(8, () => {
        decision.use();
        void pacer.acquire('rent', { slot: decision.slot }).then((permit) => {
          rentedAt.push(clock.monotonic());
          order.push(uid);
          permit.release();
          decision.settle({ rented: true });
        });
      });
    };
    const uids = Array.from({ length: 20 }, (_, index) => `o${index}`);
    for (const [index, uid] of uids.entries()) tryOnce(uid, String(index));
    await clock.advance(200_000);
    expect(order).toEqual(uids);
    const spanMs = (rentedAt.at(-1) ?? 0) - (rentedAt[0] ?? 0);
    const allowed = spanMs / 4_500;
    expect((uids.length - 1) / allowed).toBeGreaterThan(0.97);
  });

  test('calls the object that waited longest when a slot is free (F1)', () => {
    const tickets = office(true);
    const called: string[] = [];
    const first = ticketOf(tickets.request(ask('a', '1')));
    tickets.request(ask('b', '2', () => called.push('b')));
    tickets.request(ask('c', '3', () => called.push('c')));
    first.settle({ rented: false });
    expect(called).toEqual(['b']);
    expect(tickets.request(ask('c', '3'))).toMatchObject({ reason: 'Queued' });
    expect(tickets.request(ask('b', '2')).type).toBe('ticket');
  });

  test('calls the next object when the one that was called does not come', async () => {
    const tickets = office(true);
    const called: string[] = [];
    ticketOf(tickets.request(ask('a', '1'))).settle({ rented: false });
    ticketOf(tickets.request(ask('b', '2')));
    tickets.request(ask('gone', '3', () => called.push('gone')));
    tickets.request(ask('c', '4', () => called.push('c')));
    await clock.advance(7_000);
    expect(called).toEqual(['gone', 'c']);
    expect(tickets.request(ask('c', '4')).type).toBe('ticket');
  });
});

const start = (objectUid: string) => ({
  ...{ objectUid, namespace: 'team' },
  ...{ pricePerHour: DOLLAR, timeoutMs: 120_000 },
});

function permitted(decision: StartDecision): Extract<StartDecision, { type: 'permitted' }> {
  if (decision.type !== 'permitted') throw new Error(`refused: ${decision.reason}`);
  return decision;
}

/** Returns the stopped machines of that number of objects; each costs a cent per hour. */
const sleepers = (count: number): readonly InstanceSummary[] =>
  Array.from({ length: count }, (_, index) =>
    instanceSummary({ uid: `s${index}`, instanceId: String(index + 1), pricePerHour: DOLLAR / 100 }),
  );

test('starting a stopped machine asks for money, not for a turn or a place', () => {
  setting.echo = 'unknown';
  const tickets = office(true);
  ticketOf(tickets.request(ask('a', '1')));
  expect(tickets.requestStart(start('b'))).toMatchObject({ type: 'permitted' });
  setting.limits = { maxSpendPerHour: DOLLAR };
  expect(tickets.requestStart(start('b'))).toMatchObject({
    reason: 'AtLimit',
  });
});

describe('a start', () => {
  test('is refused for what the account as a whole says', () => {
    setting.refusal = { reason: 'AccountNotReady', message: 'not now' };
    expect(office().requestStart(start('a'))).toMatchObject({
      reason: 'AccountNotReady',
      message: 'not now',
      retryAfterMs: 5_000,
    });
  });

  test.each([
    ['limits.maxSpendPerHour', { maxSpendPerHour: 2.1 * DOLLAR }, 1000 * DOLLAR],
    ['--max-dollars-per-hour', {}, 2.1 * DOLLAR],
  ])('is one of ten at once, of which no more than %s allows are permitted', (_, limits, ceiling) => {
    setting.limits = limits;
    setting.objects = sleepers(10);
    const tickets = office(false, ceiling);
    const decisions = setting.objects.map(({ uid }) => tickets.requestStart(start(uid)));
    expect(decisions.map(({ type }) => type).slice(0, 3)).toEqual(['permitted', 'permitted', 'refused']);
    expect(decisions.filter(({ type }) => type === 'permitted')).toHaveLength(2);
    expect(tickets.sums().dollarsPerHour).toBe(2.08 * DOLLAR);
  });

  test('has to leave room for the disks of the others', () => {
    setting.limits = { maxSpendPerHour: 1.08 * DOLLAR };
    setting.objects = sleepers(10);
    expect(office().requestStart(start('s0')).type).toBe('refused');
    setting.limits = { maxSpendPerHour: 1.09 * DOLLAR };
    expect(office().requestStart(start('s0')).type).toBe('permitted');
  });

  test('leaves its room to rentals no sooner than to starts', () => {
    setting.limits = { maxSpendPerHour: 1.5 * DOLLAR };
    setting.objects = sleepers(1);
    const tickets = office();
    const { settle } = permitted(tickets.requestStart(start('s0')));
    expect(tickets.request(ask('a', '1'))).toMatchObject({ reason: 'AtLimit' });
    settle({ started: false });
    setting.limits = { maxSpendPerHour: 1.01 * DOLLAR };
    expect(tickets.request(ask('a', '1')).type).toBe('ticket');
  });

  test('of a machine that is recorded at its running price asks for no more than that', () => {
    setting.limits = { maxSpendPerHour: DOLLAR };
    setting.objects = [instanceSummary({ uid: 'a', instanceId: '1', pricePerHour: DOLLAR })];
    expect(office().requestStart(start('a')).type).toBe('permitted');
  });

  test('has to leave room for the rental that replaces the machine of another object (P1)', () => {
    setting.limits = { maxSpendPerHour: 2.5 * DOLLAR };
    const old = instanceSummary({ uid: 'a', instanceId: '9', pricePerHour: DOLLAR });
    setting.objects = [...sleepers(1), old];
    const tickets = office();
    expect(tickets.requestStart(start('s0')).type).toBe('permitted');
    const other = office();
    other.requestReplacement({ objectUid: 'a', namespace: 'team', offerId: '1', pricePerHour: 2 * DOLLAR });
    expect(other.requestStart(start('s0'))).toMatchObject({ reason: 'AtLimit' });
  });

  test('that is asked for again does not stand in its own way', () => {
    setting.limits = { maxSpendPerHour: DOLLAR };
    setting.objects = sleepers(1);
    const tickets = office();
    permitted(tickets.requestStart(start('s0'))).settle({ started: 'unknown' });
    permitted(tickets.requestStart(start('s0'))).settle({ started: true });
    expect(tickets.sums().dollarsPerHour).toBe(DOLLAR);
  });

  describe('that is on record', () => {
    const starting = (uid: string) =>
      sleepers(1).map((asleep) => ({ ...asleep, uid, hasOpenStart: true, maxPrice: 2 * DOLLAR }));

    beforeEach(() => {
      setting.limits = { maxSpendPerHour: 2.5 * DOLLAR };
      setting.objects = starting('a');
    });

    test('counts at the price of its offer when an earlier process requested it', () => {
      setting.objects = starting('a').map((object) => ({ ...object, offerPrice: 1.6 * DOLLAR }));
      const tickets = office();
      expect(tickets.sums()).toMatchObject({ dollarsPerHour: 1.6 * DOLLAR, liveMachines: 1 });
      expect(tickets.request(ask('b', '1'))).toMatchObject({ reason: 'AtLimit' });
      expect(tickets.requestStart(start('c'))).toMatchObject({ reason: 'AtLimit' });
    });

    test('counts at its maximum price when the offer named none', () => {
      expect(office().sums()).toMatchObject({ dollarsPerHour: 2 * DOLLAR, liveMachines: 1 });
    });

    test('does not stand in its own way, and counts at its price when this process requests it again', () => {
      const tickets = office();
      permitted(tickets.requestStart(start('a')));
      expect(tickets.sums().dollarsPerHour).toBe(DOLLAR);
      expect(tickets.request(ask('b', '1')).type).toBe('ticket');
    });

    test.each([
      [false, 0],
      [true, 1_000],
    ])('counts no more when this process knows its end (started: %s)', async (started, afterMs) => {
      const tickets = office();
      permitted(tickets.requestStart({ ...start('a'), timeoutMs: afterMs })).settle({ started });
      await clock.advance(afterMs);
      for (let read = 0; read < 2; read++) expect(tickets.sums().dollarsPerHour).toBe(0.01 * DOLLAR);
      setting.objects = sleepers(1).map((asleep) => ({ ...asleep, uid: 'a' }));
      expect(tickets.sums().dollarsPerHour).toBe(0.01 * DOLLAR);
      setting.objects = starting('a');
      expect(tickets.sums().dollarsPerHour).toBe(2 * DOLLAR);
    });
  });

  test('ends the replacement of its machine, which counts again', () => {
    setting.objects = sleepers(1);
    setting.limits = { maxSpendPerHour: 1.5 * DOLLAR };
    const tickets = office();
    tickets.requestReplacement({ objectUid: 's0', namespace: 'team', offerId: '1', pricePerHour: 10_000 });
    permitted(tickets.requestStart(start('s0')));
    setting.objects = sleepers(1).map((asleep) => ({ ...asleep, pricePerHour: DOLLAR }));
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'AtLimit' });
  });
});

describe('what a refusal says', () => {
  test('is that another object is about to rent the offer', () => {
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('b', '1'))).toMatchObject({
      reason: 'OfferReserved',
      message: 'Another object is about to rent this offer.',
    });
  });

  test('is that rentals are paced', async () => {
    const tickets = office(true);
    ticketOf(tickets.request(ask('a', '1')));
    expect(tickets.request(ask('b', '2'))).toMatchObject({
      reason: 'Queued',
      message: 'Other rentals of the login come first.',
    });
  });
});

describe('where labels do not come back', () => {
  beforeEach(() => {
    setting.echo = 'notEchoed';
  });

  test('an object is not kept waiting by its own open intent', () => {
    setting.objects = [recorded('a')];
    expect(office().request(ask('a', '1')).type).toBe('ticket');
  });

  test('an object is kept waiting by the open intent of another alone', () => {
    setting.objects = [recorded('b', { hasOpenIntent: false })];
    expect(office().request(ask('a', '1')).type).toBe('ticket');
    setting.objects = [recorded('b')];
    expect(office().request(ask('a', '2')).type).toBe('refused');
  });

  test('an outcome that is unknown keeps its room and its turn', () => {
    setting.limits = { maxInstances: 1 };
    const tickets = office();
    const first = ticketOf(tickets.request(ask('a', '1')));
    first.use();
    first.settle({ rented: 'unknown' });
    expect(tickets.sums().liveMachines).toBe(1);
    expect(tickets.request(ask('b', '2'))).toMatchObject({ reason: 'AtLimit' });
  });
});

test('each ticket has a number of its own', () => {
  const tickets = office();
  const ids = ['1', '2', '3'].map((offer) => ticketOf(tickets.request(ask(`o${offer}`, offer))).id);
  expect(ids).toEqual([1, 2, 3]);
});

describe('a rental in place of the machine of its object (P1)', () => {
  const replacement = (objectUid: string, offerId: string) => ({
    ...{ objectUid, namespace: 'team' },
    ...{ offerId, pricePerHour: DOLLAR },
  });
  const holder = (uid: string) =>
    recorded(uid, { hasOpenIntent: false, instanceId: `machine-${uid}`, pricePerHour: DOLLAR });

  test('fits when the account has room for as many machines as it has', () => {
    setting.objects = [holder('a'), holder('b')];
    setting.limits = { maxInstances: 2, maxSpendPerHour: 2 * DOLLAR };
    expect(office().requestReplacement(replacement('a', '1'))).toEqual({ type: 'fits' });
    expect(office().request(ask('c', '1'))).toMatchObject({ reason: 'AtLimit' });
  });

  test('is refused when the limit leaves no room even without that machine', () => {
    setting.objects = [holder('a')];
    setting.limits = { maxInstances: 0 };
    expect(office().requestReplacement(replacement('a', '1'))).toMatchObject({
      type: 'refused',
      reason: 'AtLimit',
    });
  });

  test('is refused with the cause of the account when that may not rent', () => {
    setting.refusal = { reason: 'AccountNotReady', message: 'no key' };
    expect(office().requestReplacement(replacement('a', '1'))).toMatchObject({ reason: 'AccountNotReady' });
  });

  test('is refused when the offer names no price and the account limits prices', () => {
    setting.limits = { maxPricePerHour: DOLLAR };
    expect(office().requestReplacement({ ...replacement('a', '1'), pricePerHour: undefined })).toMatchObject({
      reason: 'AtLimit',
    });
  });

  test('reserves the offer for its object', () => {
    const account = office();
    account.requestReplacement(replacement('a', '1'));
    expect(account.reservedFor('b').has('1')).toBe(true);
    expect(account.requestReplacement(replacement('b', '1'))).toMatchObject({ reason: 'OfferReserved' });
    expect(account.requestReplacement(replacement('a', '1'))).toEqual({ type: 'fits' });
  });

  test('counts against the rentals of the hour before it is requested', () => {
    setting.objects = [holder('a'), holder('b')];
    const account = office(false, 1000 * DOLLAR, 1);
    expect(account.requestReplacement(replacement('a', '1')).type).toBe('fits');
    expect(account.requestReplacement(replacement('b', '2'))).toMatchObject({ reason: 'AtLimit' });
    expect(account.request(ask('c', '3'))).toMatchObject({ reason: 'AtLimit' });
    expect(account.request(ask('a', '1')).type).toBe('ticket');
  });

  test('does not count twice beside the machine that ends', () => {
    setting.objects = [holder('a'), holder('b')];
    setting.limits = { maxInstances: 2 };
    const account = office();
    const both = ['a', 'b'].map((uid) => account.requestReplacement(replacement(uid, uid)).type);
    expect(both).toEqual(['fits', 'fits']);
  });

  test('counts no more after three minutes, or when its object has another machine', async () => {
    setting.objects = [holder('a'), holder('b')];
    const account = office(false, 1000 * DOLLAR, 1);
    account.requestReplacement(replacement('a', '1'));
    await clock.advance(180_000);
    expect(account.requestReplacement(replacement('b', '2')).type).toBe('fits');
    setting.objects = [holder('a'), { ...holder('b'), instanceId: 'next' }];
    expect(account.requestReplacement(replacement('a', '1')).type).toBe('fits');
  });

  test('is not in the sums that the account reports', () => {
    setting.objects = [holder('a')];
    const account = office();
    account.requestReplacement(replacement('a', '1'));
    expect(account.sums()).toMatchObject({ liveMachines: 1, rentalsUnderWay: 0 });
  });
});

describe('a budget of the namespace', () => {
  const refused = { type: 'refused', reason: 'BudgetReached', message: 'no room', retryAfterMs: 7_000 };
  const rental = { objectUid: 'a', namespace: 'team', offerId: '1', pricePerHour: DOLLAR };
  const asked: BudgetRequest[] = [];
  beforeEach(() => {
    asked.length = 0;
    setting.budgetRefusal = (request) => {
      asked.push(request);
      return { message: 'no room', retryAfterMs: 7_000 };
    };
  });

  test('refuses a rental, a start and a replacement', () => {
    const tickets = office();
    expect(tickets.request(ask('a', '1'))).toEqual(refused);
    expect(tickets.requestStart(start('a'))).toEqual(refused);
    expect(tickets.requestReplacement(rental)).toEqual(refused);
    const { namespace, pricePerHour } = { namespace: 'team', pricePerHour: DOLLAR };
    expect(asked).toMatchObject(Array.from({ length: 3 }, () => ({ namespace, pricePerHour })));
    expect(asked.every(({ asker }) => asker === tickets)).toBe(true);
  });

  test('is asked only when the account has room', () => {
    setting.limits = { maxPricePerHour: DOLLAR / 2 };
    expect(office().request(ask('a', '1'))).toMatchObject({ reason: 'AtLimit' });
    expect(asked).toEqual([]);
  });

  test('gets an unknown price as the maximum of the object', () => {
    setting.objects = [recorded('a', { hasOpenIntent: false, maxPrice: 3 * DOLLAR })];
    office().request({ ...ask('a', '1'), pricePerHour: undefined });
    expect(asked).toMatchObject([{ pricePerHour: 3 * DOLLAR }]);
  });

  test('counts the present machine neither of a start nor of a replacement', () => {
    setting.objects = [
      instanceSummary({ uid: 'a', key: 'team/a', instanceId: '7', pricePerHour: DOLLAR / 4 }),
    ];
    const tickets = office();
    tickets.requestStart(start('a'));
    tickets.requestReplacement(rental);
    expect(asked.map(({ beside }) => beside.instead)).toMatchObject([
      [{ uid: 'a', instanceId: '7', pricePerHour: 0 }],
      [{ uid: 'a', instanceId: undefined, pricePerHour: 0 }],
    ]);
  });

  test('gets what the account has allowed and no record shows', () => {
    setting.budgetRefusal = undefined;
    const tickets = office();
    ticketOf(tickets.request(ask('a', '1')));
    tickets.requestReplacement({ ...rental, objectUid: 'b', offerId: '2' });
    expect(tickets.besideRecords().pending).toMatchObject([
      { namespace: 'team', pricePerHour: DOLLAR },
      { namespace: 'team', pricePerHour: DOLLAR },
    ]);
  });
});
