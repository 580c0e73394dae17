import { describe, expect, test } from 'vitest';
import {
  type Given,
  given,
  identity,
  intent,
  LOGIN,
  NOW,
  offer,
  UID,
  withMachine,
} from '../../../test/builders/observed.ts';
import type { Ticket, TicketDecision } from '../../accounts/admission.ts';
import type { AccountSession } from '../../accounts/session.ts';
import { annotations, MACHINE_FINALIZER } from '../../api/v1alpha1/names.ts';
import { readIntent } from '../../ownership/intent.ts';
import { loginText } from '../../ownership/login.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { decide } from './decide.ts';
import { ObjectMemory } from './memory.ts';
import { PurchaseReceipt, type RecordDeps, record, rentCallMs } from './record.ts';
import type { Decision, Observed } from './types.ts';

type Body = {
  metadata: {
    resourceVersion: string;
    uid: string;
    finalizers: string[];
    annotations: Record<string, string>;
  };
};

/** Returns a cluster that records its requests and answers, or fails with this kind. */
function cluster(failure?: KubeErrorKind) {
  const sent: { type: string; body: unknown }[] = [];
  const answer = <T>(type: string, body: unknown, object: T): Promise<T> => {
    sent.push({ type, body });
    if (failure === undefined) return Promise.resolve(object);
    const details = { kind: failure, status: 0, reason: '', outcome: 'unknown' } as const;
    return Promise.reject(new KubeError('told to fail', details));
  };
  const client: Pick<KubeClient, 'patch' | 'replace'> = {
    patch: (_resource, _ref, { type, body }) => answer(`patch ${type}`, body, body as never),
    replace: (_resource, object, options) => answer(`replace ${options?.subresource ?? ''}`, object, object),
  };
  return { client: client as KubeClient, sent };
}

interface Situation {
  readonly failure?: KubeErrorKind;
  readonly ticket?: Extract<TicketDecision, { type: 'refused' }>;
  readonly leaseMs?: number;
  readonly without?: 'account';
}

function situation({ failure, ticket, leaseMs = 60_000, without }: Situation = {}) {
  const { client, sent } = cluster(failure);
  const settled: unknown[] = [];
  const given: Ticket = {
    type: 'ticket',
    id: 1,
    objectUid: UID,
    offerId: '100',
    slot: { endpointClass: 'rent', expiresAt: 0, release() {} },
    use: () => true,
    settle: (result) => settled.push(result),
  };
  const session = { identity, login: LOGIN, admission: { request: () => ticket ?? given } };
  const memory = new ObjectMemory();
  const cached: unknown[] = [];
  const ports: RecordDeps = {
    cluster: client,
    session: without ? undefined : (session as unknown as AccountSession),
    memory,
    wrote: (object) => cached.push(object),
    leaseRemainingMs: () => leaseMs,
    wake() {},
  };
  return { ports, sent, memory, settled, cached };
}

function purchase(situation: Given = {}): { observed: Observed; decision: Decision } {
  const observed = given({
    finalizers: ['other'],
    observed: { offers: new Map([[0, { type: 'found', offers: [offer()] }]]) },
    ...situation,
  });
  const decision = decide(observed);
  if (decision.type !== 'decision') throw new Error('no purchase');
  return { observed, decision };
}

describe('the record of a purchase', () => {
  test('puts guard and intent on the object in one write, on the very version and object that was judged', async () => {
    const { ports, sent } = situation();
    const { observed, decision } = purchase();
    const recorded = await record(observed, decision, ports);
    expect(recorded.type).toBe('purchase');
    expect(sent).toHaveLength(1);
    expect(sent[0]?.type).toBe('patch merge');
    const { metadata } = (sent[0]?.body ?? {}) as Body;
    expect(metadata).toMatchObject({
      uid: UID,
      resourceVersion: '5',
      finalizers: ['other', MACHINE_FINALIZER],
    });
    expect(readIntent(identity.keys, metadata.annotations[annotations.rentalIntent])).toMatchObject({
      type: 'intent',
      intent: { uid: UID, attempt: 1, offer: '100', generation: 1, issuedAt: NOW, deadline: NOW + 30_000 },
    });
  });

  test('says who buys, until when the call may take effect, and what was listed before', async () => {
    const { ports, sent } = situation({ leaseMs: 15_000 });
    const { observed, decision } = purchase({ facts: { labelEcho: 'notEchoed' }, list: { ids: ['4', '5'] } });
    await record(observed, decision, ports);
    const { metadata } = (sent[0]?.body ?? {}) as Body;
    expect(readIntent(identity.keys, metadata.annotations[annotations.rentalIntent])).toMatchObject({
      intent: { login: loginText(LOGIN), deadline: NOW + 12_000, knownIds: ['4', '5'] },
    });
  });

  test('names the fuses that the machine is about to get', async () => {
    const fuses = { lifeSeconds: 4_200, leaseSeconds: 7_200 };
    const inputs = {
      type: 'ready',
      env: {},
      ssh: true,
      args: undefined,
      onStart: 'date',
      imageLogin: undefined,
    } as const;
    const offers = new Map([[0, { type: 'found', offers: [offer()] }]] as const);
    const { ports, sent } = situation();
    const { observed, decision } = purchase({
      observed: { offers, inputs: { ...inputs, fuse: { type: 'fuse', fuses } } },
    });
    await record(observed, decision, ports);
    const { metadata } = (sent[0]?.body ?? {}) as Body;
    expect(readIntent(identity.keys, metadata.annotations[annotations.rentalIntent])).toMatchObject({
      intent: { fuses },
    });
  });

  test('is put into the cache, so that no later pass judges the object without it', async () => {
    const { ports, sent, cached } = situation();
    const { observed, decision } = purchase();
    await record(observed, decision, ports);
    expect(cached).toEqual(sent.map(({ body }) => body));
  });

  test('is not made without a session of the account', async () => {
    const { ports, sent } = situation({ without: 'account' });
    const { observed, decision } = purchase();
    expect(await record(observed, decision, ports)).toEqual({ type: 'lost' });
    expect(sent).toEqual([]);
  });

  test('is remembered, in case the annotation is removed', async () => {
    const { ports, memory } = situation();
    const { observed, decision } = purchase();
    await record(observed, decision, ports);
    expect(memory.fields.intent).toMatchObject({ uid: UID, attempt: 1, offer: '100' });
  });

  test('gives the receipt that a rent needs, with the ticket', async () => {
    const { ports } = situation();
    const { observed, decision } = purchase();
    const recorded = await record(observed, decision, ports);
    expect(recorded.type === 'purchase' && recorded.receipt).toBeInstanceOf(PurchaseReceipt);
  });

  test('writes nothing without a ticket', async () => {
    const refusal = { type: 'refused', reason: 'AtLimit', message: 'm', retryAfterMs: 5 } as const;
    const { ports, sent } = situation({ ticket: refusal });
    const { observed, decision } = purchase();
    expect(await record(observed, decision, ports)).toEqual({ type: 'refused', refusal });
    expect(sent).toEqual([]);
  });

  test.each([
    ['someone else wrote first', 'conflict'],
    ['the object is gone', 'notFound'],
  ] as const)('gives no receipt and gives the ticket back when %s', async (_, failure) => {
    const { ports, settled, memory } = situation({ failure });
    const { observed, decision } = purchase();
    expect(await record(observed, decision, ports)).toEqual({ type: 'lost' });
    expect(settled).toEqual([{ rented: false }]);
    expect(memory.fields.intent).toBeUndefined();
  });

  test('remembers that a call whose intent may have been written was never sent', async () => {
    const { ports, settled, memory } = situation({ failure: 'unavailable' });
    const { observed, decision } = purchase();
    await expect(record(observed, decision, ports)).rejects.toThrow('told to fail');
    expect(settled).toEqual([{ rented: false }]);
    expect(memory.fields.refused).toMatchObject({ attempt: 1, issuedAt: NOW });
    expect(memory.fields.intent).toMatchObject({ attempt: 1 });
  });

  test.each([
    [60_000, 30_000],
    [15_000, 12_000],
    [14_999.7, 11_999],
    [3_900, undefined],
    [0, undefined],
  ])('with %d ms of lease left the call may take %s ms', (lease, expected) => {
    expect(rentCallMs(given(), lease)).toBe(expected);
  });

  test('does not begin where the lease ends too soon', async () => {
    const { ports, sent } = situation({ leaseMs: 3_500 });
    const { observed, decision } = purchase();
    expect(await record(observed, decision, ports)).toEqual({ type: 'leaseTooShort' });
    expect(sent).toEqual([]);
  });
});

describe('the guard that is put back', () => {
  const bare: Given = { ...withMachine(), intent: intent(), finalizers: ['other'] };

  test('is written beside the guards of others, on the very version that was judged, and into the cache', async () => {
    const { ports, sent, cached } = situation();
    const { observed, decision } = purchase(bare);
    expect(decision.rule).toBe('restore-finalizer');
    expect((await record(observed, decision, ports)).type).toBe('recorded');
    expect(sent).toMatchObject([
      { body: { metadata: { resourceVersion: '5', finalizers: ['other', MACHINE_FINALIZER] } } },
    ]);
    expect(cached).toHaveLength(1);
  });

  test.each(['conflict', 'notFound'] as const)('gives no receipt on %s', async (failure) => {
    const { ports } = situation({ failure });
    const { observed, decision } = purchase(bare);
    expect(await record(observed, decision, ports)).toEqual({ type: 'lost' });
  });
});

describe('the record of a status', () => {
  test('is not written where nothing changes, and still permits the act', async () => {
    const { ports, sent, cached } = situation();
    const observed = given(withMachine());
    const first = decide(observed);
    if (first.type !== 'decision') throw new Error('no decision');
    await record(observed, first, ports);
    expect(cached).toEqual(sent.map(({ body }) => body));
    const body = sent[0]?.body as { status: Observed['object']['status'] };
    const again: Observed = { ...observed, object: { ...observed.object, status: body.status } };
    const second = decide(again);
    if (second.type !== 'decision') throw new Error('no decision');
    expect((await record(again, second, ports)).type).toBe('recorded');
    expect(sent).toHaveLength(1);
  });

  test('moves the generation of status and conditions in one write', async () => {
    const { ports, sent } = situation();
    const observed = given(withMachine());
    const object = { ...observed.object, metadata: { ...observed.object.metadata, generation: 7 } };
    const step = decide({ ...observed, object });
    if (step.type !== 'decision') throw new Error('no decision');
    await record({ ...observed, object }, step, ports);
    const { status } = (sent[0]?.body ?? {}) as {
      status: { observedGeneration: number; conditions: { observedGeneration: number }[] };
    };
    expect(status.observedGeneration).toBe(7);
    expect(status.conditions.map((condition) => condition.observedGeneration)).toEqual([7, 7, 7]);
  });

  test.each(['conflict', 'notFound'] as const)('gives no receipt on %s', async (failure) => {
    const { ports } = situation({ failure });
    const observed = given(withMachine({}, { spec: { powerState: 'Stopped' } }));
    const step = decide(observed);
    if (step.type !== 'decision') throw new Error('no decision');
    expect(step.actions).toHaveLength(1);
    expect((await record(observed, step, ports)).type).toBe('lost');
  });
});
