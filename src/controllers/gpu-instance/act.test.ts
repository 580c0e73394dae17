import { describe, expect, test } from 'vitest';
import {
  at,
  given,
  held,
  identity,
  intent,
  LOGIN,
  NOW,
  offer,
  UID,
} from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { AccountSession } from '../../accounts/account-session.ts';
import type { Ticket } from '../../accounts/tickets/tickets.ts';
import { silentLogger } from '../../lib/logger.ts';
import { Secret } from '../../lib/secret.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../marketplace/errors.ts';
import type { InstancesResource } from '../../marketplace/instances.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { type ActPorts, act } from './act.ts';
import { ObjectMemory } from './memory.ts';
import { silentInstanceMetrics } from './metrics.ts';
import { purchaseReceipt, receiptOf } from './receipt.ts';
import { SteadyClock } from './steady-clock.ts';
import type { Action, Purchase } from './types.ts';

const PURCHASE: Purchase = {
  attempt: 1,
  issuedAt: NOW,
  decidedAt: NOW,
  offer: offer(),
  offerIndex: 0,
  pricePerHour: 500_000,
  request: { image: 'i' },
  specHash: 'v1:0',
  knownIds: undefined,
};

type Calls = Partial<Record<keyof InstancesResource, (...parameters: never[]) => unknown>>;

function situation(
  options: {
    readonly calls?: Calls;
    readonly ticketUsable?: boolean;
    readonly laterMs?: number;
    readonly startRefused?: boolean;
    /** How long the call may take, by its intent. */
    readonly callMs?: number;
  } = {},
) {
  const sent: string[] = [];
  const done: string[] = [];
  const clock = createVirtualClock({ startMs: NOW + (options.laterMs ?? 0) });
  const instances = new Proxy(
    {},
    {
      get:
        (_target, name: string) =>
        (...parameters: never[]) => {
          sent.push(`${name} ${String(parameters[0])}`);
          const call = options.calls?.[name as keyof InstancesResource];
          return Promise.resolve(call ? call(...parameters) : { answeredAt: at(5) });
        },
    },
  );
  const session = {
    ref: { namespace: 'team', name: 'default' },
    uid: 'account',
    identity,
    login: LOGIN,
    client: { instances },
    feed: { lookNow() {} },
    tickets: {
      requestStart: () =>
        options.startRefused
          ? { type: 'refused', reason: 'AccountLimitReached', message: 'no room', retryAfterMs: 10_000 }
          : { type: 'permitted' },
    },
    foldDeparted: () => Promise.resolve(done.push('folded')),
    recordRetained: () => Promise.resolve(done.push('retained')),
  };
  const memory = new ObjectMemory();
  const ports: ActPorts = {
    clock,
    steady: new SteadyClock(clock),
    log: silentLogger,
    cluster: {
      patch: (_resource: unknown, _ref: unknown, body: { metadata: { finalizers: string[] } }) => {
        done.push(`finalizers [${body.metadata.finalizers.join()}]`);
        return Promise.resolve(body);
      },
    } as unknown as KubeClient,
    session: session as unknown as AccountSession,
    memory,
    metrics: silentInstanceMetrics,
    showEvent: (note) => done.push(note.reason),
    wrote: () => {},
    noteWithoutStart: () => {},
  };
  const settled: unknown[] = [];
  const ticket: Ticket = {
    type: 'ticket',
    id: 1,
    objectUid: UID,
    offerId: 100,
    slot: { endpointClass: 'rent', expiresAt: 0, release() {} },
    use: () => options.ticketUsable ?? true,
    settle: (result) => settled.push(result),
  };
  const receipt = purchaseReceipt(
    given().object,
    intent({ issuedAt: NOW, deadline: NOW + (options.callMs ?? 30_000) }),
    ticket,
  );
  return { ports, sent, done, memory, settled, receipt };
}

const fails =
  (
    kind: MarketplaceErrorKind,
    outcome: 'refused' | 'unknown',
    more: { instanceId?: number; retryAfterMs?: number } = {},
  ) =>
  () => {
    throw new MarketplaceError('told to fail', { kind, outcome, ...more });
  };
const rent: Action = { type: 'rent', purchase: PURCHASE };

describe('a rent', () => {
  test('is sent once, with what is left until its deadline', async () => {
    const options: unknown[] = [];
    const { ports, sent, settled, memory, receipt } = situation({
      laterMs: 2_000,
      calls: {
        rent: ((_offer: number, _request: unknown, given: unknown) => {
          options.push(given);
          return { instanceId: 7, instanceApiKey: new Secret('k'), answeredAt: at(3) };
        }) as never,
      },
    });
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({ type: 'rented', rented: { instanceId: 7, attempt: 1, answeredAt: at(3) } });
    expect(sent).toEqual(['rent 100']);
    expect(options).toMatchObject([{ deadlineMs: 28_000 }]);
    expect(settled).toEqual([{ rented: true }]);
    expect(memory.instanceApiKey?.attempt).toBe(1);
  });

  test('does not work without the receipt of its intent', async () => {
    const { ports, sent } = situation();
    await expect(
      act({ observed: given(), action: rent, receipt: receiptOf(given().object) }, ports),
    ).rejects.toThrow('receipt');
    expect(sent).toEqual([]);
  });

  test.each([
    ['its ticket is used up or too old', { ticketUsable: false }],
    ['scenario 55: the process slept for longer than a ticket lives', { laterMs: 5_001 }],
    ['scenario 58: the wall clock went back behind the intent', { laterMs: -1_000 }],
    ['its deadline is over although its ticket lives', { laterMs: 2_001, callMs: 2_000 }],
    ['scenario 56: its deadline is reached at this very moment', { laterMs: 2_000, callMs: 2_000 }],
  ])('%s: it is not sent', async (_, options) => {
    const { ports, sent, settled, receipt } = situation(options);
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({
      type: 'failed',
      failure: { outcome: 'refused' },
      after: { type: 'retry', afterMs: 0 },
    });
    expect(sent).toEqual([]);
    expect(settled).toEqual([{ rented: false }]);
  });

  test.each([
    ['a lost answer is settled by the lists', fails('timeout', 'unknown'), { type: 'settle' }, 'unknown'],
    [
      'an answer that names a machine is a rental',
      fails('invalidRequest', 'unknown', { instanceId: 9 }),
      { type: 'rented', instanceId: 9 },
      'unknown',
    ],
    [
      'an offer that is gone is left alone, and the next is tried at once',
      fails('offerGone', 'refused'),
      { type: 'retry', afterMs: 0, avoid: { type: 'offer', id: 100 } },
      false,
    ],
    [
      'too many requests wait as long as asked',
      fails('throttled', 'refused', { retryAfterMs: 90_000 }),
      { type: 'retry', afterMs: 90_000, refusal: { reason: 'Throttled', detail: 'told to fail' } },
      false,
    ],
    [
      'a wrong request is said',
      fails('invalidRequest', 'refused'),
      { type: 'retry', afterMs: 5_000, refusal: { reason: 'InvalidRequest', detail: 'told to fail' } },
      false,
    ],
  ] as const)('%s', async (_, call, after, rented) => {
    const { ports, sent, settled, receipt } = situation({ calls: { rent: call } });
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({ type: 'failed', after });
    expect(sent).toHaveLength(1);
    expect(settled).toEqual([{ rented }]);
  });
});

describe('a destroy', () => {
  const destroy: Action = { type: 'destroy', instanceId: 1, reason: 'Exited' };

  test('is remembered with the times of both clocks', async () => {
    const { ports, memory } = situation();
    expect(
      await act({ observed: given(held()), action: destroy, receipt: receiptOf(given().object) }, ports),
    ).toEqual({ type: 'done' });
    expect(memory.view().destroys).toEqual([
      { instanceId: 1, reason: 'Exited', answeredAt: NOW, endedAt: at(5) },
    ]);
  });

  test.each([
    ['scenario 18: no such machine', fails('notFound', 'refused')],
    ['scenario 16: a time-out', fails('timeout', 'unknown')],
    ['scenario 19: a key that is not accepted', fails('unauthorized', 'refused')],
  ])('%s: that proves nothing', async (_, call) => {
    const { ports, memory } = situation({ calls: { destroy: call } });
    const acted = await act(
      { observed: given(held()), action: destroy, receipt: receiptOf(given().object) },
      ports,
    );
    expect(acted).toMatchObject({ type: 'failed', after: { type: 'retry' } });
    expect(memory.view().destroys).toEqual([]);
  });
});

describe('letting go', () => {
  const release: Action = {
    type: 'release',
    note: { type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note: 'n' },
  };

  test('hands the brake what it must not forget before the guard goes', async () => {
    const { ports, done } = situation();
    const observed = given(held({}, { deleting: true, finalizers: ['other', 'gpurental.dev/machine'] }));
    await act({ observed, action: release, receipt: receiptOf(observed.object) }, ports);
    expect(done).toEqual(['folded', 'InstanceDestroyed', 'finalizers [other]']);
  });

  test('tells the brake once, however often the guard has to be removed', async () => {
    const { ports, done } = situation();
    const observed = given(held({}, { deleting: true }));
    for (let pass = 0; pass < 2; pass++) {
      await act({ observed, action: release, receipt: receiptOf(observed.object) }, ports);
    }
    expect(done.filter((each) => each === 'folded')).toHaveLength(1);
  });

  test('keeps the guard where the brake could not be told', async () => {
    const { ports, done } = situation();
    const broken = { ...ports.session, foldDeparted: () => Promise.reject(new Error('no')) };
    const observed = given(held({}, { deleting: true }));
    const severed = { ...ports, session: broken as unknown as AccountSession };
    await expect(
      act({ observed, action: release, receipt: receiptOf(observed.object) }, severed),
    ).rejects.toThrow('no');
    expect(done).toEqual([]);
  });

  test('lists a kept machine in the account where its label cannot be changed', async () => {
    const { ports, done } = situation({ calls: { label: fails('forbidden', 'refused') } });
    const keep: Action = { type: 'retain', instanceId: 1, policy: 'Retain', label: 'l' };
    await act({ observed: given(held()), action: keep, receipt: receiptOf(given(held()).object) }, ports);
    expect(done).toEqual(['retained']);
  });

  test('does not list a kept machine that its label speaks for', async () => {
    const { ports, done, sent } = situation();
    const keep: Action = { type: 'retain', instanceId: 1, policy: 'Stop', label: 'l' };
    await act({ observed: given(held()), action: keep, receipt: receiptOf(given(held()).object) }, ports);
    expect(sent).toEqual(['label 1']);
    expect(done).toEqual([]);
  });
});

test('a start that the account has no room for is not sent, and says so', async () => {
  const { ports, sent, receipt } = situation({ startRefused: true });
  const start: Action = { type: 'start', instanceId: 1, pricePerHour: 500_000 };
  expect(await act({ observed: given(), action: start, receipt }, ports)).toMatchObject({
    type: 'failed',
    after: {
      type: 'retry',
      afterMs: 10_000,
      refusal: { reason: 'AccountLimitReached', detail: 'no room' },
    },
  });
  expect(sent).toEqual([]);
});
