import { describe, expect, test } from 'vitest';
import {
  ALL_AGREE,
  at,
  facts,
  type Given,
  given,
  holding,
  identity,
  intent,
  LOGIN,
  labelOf,
  machineOf,
  NOW,
  offer,
  readyCondition,
  time,
  UID,
  withMachine,
} from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { UtilizationHistory } from '../../accounts/beliefs/utilization.ts';
import type { QueuePosition } from '../../accounts/queue/admission-queue.ts';
import type { SearchAnswer } from '../../accounts/queue/search-scheduler.ts';
import type { AccountSession } from '../../accounts/session.ts';
import type { AccountStatusWriter } from '../../accounts/status-writer.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { Clock } from '../../lib/clock.ts';
import { silentLogger } from '../../lib/logger.ts';
import { seededRandom } from '../../lib/random.ts';
import type { CallOptions } from '../../market/call-options.ts';
import { MarketplaceError, type MarketplaceErrorKind } from '../../market/errors.ts';
import type { Offer } from '../../market/offer.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { conflict, requeueAfter } from '../../runtime/controller.ts';
import { AccessReviews } from '../../runtime/kube/access-review.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError } from '../../runtime/kube/kube-error.ts';
import { depsOf } from './controller.ts';
import { CHILDREN_CHECK_MS, MachineIndex, ObjectMemory, SteadyClock } from './memory.ts';
import { isSuperseded, newestOf, reconcile } from './reconcile.ts';
import type { ListedMachine } from './types.ts';

const fails = (kind: MarketplaceErrorKind, outcome: 'refused' | 'unknown', instanceId?: string) => () => {
  throw new MarketplaceError('told to fail', { kind, outcome, instanceId });
};

interface Setting {
  /** The object and the rows of the list that its machines are in. */
  readonly object?: Given;
  readonly calls?: Readonly<Record<string, () => unknown>>;
  readonly allowed?: boolean;
  readonly leaseMs?: number;
  /** After so many looks at the lease there is none any more. */
  readonly leaseLooks?: number;
  readonly conflict?: 'patch' | 'replace';
  /** A Secret of the object's own name has another owner. */
  readonly nameTaken?: boolean;
  /** A slice of the object's own is there. */
  readonly slice?: boolean;
  /** Error of every read of the cluster. */
  readonly unreadable?: Error;
  readonly ticket?: { readonly reason: string; readonly retryAfterMs: number };
  /** An offer that another object reserves after this one has seen it free. */
  readonly reservedMeanwhile?: string;
  /** Refusal of a start by the account. */
  readonly start?: { readonly reason: string; readonly retryAfterMs: number };
  readonly echo?: 'unknown' | 'echoed' | 'notEchoed';
  readonly identityKnown?: boolean;
  readonly memory?: (memory: ObjectMemory) => void;
  /** Begin times of the lists since which its machine is missing; its own read says so, too. */
  readonly missingSince?: readonly number[];
  readonly offers?: readonly Offer[];
  /** No search before that of the pass showed the offers. */
  readonly isFirstSearch?: boolean;
  /** Position in the queue after it asked for one. */
  readonly place?: QueuePosition;
  readonly waits?: boolean;
  /** The account has no session any more; another account of the login has. */
  readonly disconnected?: boolean;
  /** The search was answered: the object waits for a slot. */
  readonly searched?: boolean;
  /** Gets a word for each wait beside the other objects. */
  readonly aside?: string[];
  /** Rows of lists from the first call on. */
  readonly later?: readonly ListedMachine[];
  /** The object's generation in the copy that the process has of it, once a call waits for its place. */
  readonly newestGeneration?: number;
  /** Object in the API server at that time; the cached copy if absent. */
  readonly readNow?: (object: GpuInstance) => Promise<GpuInstance | undefined>;
  /** Stale copy in the process, if a watch lags. */
  readonly copied?: (object: GpuInstance) => GpuInstance;
  /** The object is gone by then. */
  readonly isGone?: boolean;
  /** Gets what is logged for people. */
  readonly logged?: unknown[];
  /** Gets what is logged for those who look closer. */
  readonly searches?: unknown[];
  /** Time of the marketplace before the operator's wall clock; 0 if absent. */
  readonly wallClockAheadMs?: number;
  /** Gets the object of each status write. */
  readonly replaced?: GpuInstance[];
  /** Gets the reviewed permissions. */
  readonly asked?: unknown[];
}

const PLACE: QueuePosition = { for: 'rental', ahead: 2, expectedMs: 9_000, waitedMs: 0, isSerial: false };
/** The process has read lists for as long as they may lag. */
const LISTS_BEGUN = [at(-61), at(-1)];
const QUEUED = { type: 'queued', ended: undefined } as const;

const foundAt = (clock: Clock, offers: readonly Offer[]): SearchAnswer => ({
  ...{ type: 'found', offers, begunAt: clock.monotonic(), isShared: false },
});

/** Runs one reconcile of one object. Its account, cluster and marketplace record their calls in order. */
function situation(setting: Setting = {}) {
  const { wallClockAheadMs = 0 } = setting;
  const done: string[] = [];
  let leaseLooks = 0;
  let looks = 0;
  const clock = createVirtualClock({ startMs: NOW });
  const steady = new SteadyClock(clock);
  const memory = new ObjectMemory();
  setting.memory?.(memory);
  const observed = given(setting.object);
  if (!setting.isFirstSearch) memory.replacement.firstSearch = observed.memory.replacement.firstSearch;
  const rows = new Map((setting.object?.machines ?? []).map((machine) => [machine.row.id, machine.row]));
  let isCalling = false;
  let requested = false;
  const later = new Map((setting.later ?? []).map((machine) => [machine.row.id, machine.row]));
  const call = (name: string, fallback: unknown) => async (id: string, options?: CallOptions) => {
    isCalling = true;
    if (options?.mayLeave && !(await options.mayLeave())) fails('aborted', 'refused')();
    done.push(`${name} ${id}`);
    return setting.calls?.[name] ? setting.calls[name]() : fallback;
  };
  const session = {
    ...facts(),
    ref: { namespace: 'team', name: 'default' },
    uid: 'account',
    identity,
    login: LOGIN,
    market: {
      about: vastFacts,
      rent: call('rent', { instanceId: '7', instanceApiKey: undefined, answeredAt: NOW }),
      destroy: call('destroy', { answeredAt: NOW }),
      start: call('start', { answeredAt: NOW }),
      stop: call('stop', { answeredAt: NOW }),
      relabel: call('label', undefined),
    },
    feed: {
      latest: () => ({ begunAt: at(-1), endedAt: NOW, rows: isCalling && setting.later ? later : rows }),
      absences: () => setting.missingSince ?? [],
      get: async (id: string) => rows.get(id) ?? null,
      listsBegunSince: () => LISTS_BEGUN,
      health: () => ({ state: 'healthy' }),
      pollNow() {},
    },
    utilization: new UtilizationHistory(),
    avoid: {
      current: () => facts().avoided,
      add: ({ type, id }: { type: string; id: string }, reason: string) =>
        done.push(`avoid ${type} ${id} (${reason})`),
      takeBack: ({ type, id }: { type: string; id: string }, { reason }: { reason: string }) =>
        done.push(`avoid ${type} ${id} no more (${reason})`),
    },
    admission: {
      reservedFor: () => ({ has: (id: string) => requested && id === setting.reservedMeanwhile }),
      requestReplacement: () => ({ type: 'fits' }),
      requestStart: () =>
        setting.start
          ? { type: 'refused', message: 'm', ...setting.start }
          : { type: 'permitted', settle() {} },
      request: ({ offerId }: { readonly offerId: string }) => {
        requested = true;
        if (offerId === setting.reservedMeanwhile)
          return { type: 'refused', message: 'm', reason: 'OfferReserved', retryAfterMs: 1_000 };
        return setting.ticket
          ? { type: 'refused', message: 'm', ...setting.ticket }
          : { type: 'ticket', slot: {}, use: () => true, settle() {} };
      },
    },
    limits: {},
    agreement: () => ALL_AGREE,
    answered() {},
    isAnswered: () => false,
    serviceClock: { now: () => ({ type: 'known', at: clock.now() - wallClockAheadMs, isConfirmed: true }) },
    observer: {
      breaker: { type: 'closed' },
      openSpans: [],
      countsHostFailures: true,
      labelEcho: setting.echo ?? 'echoed',
      isEndJudged: () => true,
      planEnd() {},
      announceEnd() {},
      labelReadBack: (sent: string, shown: unknown) => done.push(`read back ${sent} as ${String(shown)}`),
    },
    permits: () => true,
    adoption: () => 'None',
    user: { credit: undefined, sshKeyRegistered: true, mayDestroy: true },
    queue: {
      offers: () =>
        setting.place && !setting.searched ? QUEUED : foundAt(clock, setting.offers ?? [offer()]),
      explain: () => foundAt(clock, setting.offers ?? [offer()]),
      // An object has its place once it has asked for a search or a slot.
      place: () => (looks++ > 0 || setting.waits ? setting.place : undefined),
      leave: () => setting.waits && done.push('leave the queue'),
      slotEnded() {},
    },
  } as unknown as AccountSession;
  const { feed } = session;
  for (const begunAt of [...LISTS_BEGUN, ...(setting.missingSince ?? [])]) {
    steady.noteList(feed, { begunAt, endedAt: NOW, rows: new Map() });
  }
  const cluster = clusterOf(setting, done);
  const lookup = setting.disconnected
    ? { type: 'notReady', reason: 'LoginChanged', message: 'm', session: undefined }
    : { type: 'ready', session };
  const random = seededRandom(1);
  const { newestGeneration: generation, isGone = false } = setting;
  const { metadata } = observed.object;
  const copy = generation ? { ...observed.object, metadata: { ...metadata, generation } } : observed.object;
  const newest = isGone ? undefined : (setting.copied?.(copy) ?? copy);
  const instances = { list: () => [], byIndex: () => [], get: () => newest, wrote() {} } as never;
  const statusWriter: AccountStatusWriter = {
    recordDeleted: () => Promise.resolve(),
    recordRetained: () => Promise.reject(new RangeError('the list of kept machines is full')),
    recordSwept: () => Promise.resolve(),
  };
  const accounts = (
    setting.identityKnown === false
      ? { get: () => ({ type: 'missing' }), statusWriter: () => undefined, sessions: () => [] }
      : {
          get: () => lookup,
          statusWriter: () => statusWriter,
          sessions: () => [session],
          permits: () => true,
        }
  ) as never;
  const withoutStart = new Set<string>();
  let waitsForList = false;
  const deps = depsOf(
    observed.object,
    {
      ...{ clock, steady, random, cluster, instances, accounts, withoutStart },
      budgets: { stop: () => undefined },
      constants: defaultConstants,
      ledger: { recordDeleted: () => Promise.resolve() },
      index: new MachineIndex(defaultConstants),
      identity: () => (setting.disconnected ? identity : undefined),
      leaseRemainingMs: () => (leaseLooks++ < (setting.leaseLooks ?? 99) ? (setting.leaseMs ?? 15_000) : 0),
      allowPrivateAddresses: false,
      reviews: new AccessReviews(cluster, clock),
      events: { record: ({ reason }: { reason: string }) => done.push(`event ${reason}`) } as never,
      metrics: {
        rented: () => done.push('count rented'),
        rentalFailed: (_account, kind) => done.push(`count failed ${kind}`),
        destroyed: () => {},
        destroyFailing: (key, price) => done.push(`count ${key} failing ${price}`),
        runFinished: (_account, reason) => done.push(`count run ${reason}`),
        ended: (_account, reason) => done.push(`count ended ${reason}`),
      },
    },
    {
      memory,
      aside: (wait) => {
        setting.aside?.push('aside');
        return wait();
      },
      log: {
        ...silentLogger,
        info: (message, fields) => setting.logged?.push([message, fields]),
        debug: (message, fields) => setting.searches?.push([message, fields]),
      },
      readNow: () => setting.readNow?.(observed.object) ?? Promise.resolve(newest),
      wake() {},
      onNextList: () => {
        waitsForList = true;
      },
    },
  );
  /** Returns the result, and whether the next list is awaited. */
  const run = async () => {
    const result = await reconcile(observed.object, deps);
    return { ...result, ...(waitsForList && { onNextList: true }) };
  };
  return { run, done, memory, withoutStart, steady, clock };
}

/** Accepts all writes except the one verb that conflicts. */
function clusterOf(
  {
    allowed = true,
    conflict,
    nameTaken = false,
    slice = false,
    unreadable,
    asked = [],
    replaced = [],
  }: Setting,
  done: string[],
): KubeClient {
  const details = { kind: 'conflict', status: 409, reason: '', outcome: 'refused' } as const;
  const write = (verb: 'patch' | 'replace', object: GpuInstance) => {
    done.push(verb);
    if (conflict === verb) throw new KubeError('told to fail', details);
    return object;
  };
  return {
    create: async (_resource: unknown, object: { kind: string; spec: unknown }) => {
      if (nameTaken && object.kind === 'Secret') {
        throw new KubeError('alreadyExists', { ...details, kind: 'alreadyExists' });
      }
      if (object.kind !== 'SelfSubjectAccessReview') return object;
      asked.push(object.spec);
      return { ...object, status: { allowed } };
    },
    get: async ({ kind }: { readonly kind: string }, { name }: { readonly name: string }) => {
      if (unreadable) throw unreadable;
      if (slice && kind === 'EndpointSlice') return { metadata: { name, ownerReferences: [{ uid: UID }] } };
      return nameTaken ? { metadata: { name, ownerReferences: [{ uid: 'another' }] } } : undefined;
    },
    delete: async ({ kind }: { readonly kind: string }, { name }: { readonly name: string }) =>
      done.push(`delete ${kind} ${name}`),
    patch: async (_resource: unknown, _ref: unknown, { body }: { body: GpuInstance }) =>
      write('patch', withKind(body)),
    replace: async (_resource: unknown, object: GpuInstance) => {
      replaced.push(object);
      return write('replace', object);
    },
  } as unknown as KubeClient;
}

/** Returns the answer to a merge patch of metadata: the rest of the object is unchanged. */
function withKind(body: GpuInstance): GpuInstance {
  const { object } = given();
  return { ...object, ...body, metadata: { ...object.metadata, ...body.metadata } };
}

describe('a pass that buys', () => {
  test('writes the intent, then rents, then writes the result', async () => {
    const { run, done, memory } = situation();
    expect(await run()).toEqual({ type: 'done', onNextList: true });
    expect(done).toEqual(['patch', 'rent 100', 'count rented', 'replace', 'event InstanceRented']);
    expect(memory.view()).toMatchObject({ rented: undefined, intent: { attempt: 1, offer: '100' } });
  });

  test('buys nothing whose id it may not write down', async () => {
    const { run, done, memory } = situation({ allowed: false });
    expect(await run()).toEqual(requeueAfter(10_000));
    expect(done).toEqual(['event NotPermitted']);
    expect(memory.view()).toMatchObject({ notBefore: NOW + 10_000, refusal: { reason: 'NotPermitted' } });
  });

  test('scenario 113: rents nothing when the name of its connection Secret is taken (B05)', async () => {
    const { run, done } = situation({ nameTaken: true });
    expect(await run()).toEqual(requeueAfter(60_000));
    expect(done).toEqual(['replace', 'event NameTaken', 'event InvalidSpec']);
  });

  test('asks for update of gpuinstances/status in the object’s namespace', async () => {
    const asked: unknown[] = [];
    await situation({ asked }).run();
    expect(asked).toEqual([
      {
        resourceAttributes: {
          verb: 'update',
          group: 'gpurental.dev',
          resource: 'gpuinstances',
          subresource: 'status',
          namespace: 'team',
        },
      },
    ]);
  });

  test('scenario 100: says that it is queued when no rental slot is free, also over an older reason (F2)', async () => {
    const ticket = { reason: 'Queued', retryAfterMs: 5_000 };
    const status = { observedGeneration: 1, conditions: [readyCondition('AccountNotReady')] };
    for (const object of [{}, { status }]) {
      const { run, done, memory } = situation({ ticket, place: PLACE, object, searched: true });
      expect(await run()).toEqual(requeueAfter(10_000));
      expect(done).toEqual(['replace']);
      expect(memory.fields.queued).toMatchObject({ reason: 'Queued', at: NOW, expectedMs: 9_000 });
    }
    const outrun = situation({ ticket, place: PLACE, searched: true, conflict: 'replace' });
    expect(await outrun.run()).toEqual(conflict(50));
  });

  test('says that its search is queued, counts no failure for it, and keeps its place', async () => {
    const { run, done, memory } = situation({ place: PLACE });
    expect(await run()).toEqual(requeueAfter(10_000));
    expect(done).toEqual(['replace', 'event InvalidSpec']);
    expect(memory.failures).toBe(0);
  });

  test('leaves the queue when it comes to want something else', async () => {
    const paused = situation({ place: PLACE, waits: true, object: { spec: { paused: true } } });
    await paused.run();
    expect(paused.done[0]).toBe('leave the queue');
  });

  test('leaves the queue when its account loses its session and another account of the login keeps it', async () => {
    const left = situation({ place: PLACE, waits: true, disconnected: true });
    await left.run();
    expect(left.done[0]).toBe('leave the queue');
  });

  test('delays no other object when the marketplace lets it wait, but for a rental, whose slot is there', async () => {
    const buying: string[] = [];
    await situation({ aside: buying }).run();
    expect(buying, 'the search').toHaveLength(1);
    const leaving: string[] = [];
    await situation({ aside: leaving, object: { ...withMachine(), deleting: true } }).run();
    expect(leaving, 'the destroy').toHaveLength(1);
  });

  test('rents nothing when another client wrote first', async () => {
    const { run, done } = situation({ conflict: 'patch' });
    expect(await run()).toEqual(conflict(50));
    expect(done).toEqual(['patch']);
  });

  test('stops, starts and destroys nothing once another process may lead', async () => {
    const unwanted = withMachine({}, { spec: { powerState: 'Stopped' } });
    for (const object of [
      unwanted,
      withMachine({ state: 'stopped' }),
      { ...withMachine(), deleting: true },
    ]) {
      const { run, done } = situation({ object, leaseMs: 3_000 });
      expect(await run()).toEqual(requeueAfter(1_000));
      expect(done).toEqual([]);
    }
  });

  test('destroys nothing where the lease ended while that was recorded', async () => {
    const object = withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(-1) } });
    const { run, done } = situation({ object, leaseLooks: 1 });
    expect(await run()).toEqual(requeueAfter(1_000));
    expect(done).toEqual(['replace', 'event ReplaceRequested']);
  });

  test('destroys nothing by one search reply, and destroys when a second one shows the offer', async () => {
    const object = withMachine({}, { annotations: { 'gpurental.dev/replace-at': time(-1) } });
    const { run, done, clock, memory } = situation({ object, isFirstSearch: true });
    expect(await run()).toEqual(requeueAfter(3_000));
    expect(done).toEqual(['replace', 'event InstanceReady']);
    expect(memory.replacement.firstSearch?.offerIds).toEqual(['100']);
    await clock.advance(2_999);
    expect(await run()).toEqual(requeueAfter(1));
    expect(done).not.toContain('destroy 1');
    await clock.advance(1);
    await run();
    expect(done).toContain('destroy 1');
  });

  test('scenario 86: takes a call back if the newest list shows no reason for it any more (H1)', async () => {
    const object = withMachine({}, { spec: { powerState: 'Stopped' } });
    const { machines: running } = object;
    const { machines: stopped } = withMachine({ state: 'stopped' });
    const before = situation({ object, later: running ?? [] });
    await before.run();
    expect(before.done).toContain('stop 1');
    const { run, done } = situation({ object, later: stopped ?? [] });
    expect(await run()).toEqual(requeueAfter(0));
    expect(done).not.toContain('stop 1');
  });

  test('takes a call back if its object is gone while it waits, unless it was being deleted (H1)', async () => {
    const object = withMachine({}, { spec: { powerState: 'Stopped' } });
    const { run, done } = situation({ object, isGone: true });
    expect(await run()).toEqual(requeueAfter(0));
    expect(done).not.toContain('stop 1');
    const leaving = situation({ object: { ...withMachine(), deleting: true }, isGone: true });
    await leaving.run();
    expect(leaving.done).toContain('destroy 1');
  });

  test('takes a destroy back where the lease ended, or the spec changed, while it waited for its place', async () => {
    const object: Given = { ...withMachine(), deleting: true };
    for (const meanwhile of [{ leaseLooks: 2 }, { newestGeneration: 9 }]) {
      const { run, done, memory } = situation({ object, ...meanwhile });
      expect(await run()).toEqual(requeueAfter(0));
      expect(done).toEqual([]);
      expect(memory.view()).toMatchObject({ destroys: [], destroyFailures: 0 });
    }
    const { run, done } = situation({ object, newestGeneration: 1 });
    await run();
    expect(done).toContain('destroy 1');
  });

  test('scenario 111: keeps the machine of a deleted object where the API server knows that it is to stay, and the watch lags', async () => {
    const object: Given = { ...withMachine(), deleting: true };
    const retained = async (old: GpuInstance): Promise<GpuInstance> => ({
      ...old,
      metadata: { ...old.metadata, generation: 9, resourceVersion: '6' },
      spec: { ...old.spec, deletionPolicy: 'Retain' },
    });
    const { run, done, memory } = situation({ object, readNow: retained });
    expect(await run()).toEqual(requeueAfter(0));
    expect(done).toEqual([]);
    expect(memory.view()).toMatchObject({ destroys: [], destroyFailures: 0 });
  });

  test('keeps the machine of a deleted object that the API server no longer has, and the watch lags', async () => {
    const object: Given = { ...withMachine(), deleting: true };
    const { run, done } = situation({ object, readNow: () => Promise.resolve(undefined) });
    expect(await run()).toEqual(requeueAfter(0));
    expect(done).toEqual([]);
    const { run: removed, done: carriedOut } = situation({ object, isGone: true });
    await removed();
    expect(carriedOut).toContain('destroy 1');
  });

  test('destroys another machine no more once the API server has another record', async () => {
    const object: Given = { ...withMachine({ label: null }), deleting: true };
    const moved = async (old: GpuInstance): Promise<GpuInstance> => ({
      ...old,
      metadata: { ...old.metadata, resourceVersion: '6' },
      status: { ...old.status, instanceId: '2' },
    });
    const { run, done } = situation({ object, readNow: moved });
    expect(await run()).toEqual(requeueAfter(0));
    expect(done).toEqual([]);
  });

  test('keeps a machine while the copy still shows the policy that was changed before the pass', async () => {
    const spec = { deletionPolicy: 'Retain' } as const;
    const object: Given = { ...withMachine({}, { spec }), deleting: true };
    const { run, done } = situation({
      object,
      copied: (newer) => ({
        ...newer,
        metadata: { ...newer.metadata, resourceVersion: '4', generation: 1 },
        spec: { ...newer.spec, deletionPolicy: 'Destroy' },
      }),
    });
    await expect(run()).rejects.toThrow('the list of kept machines is full');
    expect(done).toContain('label 1');
  });

  test('takes the address of a deleted object out of its Service first, and destroys where that fails, too', async () => {
    const announced = { endpoint: '203.0.113.5:20022' };
    const object: Given = { ...withMachine({}, { status: announced, spec: { ssh: true } }), deleting: true };
    const { run, done } = situation({ object, slice: true });
    await run();
    expect(done.slice(0, 3)).toEqual([
      'delete EndpointSlice job-direct',
      'delete EndpointSlice job-ssh',
      'destroy 1',
    ]);
    const details = { kind: 'unavailable', status: 503, reason: '', outcome: 'unknown' } as const;
    const cut = situation({ object, unreadable: new KubeError('told to fail', details) });
    await cut.run();
    expect(cut.done[0]).toBe('destroy 1');
    const broken = situation({ object, unreadable: new TypeError('a fault of the operator') });
    await expect(broken.run()).rejects.toThrow('a fault of the operator');
  });

  test('begins nothing that the lease would not outlast', async () => {
    const { run, done } = situation({ leaseMs: 3_500 });
    expect(await run()).toEqual(requeueAfter(1_000));
    expect(done).toEqual([]);
  });

  test.for([
    ['OfferReserved', 1_000, 50, undefined],
    ['Queued', 1_000, 1_000, undefined],
    ['AtLimit', 5_000, 0, { reason: 'AtLimit', detail: 'm' }],
  ] as const)(
    'without a ticket (%s) writes nothing and asks again',
    async ([reason, retryAfterMs, afterMs, said]) => {
      const { run, done, memory } = situation({ ticket: { reason, retryAfterMs } });
      expect(await run()).toEqual(requeueAfter(afterMs));
      expect(done).toEqual([]);
      expect(memory.refusal).toEqual(said);
      expect(memory.notBefore).toBe(said ? NOW + retryAfterMs : 0);
      memory.accountChanged();
      expect(memory.notBefore).toBe(0);
    },
  );

  test('rents the next offer at once when another object has just reserved the first', async () => {
    const offers = [offer({ id: '8', pricePerHour: 300_000 }), offer({ id: '9', pricePerHour: 400_000 })];
    const { run, done } = situation({ offers, reservedMeanwhile: '8' });
    await run();
    expect(done).toContain('rent 9');
    expect(done).not.toContain('rent 8');
  });

  test('waits a moment when another object has reserved all that it found', async () => {
    const offers = [offer({ id: '8', pricePerHour: 300_000 })];
    const { run, done } = situation({ offers, reservedMeanwhile: '8' });
    expect(await run()).toEqual(requeueAfter(50));
    expect(done).toEqual([]);
  });

  test('does nothing while this installation does not know who it is', async () => {
    const { run, done } = situation({ identityKnown: false });
    expect(await run()).toEqual(requeueAfter(1_000));
    expect(done).toEqual([]);
  });
});

describe('a rental that failed', () => {
  const rentFailing = async (rent: () => unknown) => {
    const made = situation({ calls: { rent } });
    return { result: await made.run(), ...made };
  };

  test('with an unknown outcome is left to the lists: nothing says that it was refused', async () => {
    const { result, done, memory } = await rentFailing(fails('timeout', 'unknown'));
    expect(result).toEqual(requeueAfter(0));
    expect(done).toEqual(['patch', 'rent 100', 'count failed timeout']);
    expect(memory.fields).toMatchObject({ intent: { attempt: 1 } });
    expect([memory.fields.refused, memory.fields.rented]).toEqual([undefined, undefined]);
  });

  test('for sure settles its purchase, and keeps off the offer that is gone', async () => {
    const { result, done, memory } = await rentFailing(fails('offerGone', 'refused'));
    expect(result).toEqual(requeueAfter(0));
    expect(done).toContain('avoid offer 100 (offerGone)');
    expect(memory.view()).toMatchObject({ refused: { attempt: 1, issuedAt: NOW }, notBefore: 0 });
  });

  test('for a reason worth a condition is tried again after its time', async () => {
    const { result, memory } = await rentFailing(fails('insufficientCredit', 'refused'));
    expect(result).toEqual(requeueAfter(0));
    expect(memory.view()).toMatchObject({ failures: 1, refusal: { reason: 'InsufficientCredit' } });
    expect(memory.notBefore).toBeGreaterThan(NOW);
    memory.accountChanged();
    expect(memory.notBefore).toBeGreaterThan(NOW);
  });

  test('and named its machine all the same is saved as one that worked', async () => {
    const { result, done } = await rentFailing(fails('malformedReply', 'unknown', '9'));
    expect(result).toEqual({ type: 'done', onNextList: true });
    expect(done.slice(-3)).toEqual(['count rented', 'replace', 'event InstanceRented']);
  });

  test('dates the machine of an unreadable reply by the time of the marketplace', async () => {
    const replaced: GpuInstance[] = [];
    const calls = { rent: fails('malformedReply', 'unknown', '9') };
    await situation({ calls, replaced, wallClockAheadMs: 3_600_000 }).run();
    expect(replaced.map(({ status }) => status)).toMatchObject([
      { instanceId: '9', firstRentedAt: time(-3_600), cost: { since: time(-3_600) } },
    ]);
  });
});

test('a machine that is proven gone is counted, kept off and forgotten, once that is written down', async () => {
  const destroyed = (memory: ObjectMemory) =>
    memory.destroyed({ instanceId: '1', reason: 'Exited', answeredAt: at(-15), endedAt: at(-15) });
  const { intent: bought, status } = withMachine();
  const object = { intent: bought, status } as Given;
  const { run, done, memory } = situation({ object, memory: destroyed, missingSince: [at(-12), at(-2)] });
  expect(await run()).toEqual(requeueAfter(0));
  expect(done).toEqual([
    'replace',
    'event InstanceDestroyed',
    'avoid machine 1100 (Exited)',
    'count ended Exited',
  ]);
  expect(memory.view().destroys).toEqual([]);
});

test('B04: the second machine that fails alike is not kept off, and the first one is no more', async () => {
  const destroyed = (memory: ObjectMemory) =>
    memory.destroyed({ instanceId: '1', reason: 'Exited', answeredAt: at(-15), endedAt: at(-15) });
  const repeatedFailure = {
    reason: 'Exited',
    machines: 1,
    machineId: '9',
    at: time(-600),
    cost: '0.10',
    generation: 1,
  };
  const { intent: bought, status } = withMachine({}, { status: { repeatedFailure } });
  const object = { intent: bought, status } as Given;
  const { run, done } = situation({ object, memory: destroyed, missingSince: [at(-12), at(-2)] });
  await run();
  expect(done).toEqual([
    'replace',
    'event InstanceDestroyed',
    'avoid machine 9 no more (Exited)',
    'count ended Exited',
  ]);
});

test('an object that had many machines too many is let go once each is proven gone', async () => {
  const object: Given = { intent: intent(), status: { attempt: 1 }, deleting: true };
  const destroyed = (memory: ObjectMemory) => {
    for (let instanceId = 1; instanceId <= 30; instanceId += 1)
      memory.destroyed({
        instanceId: String(instanceId),
        reason: 'Deleting',
        answeredAt: at(-60),
        endedAt: at(-60),
      });
  };
  const { run, done } = situation({ object, memory: destroyed, missingSince: [at(-50), at(-2)] });
  await run();
  expect(done).toEqual(['event InstanceDestroyed', 'patch']);
});

test('a search that leads to no purchase is made later each time', async () => {
  const { run, memory } = situation({ offers: [] });
  await run();
  expect(memory.view()).toMatchObject({
    failures: 1,
    notBefore: NOW + 5_127,
    refusal: { reason: 'NoOffers' },
  });
  memory.accountChanged();
  expect(memory.view()).toMatchObject({ failures: 0, notBefore: 0 });
});

describe('a pass that ends machines', () => {
  const two = { ...withMachine({}, { machines: [machineOf(1), machineOf(2, { id: '5' })] }), deleting: true };

  test('goes on to the next machine after one was destroyed', async () => {
    const { run, done, memory } = situation({
      object: two,
      memory: (before) => {
        before.failures = 2;
      },
    });
    await run();
    expect(memory.failures).toBe(2);
    expect(done).toEqual([
      'destroy 1',
      'replace',
      'count team/job failing 0',
      'destroy 5',
      'count team/job failing 0',
    ]);
    expect(memory.view().destroys.map(({ instanceId }) => instanceId)).toEqual(['1', '5']);
  });

  test('counts a destroy that failed, with what the machine costs, and waits', async () => {
    const { run, done, memory } = situation({
      object: two,
      calls: { destroy: fails('unavailable', 'unknown') },
      memory: (memory) => {
        memory.fields.destroyFailures = 2;
      },
    });
    await run();
    expect(done).toEqual([
      'destroy 1',
      'count team/job failing 500000',
      'destroy 5',
      'count team/job failing 500000',
    ]);
    expect(memory.view()).toMatchObject({ destroyFailures: 4, failures: 0, notBefore: 0 });
    expect(memory.fields.destroyNotBefore).toBeGreaterThan(NOW);
    expect(memory.view().destroys).toEqual([]);
  });

  test('destroys the other machine although the first cannot be destroyed', async () => {
    let calls = 0;
    const firstFails = () => (calls++ === 0 ? fails('unavailable', 'unknown')() : {});
    const { run, done, memory } = situation({
      object: two,
      calls: { destroy: firstFails },
    });
    const result = await run();
    expect(result.type === 'requeueAfter' && result.ms < 6_000).toBe(true);
    expect(done).toContain('destroy 5');
    expect(memory.view().destroys.map(({ instanceId }) => instanceId)).toEqual(['5']);
  });

  test('keeps the guard of an object whose machine could not be noted as kept', async () => {
    const object = { ...withMachine({}, { spec: { deletionPolicy: 'Retain' } }), deleting: true };
    const { run, done } = situation({ object, calls: { label: fails('forbidden', 'refused') } });
    await expect(run()).rejects.toThrow('full');
    expect(done).toEqual(['label 1', 'event NotRetained']);
  });

  test('says why a machine ends before it is destroyed, on the version that was judged', async () => {
    const object = withMachine({}, { spec: { maxLifetime: '1m' } });
    const { run, done } = situation({ object });
    await run();
    expect(done.slice(0, 3)).toEqual(['replace', 'event LimitReached', 'destroy 1']);
    const lost = situation({ object, conflict: 'replace' });
    expect(await lost.run()).toEqual(conflict(50));
    expect(lost.done).toEqual(['replace']);
  });
});

test('F12: a search is logged for debugging, and an object that waits in one line, not once a search', async () => {
  const searches: unknown[] = [];
  const offers = [offer({ id: '1', pricePerHour: 500_000 }), offer({ id: '2', pricePerHour: 300_000 })];
  await situation({ offers, searches }).run();
  expect(searches[0]).toEqual(['Offers searched', { offers: 2, fromDollarsPerHour: '0.30' }]);

  const logged: unknown[] = [];
  await situation({ offers: [], logged }).run();
  expect(logged).toMatchObject([['State changed', { phase: 'Pending', reason: 'NoOffers' }]]);
  for (const [reason, lines] of [
    ['NoOffers', 0],
    ['Queued', 1],
  ] as const) {
    const ready = { type: 'Ready', status: 'False', message: '', lastTransitionTime: '2026-11-20T12:00:00Z' };
    const object = { status: { conditions: [{ ...ready, reason }] } } as NonNullable<
      Parameters<typeof situation>[0]
    >['object'];
    const again: unknown[] = [];
    await situation({ offers: [], ...(object && { object }), logged: again }).run();
    expect(again, reason).toHaveLength(lines);
  }
});

test('logs each action with its rule and the reason of the rule', async () => {
  const logged: unknown[] = [];
  await situation({ offers: [offer({ id: '1' })], logged }).run();
  const because = 'The spec requests a machine, and nothing blocks the rental.';
  expect(logged).toContainEqual(['Acting', expect.objectContaining({ rule: 'purchase', because })]);
});

test('a start that the service does not know is remembered of the whole login', async () => {
  const { run, done, withoutStart } = situation({
    object: withMachine({ state: 'stopped' }),
    calls: { start: fails('invalidRequest', 'refused') },
    memory: (before) =>
      before.backOff(NOW - 6_000, 5_000, { reason: 'InvalidSpec', detail: 'no', isStartInvalid: true }),
  });
  expect(await run()).toEqual(requeueAfter(0));
  expect(done).toContain('start 1');
  expect([...withoutStart]).toEqual(['account']);
});

test.for([
  ['otherwise', fails('unavailable', 'unknown')],
  ['as an unknown one would, for the first time,', fails('invalidRequest', 'refused')],
] as const)('a start that failed %s says nothing of the login', async ([, start]) => {
  const { run, withoutStart } = situation({
    object: withMachine({ state: 'stopped' }),
    calls: { start },
  });
  await run();
  expect([...withoutStart]).toEqual([]);
});

test.for([
  ['for its limits is asked for again as soon as the account changes', 'InsufficientCredit', 0],
  ['for another that has the offer waits its time, whatever else changes', 'OfferReserved', NOW + 5_000],
] as const)('a start that the account refuses %s', async ([, reason, notBefore]) => {
  const { run, done, memory } = situation({
    object: withMachine({ state: 'stopped' }),
    start: { reason, retryAfterMs: 5_000 },
  });
  await run();
  expect(done).not.toContain('start 1');
  expect(memory.notBefore).toBe(NOW + 5_000);
  memory.accountChanged();
  expect(memory.notBefore).toBe(notBefore);
});

describe('a pass that looks closer', () => {
  const choosing = (alternatives: number): Setting => {
    const { object } = given();
    const [requirements] = object.spec.offers ?? [];
    const offers = Array.from({ length: alternatives }, () => ({ ...requirements }));
    const wide = { ...object, spec: { ...object.spec, offers } } as GpuInstance;
    return { object: { observed: { object: wide } }, offers: [] };
  };

  test('searches for as many alternatives as an object may have', async () => {
    const { run, memory } = situation(choosing(8));
    await run();
    expect(memory.failures).toBe(1);
  });

  test('ends in an error where one look leads to the next without end', async () => {
    const { run, done } = situation(choosing(30));
    await expect(run()).rejects.toThrow('without end');
    expect(done).toEqual([]);
  });
});

test.for([
  ['a quarter of an hour after they were written', false, NOW + CHILDREN_CHECK_MS],
  ['at once where they could not be written', true, undefined],
] as const)('children are looked at again %s', async ([, nameTaken, dueAt]) => {
  const object = withMachine({}, { status: { binding: undefined } });
  const { run, memory } = situation({ object, nameTaken });
  await run();
  expect(memory.view().childrenDueAt).toBe(dueAt);
});

test('what was tried and worked ends the wait for it', async () => {
  const { run, memory } = situation({
    object: withMachine({ state: 'stopped' }),
    memory: (memory) => memory.backOff(NOW - 9_000, 5_000),
  });
  await run();
  expect(memory.view()).toMatchObject({ failures: 0, notBefore: 0 });
});

describe('whether labels come back', () => {
  const shown = labelOf(1);
  const object = withMachine({ label: 'of somebody' });
  const readBack = (setting: Setting) => {
    const made = situation(setting);
    return made.run().then(() => made.done.filter((line) => line.startsWith('read back')));
  };

  test('is learned from the first machine of a login', async () => {
    expect(await readBack({ object, echo: 'unknown' })).toEqual([`read back ${shown} as of somebody`]);
  });

  test.for<readonly [string, Setting]>([
    ['that is known already', { object, echo: 'echoed' }],
    ['of another purchase', { object: { ...object, status: holding({ attempt: 2 }) }, echo: 'unknown' }],
    [
      'whose id a person wrote into the status',
      {
        object: { ...object, status: holding({ claim: holding({ instanceId: '2' }).claim }) },
        echo: 'unknown',
      },
    ],
    ['that is not listed', { object: { ...object, machines: [] }, echo: 'unknown' }],
    ['without its intent', { object: { ...object, intent: '{}' }, echo: 'unknown' }],
  ])('is not learned from a machine %s', async ([, setting]) => {
    expect(await readBack(setting)).toEqual([]);
  });
});

test('a result that is still in memory is saved once', async () => {
  const rented = {
    attempt: 1,
    instanceId: '7',
    answeredAt: NOW,
    offer: undefined,
    offerIndex: undefined,
    pricePerHour: undefined,
    specHash: undefined,
    image: undefined,
  };
  const { run, done, memory } = situation({
    object: { intent: intent() },
    memory: (memory) => {
      memory.fields.rented = rented;
    },
  });
  await run();
  expect(done).toEqual(['replace', 'event InstanceRented', 'event InvalidSpec']);
  expect(memory.fields.rented).toBeUndefined();
});

const HELD = { 'gpurental.dev/hold': 'mine' };

function copy(generation: number, annotations: Record<string, string> = {}): GpuInstance {
  const { object } = given();
  return { ...object, metadata: { ...object.metadata, generation, annotations } };
}

const named = (object: GpuInstance): GpuInstance => ({
  ...object,
  metadata: { ...object.metadata, uid: 'another' },
});

const deleted = (object: GpuInstance): GpuInstance => ({
  ...object,
  metadata: { ...object.metadata, deletionTimestamp: '2026-11-20T10:00:00Z' },
});

test.for<[string, GpuInstance, GpuInstance | undefined, boolean]>([
  ['the same object asks for the same', copy(2), copy(2), false],
  ['a newer spec, or a deletion, is another wish', copy(2), copy(3), true],
  ['a copy that is behind changes nothing', copy(3), copy(2), false],
  ['a machine that is held now is another wish', copy(2), copy(2, HELD), true],
  ['one that was held all the time is none', copy(2, HELD), copy(2, HELD), false],
  ['one that is let go meanwhile waits for the next pass', copy(2, HELD), copy(2), false],
  ['an object that is gone asks for nothing any more (H1)', copy(2), undefined, true],
  ['nor does one whose name another object has', copy(2), named(copy(2)), true],
  ['what the deletion of an object asked for holds when it is gone', deleted(copy(2)), undefined, false],
])('%s', ([, decidedOn, newest, expected]) => {
  expect(isSuperseded(decidedOn, newestOf(decidedOn, newest))).toBe(expected);
});
