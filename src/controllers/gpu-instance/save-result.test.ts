import { describe, expect, test } from 'vitest';
import { at, given, identity, intent, LOGIN, NOW, UID } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import type { GpuInstance, GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { type LogFields, silentLogger } from '../../lib/logger.ts';
import { claimVerifies } from '../../ownership/claim.ts';
import { requeueAfter } from '../../runtime/controller.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { receiptOf } from '../../runtime/writes.ts';
import type { Deps } from './deps.ts';
import { ObjectMemory, SteadyClock } from './memory.ts';
import { saveResult } from './reconcile.ts';
import type { RentedFacts } from './types.ts';

const RENTED: RentedFacts = {
  attempt: 1,
  instanceId: '7',
  answeredAt: at(2),
  offer: undefined,
  offerIndex: 0,
  pricePerHour: 500_000,
  specHash: 'v1:0',
  image: 'i',
  sealedKey: 'sealed',
};

const refused = (kind: KubeErrorKind) =>
  new KubeError('told to fail', { kind, status: 0, reason: '', outcome: 'refused' });

interface Cluster {
  /** Number of status writes that conflict. */
  readonly conflicts?: number;
  /** Object that the API server returns on the second read. */
  readonly newer?: (object: GpuInstance) => GpuInstance | undefined;
  readonly statusFailure?: KubeErrorKind;
  /** The object has had a machine before, whose Secret is there. */
  readonly binding?: boolean;
  readonly secretFailure?: KubeErrorKind;
  /** Echo of labels known to the account, if it has a session. */
  readonly labelEcho?: 'unknown' | 'echoed' | 'notEchoed';
}

/** Saves a rental of machine 7, three seconds after it was decided on. */
function situation({
  conflicts = 0,
  newer,
  statusFailure,
  secretFailure,
  labelEcho,
  binding = false,
}: Cluster = {}) {
  let [lists, slots, plans] = [0, 0, 0];
  const session = {
    answered() {},
    queue: { slotEnded: () => slots++ },
    observer: { planEnd: () => plans++, announceEnd() {} },
    feed: { health: () => ({ state: 'healthy' }), pollNow: () => lists++ },
  };
  const statuses: { readonly version: string | undefined; readonly status: GpuInstanceStatus }[] = [];
  const secrets: unknown[] = [];
  const events: string[] = [];
  const lines: unknown[] = [];
  const cached: unknown[] = [];
  const observed = given({
    intent: intent({ issuedAt: NOW }),
    ...(binding && { status: { binding: { name: 'job-connection' } } }),
    ...(labelEcho && { facts: { labelEcho } }),
  });
  const cluster = {
    replace: async (_resource: unknown, object: GpuInstance) => {
      statuses.push({ version: object.metadata.resourceVersion, status: object.status ?? ({} as never) });
      if (statusFailure) throw refused(statusFailure);
      if (statuses.length <= conflicts) throw refused('conflict');
      return object;
    },
    get: async (): Promise<GpuInstance | undefined> => {
      const metadata = { ...observed.object.metadata, resourceVersion: `${5 + statuses.length}` };
      const again = { ...observed.object, metadata };
      return newer ? newer(again) : again;
    },
    patch: async (_resource: unknown, { name }: { readonly name: string }) => {
      if (secretFailure) throw refused(secretFailure);
      secrets.push(name);
    },
  } as unknown as KubeClient;
  const memory = new ObjectMemory();
  memory.backOff(0, 60_000);
  const clock = createVirtualClock({ startMs: NOW + 3_000 });
  const ports = {
    cluster,
    memory,
    clock,
    log: {
      ...silentLogger,
      info: (message: string, fields?: LogFields) => void lines.push([message, fields]),
    },
    showEvent: ({ reason }: { readonly reason: string }) => events.push(reason),
    metrics: {} as Deps['metrics'],
    steady: new SteadyClock(clock),
    session: labelEcho === undefined ? undefined : (session as unknown as Deps['session']),
    wrote: (object: GpuInstance) => cached.push(object),
    leaseRemainingMs: () => 0,
    wake() {},
    onNextList: () => {
      waitsForList = true;
    },
  };
  let waitsForList = false;
  const save = async () => {
    const result = await saveResult({ observed, receipt: receiptOf(observed.object) }, RENTED, ports);
    return { ...result, ...(waitsForList && { onNextList: true }) };
  };
  return {
    save,
    memory,
    statuses,
    secrets,
    events,
    lines,
    cached,
    lists: () => lists,
    applied: () => ({ slots, plans }),
  };
}

describe('the result of a rental', () => {
  test.each([
    ['not known whether they are returned', 'unknown', {}, 1],
    ['none are returned', 'notEchoed', {}, 0],
    ['they are returned', 'echoed', {}, 0],
    ['not known, and the result could not be saved', 'unknown', { conflicts: 4 }, 0],
  ] as const)(
    'asks for a list, which lets the next one go, only while labels are unproven: %s',
    async (_, labelEcho, cluster, expected) => {
      const { save, lists } = situation({ ...cluster, labelEcho });
      await save();
      expect(lists()).toBe(expected);
    },
  );

  test('P20: is a line of the log with machine id and price', async () => {
    const { save, lines } = situation();
    await save();
    expect(lines).toContainEqual([
      'Machine rented',
      expect.objectContaining({ instanceId: '7', attempt: 1, dollarsPerHour: '0.50' }),
    ]);
  });

  test('is id, attempt and a claim that verifies, in the next write of the object', async () => {
    const { save, memory, statuses, events, cached } = situation();
    expect(await save()).toEqual({ type: 'done', onNextList: true });
    expect(statuses).toHaveLength(1);
    const { version, status } = statuses[0] ?? {};
    expect(version).toBe('5');
    expect(status).toMatchObject({
      attempt: 1,
      instanceId: '7',
      rentals: [expect.stringContaining('12:00:03')],
    });
    const claimed = { login: LOGIN, uid: UID, attempt: 1, instanceId: '7' };
    expect(claimVerifies(identity.keys, claimed, status?.claim)).toBe(true);
    expect(events).toEqual(['InstanceRented']);
    expect(cached).toHaveLength(1);
    expect(memory.fields.rented).toBeUndefined();
  });

  test('is applied like every recorded decision', async () => {
    const { save, applied, lines } = situation({ labelEcho: 'echoed' });
    await save();
    expect(applied()).toEqual({ slots: 1, plans: 1 });
    expect(lines).toContainEqual(['State changed', expect.objectContaining({ reason: 'Provisioning' })]);
  });

  test('is not applied when every write conflicts', async () => {
    const { save, applied, lines } = situation({ labelEcho: 'echoed', conflicts: 99 });
    await save();
    expect(applied()).toEqual({ slots: 0, plans: 0 });
    expect(lines).not.toContainEqual(['State changed', expect.anything()]);
  });

  test('ends what earlier failures made this object wait for', async () => {
    const { save, memory } = situation();
    await save();
    expect(memory).toMatchObject({ failures: 0, notBefore: 0 });
  });

  test('is tried again on the newer version when another client wrote in between', async () => {
    const { save, memory, statuses, events } = situation({ conflicts: 3 });
    expect(await save()).toEqual({ type: 'done', onNextList: true });
    expect(statuses.map(({ version }) => version)).toEqual(['5', '6', '7', '8']);
    expect(events).toEqual(['InstanceRented']);
    expect(memory.fields.rented).toBeUndefined();
  });

  test('stays in memory for the next pass where every try lost', async () => {
    const { save, memory, statuses, events } = situation({ conflicts: 99 });
    expect(await save()).toEqual(requeueAfter(0));
    expect(statuses).toHaveLength(4);
    expect(memory.fields.rented).toEqual(RENTED);
    expect(events).toEqual([]);
  });

  test('stays in memory where the API server does not answer', async () => {
    const { save, memory } = situation({ statusFailure: 'unavailable' });
    await expect(save()).rejects.toThrow('told to fail');
    expect(memory.fields.rented).toEqual(RENTED);
  });

  test('is not written over one that was saved already', async () => {
    const newer = (object: GpuInstance) => ({ ...object, status: { ...object.status, attempt: 1 } });
    const { save, statuses } = situation({ conflicts: 1, newer });
    expect(await save()).toEqual(requeueAfter(0));
    expect(statuses).toHaveLength(1);
  });

  test.for<readonly [string, Cluster['newer']]>([
    ['is gone', () => undefined],
    [
      'was made anew under its name',
      (object) => ({ ...object, metadata: { ...object.metadata, uid: 'another' } }),
    ],
  ])('is not written to an object that %s', async ([, newer]) => {
    const { save, memory, statuses } = situation({ conflicts: 1, newer: newer ?? (() => undefined) });
    expect(await save()).toEqual(requeueAfter(0));
    expect(statuses).toHaveLength(1);
    expect(memory.fields.rented).toEqual(RENTED);
  });
});

describe('the connection Secret', () => {
  test('is left until the machine runs: its key is saved with the result', async () => {
    const { save, secrets, statuses } = situation();
    await save();
    expect(secrets).toEqual([]);
    expect(statuses[0]?.status.sealedKey).toBe('sealed');
  });

  test('of a machine before is cleared at the same time', async () => {
    const { save, secrets } = situation({ binding: true });
    await save();
    expect(secrets).toEqual(['job-connection']);
  });

  test('does not keep the result from being saved where it cannot be cleared', async () => {
    const { save, statuses } = situation({ binding: true, secretFailure: 'unavailable' });
    expect(await save()).toEqual({ type: 'done', onNextList: true });
    expect(statuses).toHaveLength(1);
  });
});
