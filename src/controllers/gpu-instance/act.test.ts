import { describe, expect, test } from 'vitest';
import {
  at,
  type Given,
  given,
  holding,
  identity,
  intent,
  LOGIN,
  NOW,
  type ObservedParts,
  offer,
  time,
  UID,
  withMachine,
} from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { Ticket, TicketRefusal } from '../../accounts/admission.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { AccountStatusWriter } from '../../accounts/status-writer.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { silentLogger } from '../../lib/logger.ts';
import { Secret } from '../../lib/secret.ts';
import { formatTime } from '../../lib/time.ts';
import type { CallOptions } from '../../market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { Market } from '../../market/market.ts';
import { openKey } from '../../ownership/sealed-key.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError, kubeErrorOf } from '../../runtime/kube/kube-error.ts';
import { Receipt, receiptOf } from '../../runtime/writes.ts';
import { type ActDeps, act } from './act.ts';
import { silentInstanceMetrics } from './deps.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';
import { PurchaseReceipt, purchaseReceipt } from './record.ts';
import type { Action, Purchase } from './types.ts';

const PURCHASE: Purchase = {
  attempt: 1,
  issuedAt: NOW,
  decidedAt: NOW,
  offer: offer(),
  offerIndex: 0,
  pricePerHour: 500_000,
  request: { image: 'i', diskGB: 10, label: '', env: {}, ports: [], ssh: false },
  specHash: 'v1:0',
  knownIds: undefined,
};

type Calls = Partial<Record<keyof Market, (...parameters: never[]) => unknown>>;

function situation(
  options: {
    readonly calls?: Calls;
    /** A call that the market does not offer. */
    readonly lacks?: string;
    readonly ticketUsable?: boolean;
    readonly laterMs?: number;
    readonly startRefused?: TicketRefusal;
    /** The offer in the intent. */
    readonly offer?: string;
    readonly without?: 'account';
    /** Duration that the call may take, by its intent. */
    readonly callMs?: number;
    /** True if a person changed the spec while the call waited for its rate limit slot. */
    readonly isTakenBack?: boolean;
    /** Read of the object right before a destroy. */
    readonly readsNow?: () => Promise<boolean>;
    /** True if the account still allows the namespace. */
    readonly isPermitted?: boolean;
    /** True if the API server refuses each status. */
    readonly failsToRecord?: boolean;
    /** Machines that existed before the call, or are other objects'. */
    readonly known?: readonly string[];
  } = {},
) {
  const sent: string[] = [];
  const done: string[] = [];
  const asked: unknown[] = [];
  const ended: unknown[] = [];
  const settled: unknown[] = [];
  let looks = 0;
  const clock = createVirtualClock({ startMs: NOW + (options.laterMs ?? 0) });
  const instances = new Proxy(
    {},
    {
      get(_target, name: string) {
        if (name === 'about') return { name: 'Toy' };
        if (name === options.lacks) return undefined;
        return (...parameters: never[]) => {
          sent.push(`${name} ${String(parameters[0])}`);
          const call = options.calls?.[name as keyof Market];
          return Promise.resolve(call ? call(...parameters) : { answeredAt: at(5) });
        };
      },
    },
  );
  const session = {
    ref: { namespace: 'team', name: 'default' },
    uid: 'account',
    identity,
    login: LOGIN,
    permits: () => options.isPermitted ?? true,
    market: instances,
    serviceClock: { now: () => ({ type: 'unknown' }) },
    feed: { pollNow: () => looks++ },
    admission: {
      requestStart: (request: unknown) => {
        asked.push(request);
        const reason = options.startRefused;
        return reason
          ? { type: 'refused', reason, message: 'no room', retryAfterMs: 10_000 }
          : { type: 'permitted', settle: (result: unknown) => settled.push(result) };
      },
    },
  };
  const statusWriter: AccountStatusWriter = {
    recordDeleted: async (departed) => {
      asked.push(departed);
      done.push('folded');
    },
    recordRetained: async (machine) => {
      asked.push(machine);
      done.push('retained');
    },
    recordSwept: async () => {},
  };
  const memory = new ObjectMemory();
  const ledger: ActDeps['ledger'] = {
    recordDeleted: async (instance, end) => {
      ended.push([instance.metadata.uid, end]);
      done.push('in the ledger');
    },
  };
  const ports: ActDeps = {
    clock,
    ledger,
    steady: new SteadyClock(clock),
    log: silentLogger,
    cluster: {
      get: async () => undefined,
      patch: (
        _resource: unknown,
        _ref: unknown,
        { body }: { body: { metadata: { finalizers: string[] } } },
      ) => {
        done.push(`finalizers [${body.metadata.finalizers.join()}]`);
        return Promise.resolve(body);
      },
      replace: async (_resource: unknown, body: GpuInstance) => {
        if (options.failsToRecord) throw kubeErrorOf(503, {});
        done.push(`records ${JSON.stringify(body.status?.answered)}`);
        return body;
      },
    } as unknown as KubeClient,
    session: options.without ? undefined : (session as unknown as AccountSession),
    statusWriter,
    memory,
    metrics: {
      ...silentInstanceMetrics,
      destroyed: (account, reason) => done.push(`counted ${account} ${reason}`),
    },
    showEvent: (note) => done.push(note.reason),
    wrote: (object) => done.push(`cached ${object.metadata.finalizers?.join()}`),
    isStillDecided: () => !options.isTakenBack,
    knownMachines: () => (id) => options.known?.includes(id) === true,
    isStillDecidedNow: options.readsNow ?? (async () => true),
  };
  const ticket: Ticket = {
    type: 'ticket',
    id: 1,
    objectUid: UID,
    offerId: '100',
    slot: { endpointClass: 'rent', expiresAt: 0, release() {} },
    use: () => options.ticketUsable ?? true,
    settle: (result) => settled.push(result),
  };
  const receipt = purchaseReceipt(
    receiptOf(given().object),
    intent({ issuedAt: NOW, deadline: NOW + (options.callMs ?? 30_000), offer: options.offer ?? '100' }),
    ticket,
  );
  return { ports, sent, done, asked, ended, memory, settled, receipt, ticket, looks: () => looks };
}

const fails =
  (
    kind: MarketplaceErrorKind,
    outcome: 'refused' | 'unknown',
    more: { instanceId?: string; retryAfterMs?: number } = {},
  ) =>
  () => {
    throw new MarketplaceError('told to fail', { kind, outcome, ...more });
  };
/** A receipt with all fields, created without a decision. */
/** Returns the status writer of an account that fails in one respect. */
const bookOf = ({ statusWriter }: ActDeps, change: Partial<AccountStatusWriter>) =>
  ({ ...statusWriter, ...change }) as AccountStatusWriter;
const lookalike = (fields: object): Receipt<GpuInstance> => fields as Receipt<GpuInstance>;
const rent: Action = { type: 'rent', purchase: PURCHASE };

describe('a rent', () => {
  test('is sent once, with what is left until its deadline', async () => {
    const options: unknown[] = [];
    const { ports, sent, settled, receipt, ticket } = situation({
      laterMs: 2_000,
      calls: {
        rent: ((_offer: number, _request: unknown, given: unknown) => {
          options.push(given);
          return { instanceId: '7', instanceApiKey: new Secret('k'), answeredAt: at(3) };
        }) as never,
      },
    });
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({
      type: 'rented',
      rented: { instanceId: '7', attempt: 1, answeredAt: at(3) },
    });
    const { sealedKey = '' } = acted.type === 'rented' ? acted.rented : {};
    const machine = { uid: UID, attempt: 1, instanceId: '7' };
    expect(openKey(identity.keys, machine, sealedKey)?.reveal()).toBe('k');
    expect(sent).toEqual(['rent 100']);
    expect(options).toEqual([{ deadlineMs: 28_000, slot: ticket.slot }]);
    expect(settled).toEqual([{ rented: true }]);
  });

  test.each([
    ['none was given out', undefined],
    ['it is too long for the status', new Secret('k'.repeat(800))],
  ])('is saved without a key where %s', async (_name, instanceApiKey) => {
    const answer = { instanceId: '7', instanceApiKey, answeredAt: at(3) };
    const { ports, receipt } = situation({ calls: { rent: () => answer } });
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({ rented: { instanceId: '7' } });
    expect(acted).not.toHaveProperty('rented.sealedKey');
  });

  test('is returned with its key when the session has lost its identity meanwhile', async () => {
    const answer = { instanceId: '7', instanceApiKey: new Secret('k'), answeredAt: at(3) };
    const { ports, receipt, settled } = situation({ calls: { rent: () => answer } });
    const lost = () => {
      throw new Error('no identity is known');
    };
    const session: AccountSession = Object.defineProperty(Object.create(ports.session ?? null), 'identity', {
      get: lost,
    });
    const acted = await act({ observed: given(), action: rent, receipt }, { ...ports, session });
    expect(acted).toMatchObject({ type: 'rented', rented: { instanceId: '7' } });
    expect(acted).toHaveProperty('rented.sealedKey');
    expect(settled).toEqual([{ rented: true }]);
  });

  test.each([
    ['listed before the call', () => ({ instanceId: '7', instanceApiKey: undefined, answeredAt: at(3) })],
    ['named by a refusal', fails('malformedReply', 'unknown', { instanceId: '7' })],
  ])(
    'scenario 118: is of unknown outcome when its reply names a machine that was %s (A8)',
    async (_, reply) => {
      const { ports, settled, receipt } = situation({ known: ['7'], calls: { rent: reply as never } });
      const acted = await act({ observed: given(), action: rent, receipt }, ports);
      expect(acted).toMatchObject({ type: 'failed', after: { type: 'settle' } });
      expect(settled).toEqual([{ rented: 'unknown' }]);
    },
  );

  test('is of the offer in the intent', async () => {
    const { ports, sent, receipt } = situation({ offer: '101' });
    await act({ observed: given(), action: rent, receipt }, ports);
    expect(sent).toEqual(['rent 101']);
  });

  test('whose answer names no time is dated by our own clock', async () => {
    const { ports, receipt } = situation({ laterMs: 1_000, calls: { rent: () => ({ instanceId: '7' }) } });
    const acted = await act({ observed: given(), action: rent, receipt }, ports);
    expect(acted).toMatchObject({ rented: { answeredAt: at(1) } });
  });

  test.for<readonly [string, (real: PurchaseReceipt) => Receipt<GpuInstance>]>([
    ['with the receipt of something else', () => receiptOf(given().object)],
    [
      'with what only looks like its receipt',
      ({ object, intent, ticket }) => lookalike({ object, intent, ticket }),
    ],
  ])('does not work %s', async ([, made]) => {
    const { ports, sent, receipt } = situation();
    await expect(act({ observed: given(), action: rent, receipt: made(receipt) }, ports)).rejects.toThrow(
      'receipt',
    );
    expect(sent).toEqual([]);
  });

  test('has no receipt but from what recorded it', () => {
    const { receipt } = situation();
    const key = Symbol('recorded') as never;
    expect(() => new Receipt(receipt.object, key)).toThrow('record()');
    expect(() => new PurchaseReceipt(receipt, receipt, key)).toThrow('record()');
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
      fails('invalidRequest', 'unknown', { instanceId: '9' }),
      { type: 'rented', instanceId: '9' },
      'unknown',
    ],
    [
      'an offer that is gone is left alone, and the next is tried at once',
      fails('offerGone', 'refused'),
      { type: 'retry', afterMs: 0, avoid: { type: 'offer', id: '100' } },
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
      { type: 'retry', afterMs: 5_000, refusal: { reason: 'InvalidSpec', detail: 'told to fail' } },
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

/** Waits for a request slot like the client, and checks the permission before sending. */
const whenItsPlaceIsFree = async (...parameters: never[]) => {
  const options = parameters.at(-1) as CallOptions | undefined;
  if (options?.mayLeave && !(await options.mayLeave()))
    throw new MarketplaceError('taken back', { kind: 'aborted', outcome: 'refused' });
  return { answeredAt: at(5) };
};

describe('a call that waits for its place', () => {
  const waiting: readonly Action[] = [
    { type: 'destroy', instanceId: '1', reason: 'Exited' },
    { type: 'stop', instanceId: '1' },
    { type: 'start', instanceId: '1', pricePerHour: 500_000 },
    { type: 'relabel', instanceId: '1', label: 'ours' },
  ];
  const calls = {
    destroy: whenItsPlaceIsFree,
    stop: whenItsPlaceIsFree,
    start: whenItsPlaceIsFree,
    relabel: whenItsPlaceIsFree,
  };

  test.for(waiting)(
    '$type is not sent once another desired state, or the end of the lease, is known',
    async (action) => {
      const { ports, memory } = situation({ calls, isTakenBack: true });
      const acted = await act(
        { observed: given(withMachine()), action, receipt: receiptOf(given().object) },
        ports,
      );
      expect(acted).toEqual({ type: 'withdrawn' });
      const { destroys, stopAnsweredAt, startAnsweredAt } = memory.view();
      expect({ destroys, stopAnsweredAt, startAnsweredAt }).toEqual({ destroys: [] });
    },
  );

  test.for(waiting)('$type is sent while it is wanted', async (action) => {
    const { ports } = situation({ calls });
    const acted = await act(
      { observed: given(withMachine()), action, receipt: receiptOf(given().object) },
      ports,
    );
    expect(acted).toEqual({ type: 'done' });
  });

  test.for(waiting)(
    '$type of what the API server says otherwise by now: only a destroy asks it',
    async (action) => {
      const { ports } = situation({ calls, readsNow: async () => false });
      const acted = await act(
        { observed: given(withMachine()), action, receipt: receiptOf(given().object) },
        ports,
      );
      expect(acted).toEqual({ type: action.type === 'destroy' ? 'withdrawn' : 'done' });
    },
  );

  test('scenario 111: destroys nothing while the API server does not say what is wanted', async () => {
    const unavailable = kubeErrorOf(503, {});
    const { ports, memory } = situation({ calls, readsNow: () => Promise.reject(unavailable) });
    const action: Action = { type: 'destroy', instanceId: '1', reason: 'Exited' };
    await expect(
      act({ observed: given(withMachine()), action, receipt: receiptOf(given().object) }, ports),
    ).rejects.toBe(unavailable);
    expect(memory.view().destroys).toEqual([]);
  });

  test('is a failed call where it was not taken back', async () => {
    const { ports } = situation({ calls: { destroy: fails('aborted', 'refused') } });
    const action: Action = { type: 'destroy', instanceId: '1', reason: 'Exited' };
    const acted = await act(
      { observed: given(withMachine()), action, receipt: receiptOf(given().object) },
      ports,
    );
    expect(acted.type).toBe('failed');
  });
});

describe('a destroy', () => {
  const destroy: Action = { type: 'destroy', instanceId: '1', reason: 'Exited' };

  test('is remembered with the times of both clocks', async () => {
    const { ports, memory } = situation();
    expect(
      await act(
        { observed: given(withMachine()), action: destroy, receipt: receiptOf(given().object) },
        ports,
      ),
    ).toEqual({ type: 'done' });
    expect(memory.view().destroys).toEqual([
      { instanceId: '1', reason: 'Exited', answeredAt: NOW, endedAt: at(5) },
    ]);
  });

  test('is dated by its answer if the own clock shows a time before the machine began to bill', async () => {
    const { ports, memory } = situation({ laterMs: -3_600_000 });
    const cost = { pricePerHour: '0.30', accrued: '0.00', since: formatTime(NOW - 120_000) };
    const { object, ...observed } = given(withMachine());
    const billing = { ...object, status: { ...object.status, cost } };
    await act(
      { observed: { ...observed, object: billing }, action: destroy, receipt: receiptOf(billing) },
      ports,
    );
    expect(memory.view().destroys).toMatchObject([{ endedAt: at(5) }]);
  });

  test('is counted, and a list is asked for that no longer shows the machine', async () => {
    const { ports, done, looks } = situation();
    await act({ observed: given(withMachine()), action: destroy, receipt: receiptOf(given().object) }, ports);
    expect(done).toEqual(['counted team/default Exited']);
    expect(looks()).toBe(1);
  });

  test('is recorded with the time of its answer, so that a process that starts later dates the end', async () => {
    const { ports, done } = situation();
    const { object } = given(withMachine());
    await act({ observed: given(withMachine()), action: destroy, receipt: receiptOf(object) }, ports);
    const answered = { action: 'Destroy', reason: 'Exited', at: time(5) };
    expect(done).toContain(`records ${JSON.stringify(answered)}`);
  });

  test('of another machine than the recorded one is not recorded', async () => {
    const { ports, done } = situation();
    const { object } = given(withMachine());
    const surplus: Action = { ...destroy, instanceId: '5' };
    await act({ observed: given(withMachine()), action: surplus, receipt: receiptOf(object) }, ports);
    expect(done.filter((line) => line.startsWith('records'))).toEqual([]);
  });

  test('is done when its record cannot be written', async () => {
    const { ports, memory } = situation({ failsToRecord: true });
    const receipt = receiptOf(given(withMachine()).object);
    const acted = await act({ observed: given(withMachine()), action: destroy, receipt }, ports);
    expect(acted).toEqual({ type: 'done' });
    expect(memory.view().destroys).toHaveLength(1);
  });

  test('whose answer names no time ends the bill by our own clock', async () => {
    const { ports, memory } = situation({ laterMs: 2_000, calls: { destroy: () => ({}) } });
    await act({ observed: given(withMachine()), action: destroy, receipt: receiptOf(given().object) }, ports);
    expect(memory.view().destroys).toMatchObject([{ endedAt: at(2) }]);
  });

  test.each([
    ['scenario 18: no such machine', fails('notFound', 'refused')],
    ['scenario 16: a time-out', fails('timeout', 'unknown')],
    ['scenario 19: a key that is not accepted', fails('unauthorized', 'refused')],
  ])('%s: that proves nothing', async (_, call) => {
    const { ports, memory } = situation({ calls: { destroy: call } });
    const acted = await act(
      { observed: given(withMachine()), action: destroy, receipt: receiptOf(given().object) },
      ports,
    );
    expect(acted).toMatchObject({ type: 'failed', after: { type: 'retry' } });
    expect(memory.view().destroys).toEqual([]);
  });
});

/**
 * Cost of one dollar an hour from ten in the evening of the last day of October on; {@link NOW} is noon of 20 November.
 */
const OLD_COST = { pricePerHour: '1.00', accrued: '3.00', since: time(-20 * 86_400 + 36_000) };

/** Returns an object that is older than the month. */
function bornInOctober(status: NonNullable<Given['status']>): ObservedParts {
  const { object } = given(withMachine({}, { status }));
  return { object: { ...object, metadata: { ...object.metadata, creationTimestamp: time(-30 * 86_400) } } };
}

describe('letting go', () => {
  const release: Action = {
    type: 'release',
    endedAt: NOW,
    destroyed: [],
    note: { type: 'Normal', reason: 'InstanceDestroyed', action: 'Deleting', note: 'n' },
  };

  test('records rentals and costs in the account before it removes the finalizer', async () => {
    const { ports, done } = situation();
    const observed = given(
      withMachine({}, { deleting: true, finalizers: ['other', 'gpurental.dev/machine'] }),
    );
    await act({ observed, action: release, receipt: receiptOf(observed.object) }, ports);
    expect(done).toEqual([
      'in the ledger',
      'folded',
      'InstanceDestroyed',
      'finalizers [other]',
      'cached other',
    ]);
  });

  test.each([
    ['removes orphaned children before the guard goes when the machine has ended (L7)', {}, true],
    ['leaves orphaned children to who keeps the machine (L7)', { keepsChildren: true as const }, false],
  ])('%s', async (_, more, looks) => {
    const { ports, done } = situation();
    const status = { binding: { name: 'job-connection' } };
    const observed = given(
      withMachine({}, { deleting: true, status, finalizers: ['gpurental.dev/machine'] }),
    );
    const get = async () => {
      done.push('looked');
      return undefined;
    };
    const cluster = { ...ports.cluster, get } as unknown as KubeClient;
    const recorded = { observed, action: { ...release, ...more }, receipt: receiptOf(observed.object) };
    await act(recorded, { ...ports, cluster });
    expect(done.includes('looked')).toBe(looks);
    if (looks) expect(done.indexOf('looked')).toBeLessThan(done.indexOf('finalizers []'));
  });

  test('records an object in its account once, however often the finalizer has to be removed', async () => {
    const { ports, done } = situation();
    const observed = given(withMachine({}, { deleting: true }));
    for (let pass = 0; pass < 2; pass++) {
      await act({ observed, action: release, receipt: receiptOf(observed.object) }, ports);
    }
    expect(done.filter((each) => each === 'folded')).toHaveLength(1);
  });

  test('is tried again when another write came first, whether or not its event arrives', async () => {
    const { ports, done } = situation();
    const observed = given(withMachine({}, { deleting: true }));
    const error = new KubeError('late', {
      kind: 'conflict',
      status: 409,
      reason: 'Conflict',
      outcome: 'refused',
    });
    const cluster = {
      get: async () => undefined,
      patch: () => Promise.reject(error),
    } as unknown as KubeClient;
    const recorded = { observed, action: release, receipt: receiptOf(observed.object) };
    await expect(act(recorded, { ...ports, cluster })).rejects.toBe(error);
    expect(done).toEqual(['in the ledger', 'folded', 'InstanceDestroyed']);
  });

  test('keeps the finalizer when the record of the account was not written, and tries again', async () => {
    const { ports, done } = situation();
    const recordDeleted = () => Promise.reject(new Error('no'));
    const observed = given(withMachine({}, { deleting: true }));
    const recorded = { observed, action: release, receipt: receiptOf(observed.object) };
    await expect(act(recorded, { ...ports, statusWriter: bookOf(ports, { recordDeleted }) })).rejects.toThrow(
      'no',
    );
    expect(done).toEqual(['in the ledger']);
    await act(recorded, ports);
    expect(done[2]).toBe('folded');
  });

  const failing = (kind: 'forbidden' | 'notFound' | 'unavailable') => {
    const { ports, done } = situation();
    const details = { kind, status: 403, reason: 'Refused', outcome: 'refused' } as const;
    const recordDeleted = () => Promise.reject(new KubeError('may not patch configmaps', details));
    const observed = given(withMachine({}, { deleting: true }));
    const recorded = { observed, action: release, receipt: receiptOf(observed.object) };
    return { acted: () => act(recorded, { ...ports, ledger: { recordDeleted } }), done };
  };

  test('keeps the guard while its cost cannot be written into the ledger for now', async () => {
    const { acted, done } = failing('unavailable');
    await expect(acted()).rejects.toThrow('may not patch');
    expect(done).toEqual([]);
  });

  test.each(['forbidden', 'notFound'] as const)(
    'lets go and reports it when the ledger can never be written: %s',
    async (kind) => {
      const { acted, done } = failing(kind);
      expect(await acted()).toEqual({ type: 'done' });
      expect(done).toContain('NotPermitted');
    },
  );

  test.for([
    ['InstanceDestroyed', 'Deleting'],
    ['Released', 'Released'],
  ] as const)('writes the cost of its machine until its end into the ledger: %s', async ([reason, shown]) => {
    const { ports, ended } = situation();
    const observed = given(withMachine({}, { deleting: true }));
    const note = { type: 'Normal', reason, action: 'Deleting', note: 'n' } as const;
    const action = { type: 'release', note, endedAt: at(-60), destroyed: [] } as const;
    await act({ observed, action, receipt: receiptOf(observed.object) }, ports);
    expect(ended).toEqual([[UID, { at: at(-60), reason: shown }]]);
  });

  test.for<readonly [string, Given, unknown, number?]>([
    [
      'all that it cost, until its machine was destroyed, and when it rented',
      withMachine(),
      { uid: UID, rentals: [at(-300)], spentThisMonth: 33_333, newestRentalAt: at(-301), destroyed: [] },
      at(-60),
    ],
    [
      'all that it cost until now where nothing was destroyed',
      withMachine({}, { intent: '{}', status: { cost: { ...holding().cost, accrued: '2.00' } } }),
      { uid: UID, rentals: [at(-300)], spentThisMonth: 2_041_667, newestRentalAt: undefined, destroyed: [] },
    ],
    [
      'of its money what this month saw of it, and of its rentals those of the last hour',
      {
        ...withMachine(),
        observed: bornInOctober({ rentals: [time(-3_600), time(-3_599)], cost: OLD_COST }),
      },
      { uid: UID, rentals: [at(-3_599)], spentThisMonth: 1_000_000, newestRentalAt: at(-301), destroyed: [] },
      at(-20 * 86_400 + 46_800),
    ],
    [
      'what its machines of this month cost, also those that ended before the last',
      {
        ...withMachine(),
        observed: bornInOctober({ cost: { pricePerHour: '1.00', accrued: '5.00', since: time(-300) } }),
      },
      { uid: UID, rentals: [at(-300)], spentThisMonth: 5_066_667, newestRentalAt: at(-301), destroyed: [] },
      at(-60),
    ],
    [
      'that it rented, where only its status says so',
      { status: { attempt: 1 } },
      { uid: UID, rentals: [], spentThisMonth: 0, newestRentalAt: undefined, destroyed: [] },
    ],
    [
      'that it may have rented, where only its intent says so',
      { intent: intent() },
      { uid: UID, rentals: [at(-301)], spentThisMonth: 0, newestRentalAt: at(-301), destroyed: [] },
    ],
  ])('records in the account %s', async ([, object, departed, endedAt = NOW]) => {
    const { ports, asked } = situation();
    const observed = given({ deleting: true, ...object });
    const action = { ...release, endedAt };
    await act({ observed, action, receipt: receiptOf(observed.object) }, ports);
    expect(asked).toEqual([departed]);
  });

  test('names the machines that were destroyed, also for an object that rented nothing itself', async () => {
    const { ports, asked } = situation();
    const observed = given({ deleting: true, finalizers: ['gpurental.dev/machine'] });
    const action = { ...release, destroyed: ['1', '2'] };
    await act({ observed, action, receipt: receiptOf(observed.object) }, ports);
    expect(asked).toMatchObject([{ uid: UID, destroyed: ['1', '2'] }]);
  });

  test('writes no record of an account when the object never rented', async () => {
    const { ports, asked } = situation();
    const observed = given({ deleting: true, finalizers: ['gpurental.dev/machine'] });
    await act({ observed, action: release, receipt: receiptOf(observed.object) }, ports);
    expect(asked).toEqual([]);
  });

  test('lists a kept machine in the account where its label cannot be changed', async () => {
    const { ports, done, asked } = situation({ calls: { relabel: fails('forbidden', 'refused') } });
    const keep: Action = { type: 'retain', instanceId: '1', policy: 'Retain', label: 'l' };
    await act(
      { observed: given(withMachine()), action: keep, receipt: receiptOf(given(withMachine()).object) },
      ports,
    );
    expect(done).toEqual(['retained']);
    expect(asked).toEqual([
      { instanceId: '1', objectUid: UID, owner: 'team/job', policy: 'Retain', pricePerHour: 500_000 },
    ]);
  });

  test('has not kept a machine that neither its label nor the account speaks for', async () => {
    const keep: Action = { type: 'retain', instanceId: '1', policy: 'Retain', label: 'l' };
    const receipt = receiptOf(given(withMachine()).object);
    const { ports, done } = situation({ calls: { relabel: fails('forbidden', 'refused') } });
    const keptBy = (recordRetained: AccountStatusWriter['recordRetained']) =>
      act(
        { observed: given(withMachine()), action: keep, receipt },
        { ...ports, statusWriter: bookOf(ports, { recordRetained }) },
      );
    await expect(keptBy(() => Promise.reject(new RangeError('full')))).rejects.toThrow('full');
    expect(done, 'people are told why the object stays').toEqual(['NotRetained']);
    await expect(keptBy(() => Promise.reject(new TypeError('no answer')))).rejects.toThrow('no answer');
    expect(done).toEqual(['NotRetained']);
  });

  test.each(['l', undefined])(
    'lists a machine in the account that no key can ask for (label %s)',
    async (label) => {
      const { ports, done } = situation({ without: 'account' });
      const keep: Action = { type: 'retain', instanceId: '1', policy: 'Retain', label };
      await act(
        { observed: given(withMachine()), action: keep, receipt: receiptOf(given(withMachine()).object) },
        ports,
      );
      expect(done).toEqual(['retained']);
    },
  );

  test('does not take a fault of its own for a label that could not be changed', async () => {
    const keep: Action = { type: 'retain', instanceId: '1', policy: 'Retain', label: 'l' };
    const relabel = () => {
      throw new TypeError('a bug');
    };
    const { ports, done } = situation({ calls: { relabel } });
    const receipt = receiptOf(given(withMachine()).object);
    await expect(act({ observed: given(withMachine()), action: keep, receipt }, ports)).rejects.toThrow(
      'a bug',
    );
    expect(done).toEqual([]);
  });

  test('lists a kept machine in the account as well as on its label, which a list may show late', async () => {
    const { ports, done, sent, asked } = situation();
    const keep: Action = { type: 'retain', instanceId: '1', policy: 'Stop', label: 'l' };
    await act(
      { observed: given(withMachine()), action: keep, receipt: receiptOf(given(withMachine()).object) },
      ports,
    );
    expect(sent).toEqual(['relabel 1']);
    expect(done).toEqual(['retained']);
    // It is stopped, so that its disk bills.
    expect(asked).toMatchObject([{ policy: 'Stop', pricePerHour: 10_000 }]);
  });
});

describe('a start', () => {
  const start: Action = { type: 'start', instanceId: '1', pricePerHour: 500_000 };

  test('is not sent, and takes no room, when its account no longer allows its namespace (M3)', async () => {
    const { ports, sent, asked } = situation({ isPermitted: false });
    const acted = await act(
      { observed: given(withMachine()), action: start, receipt: receiptOf(given().object) },
      ports,
    );
    expect([acted, sent, asked]).toEqual([{ type: 'withdrawn' }, [], []]);
  });

  test('asks the account for room, is remembered, and ends what a stop has left', async () => {
    const { ports, sent, asked, settled, memory, receipt, looks } = situation();
    memory.fields.stopAskedAt = 1;
    memory.fields.stopAnsweredAt = 2;
    expect(await act({ observed: given(), action: start, receipt }, ports)).toEqual({ type: 'done' });
    expect(asked).toEqual([{ objectUid: UID, namespace: 'team', pricePerHour: 500_000, timeoutMs: 120_000 }]);
    expect(settled).toEqual([{ started: true }]);
    expect(sent).toEqual(['start 1']);
    expect(memory.view()).toMatchObject({
      startSentAt: NOW,
      startAnsweredAt: NOW,
      stopAskedAt: undefined,
      stopAnsweredAt: undefined,
    });
    expect(looks()).toBe(1);
  });

  test('is recorded with the time of its answer', async () => {
    const { ports, done } = situation();
    const receipt = receiptOf(given(withMachine()).object);
    await act({ observed: given(), action: start, receipt }, ports);
    expect(done).toContain(`records ${JSON.stringify({ action: 'Start', at: time(5) })}`);
  });

  test.for<readonly [string, () => never, boolean | 'unknown']>([
    ['gives its room back where the service refused it', fails('invalidRequest', 'refused'), false],
    ['keeps its room where nobody knows what came of it', fails('timeout', 'unknown'), 'unknown'],
  ])('%s', async ([, call, started]) => {
    const { ports, settled, receipt, memory } = situation({ calls: { start: call } });
    await act({ observed: given(), action: start, receipt }, ports);
    expect(settled).toEqual([{ started }]);
    expect(memory.view().startSentAt).toBe(started === false ? undefined : NOW);
  });

  test.for(['AtLimit', 'InsufficientCredit'] as const)(
    'is not sent where the account says %s, and that is said',
    async (reason) => {
      const { ports, sent, receipt } = situation({ startRefused: reason });
      expect(await act({ observed: given(), action: start, receipt }, ports)).toMatchObject({
        type: 'failed',
        after: { type: 'retry', afterMs: 10_000, refusal: { reason, detail: 'no room' } },
      });
      expect(sent).toEqual([]);
    },
  );

  test.for(['OfferReserved'] as const)(
    'is not sent for %s, which passes in a moment and is not worth a condition',
    async (startRefused) => {
      const { ports, sent, receipt } = situation({ startRefused });
      const acted = await act({ observed: given(), action: start, receipt }, ports);
      expect(acted).toMatchObject({ after: { type: 'retry', afterMs: 10_000 } });
      expect(acted).not.toHaveProperty('after.refusal');
      expect(sent).toEqual([]);
    },
  );
});

describe('a stop', () => {
  const stop: Action = { type: 'stop', instanceId: '1' };

  test('is remembered by when it was asked, and by when the service says the full price ended', async () => {
    const { ports, sent, memory, receipt, looks } = situation({ laterMs: 1_000 });
    expect(await act({ observed: given(), action: stop, receipt }, ports)).toEqual({ type: 'done' });
    expect(sent).toEqual(['stop 1']);
    expect(memory.view()).toMatchObject({ stopAskedAt: at(1), stopAnsweredAt: at(5) });
    expect(looks()).toBe(1);
  });

  test('is recorded with the time of its answer', async () => {
    const { ports, done } = situation();
    const receipt = receiptOf(given(withMachine()).object);
    await act({ observed: given(), action: stop, receipt }, ports);
    expect(done).toContain(`records ${JSON.stringify({ action: 'Stop', at: time(5) })}`);
  });

  test('whose answer names no time is dated by our own clock', async () => {
    const { ports, memory, receipt } = situation({ laterMs: 1_000, calls: { stop: () => ({}) } });
    await act({ observed: given(), action: stop, receipt }, ports);
    expect(memory.fields.stopAnsweredAt).toBe(at(1));
  });
});

test('a label that was put on a machine is remembered, so that it is not put on again at once', async () => {
  const { ports, sent, memory, receipt } = situation();
  const relabel: Action = { type: 'relabel', instanceId: '1', label: 'l' };
  expect(await act({ observed: given(), action: relabel, receipt }, ports)).toEqual({ type: 'done' });
  expect(sent).toEqual(['relabel 1']);
  expect(memory.fields.relabelledAt).toBe(NOW);
});

describe('a market without that call', () => {
  test.for<Action>([
    { type: 'stop', instanceId: '1' },
    { type: 'start', instanceId: '1', pricePerHour: 500_000 },
    { type: 'relabel', instanceId: '1', label: 'l' },
  ])('counts as a refusal, which sends nothing and leaves no mark ($type)', async (action) => {
    const { ports, memory, receipt, sent } = situation({ lacks: action.type });
    const acted = await act({ observed: given(), action, receipt }, ports);
    expect(acted).toMatchObject({ type: 'failed', failure: { kind: 'refused', outcome: 'refused' } });
    expect(sent).toEqual([]);
    expect(memory.fields).toEqual(new ObjectMemory().fields);
  });
});

describe('a call that failed', () => {
  test.for<Action>([
    { type: 'stop', instanceId: '1' },
    { type: 'start', instanceId: '1', pricePerHour: undefined },
    { type: 'relabel', instanceId: '1', label: 'l' },
  ])('leaves no mark as if it had worked ($type)', async (action) => {
    const call = fails('unavailable', 'unknown');
    const { ports, memory, receipt } = situation({ calls: { stop: call, start: call, relabel: call } });
    const acted = await act({ observed: given(), action, receipt }, ports);
    expect(acted).toMatchObject({ type: 'failed', failure: { kind: 'unavailable', outcome: 'unknown' } });
    const { startSentAt, ...fields } = memory.fields;
    expect(fields).toEqual(new ObjectMemory().fields);
    // It may have been carried out all the same, or may be later.
    expect(startSentAt).toBe(action.type === 'start' ? NOW : undefined);
  });
});

describe('without a session of its account', () => {
  test('nothing is done, and no destroy is taken for answered', async () => {
    const { ports, memory, done, receipt } = situation({ without: 'account' });
    const destroy: Action = { type: 'destroy', instanceId: '1', reason: 'Deleting' };
    expect(await act({ observed: given(withMachine()), action: destroy, receipt }, ports)).toEqual({
      type: 'done',
    });
    expect(memory.view().destroys).toEqual([]);
    expect(done).toEqual([]);
  });

  test('an object can still be let go of', async () => {
    const { ports, done } = situation({ without: 'account' });
    const observed = given(withMachine({}, { deleting: true }));
    const note = { type: 'Normal', reason: 'Released', action: 'Deleting', note: 'n' } as const;
    await act(
      {
        observed,
        action: { type: 'release', note, endedAt: NOW, destroyed: [] },
        receipt: receiptOf(observed.object),
      },
      ports,
    );
    expect(done).toEqual(['in the ledger', 'folded', 'Released', 'finalizers []', 'cached ']);
  });

  test('nor of an account that is gone is anything asked', async () => {
    const { ports, done } = situation({ without: 'account' });
    const observed = given(withMachine({}, { deleting: true }));
    const note = { type: 'Normal', reason: 'Released', action: 'Deleting', note: 'n' } as const;
    const recorded = {
      observed,
      action: { type: 'release', note, endedAt: NOW, destroyed: [] },
      receipt: receiptOf(observed.object),
    } as const;
    await act(recorded, { ...ports, statusWriter: undefined });
    expect(done).toEqual(['in the ledger', 'Released', 'finalizers []', 'cached ']);
  });
});
