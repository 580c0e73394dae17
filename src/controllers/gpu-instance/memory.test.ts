import { describe, expect, test } from 'vitest';
import { type Given, given, intent, NOW, withMachine } from '../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../test/builders/virtual-clock.ts';
import { CHILDREN_CHECK_MS, Memories, ObjectMemory, SteadyClock } from './memory.ts';
import { EXPLAINED_MS } from './retry.ts';

const REFUSAL = { reason: 'AtLimit', detail: 'limits.maxInstances is 1.' } as const;

describe('when children are looked at again', () => {
  const clock = createVirtualClock();
  const steady = new SteadyClock(clock);
  const sight = (uid: string) => {
    const {
      object,
      purchase: { intent: reading },
    } = given({ status: { binding: { name: 'job-connection' } } });
    const named = { ...object, metadata: { ...object.metadata, uid } };
    return { object: named, intent: reading, recorded: undefined, list: undefined, steady, serviceNow: NOW };
  };

  test('is spread over a quarter of an hour for those that another process wrote', () => {
    const dueIn = (uid: string) => {
      const memory = new ObjectMemory();
      memory.note(sight(uid));
      return (memory.view().childrenDueAt ?? 0) - steady.now();
    };
    expect(dueIn('0000-a')).toBe(0);
    expect(dueIn('8000-a')).toBe(CHILDREN_CHECK_MS / 2);
    expect(dueIn('ffff-a')).toBeLessThan(CHILDREN_CHECK_MS);
  });

  test('is never where there are none yet', () => {
    const memory = new ObjectMemory();
    const { object, ...seen } = sight('0000-a');
    memory.note({ ...seen, object: { ...object, status: {} } });
    expect(memory.view().childrenDueAt).toBeUndefined();
  });

  test('is a quarter of an hour after they were written', () => {
    const memory = new ObjectMemory();
    memory.childrenWritten(steady.now());
    memory.note(sight('0000-a'));
    expect(memory.view().childrenDueAt).toBe(steady.now() + CHILDREN_CHECK_MS);
  });
});

describe('a look that a person asks for (S5)', () => {
  const steady = new SteadyClock(createVirtualClock());
  const sight = (asked: string, requestedAt?: string) => {
    const {
      object,
      purchase: { intent: reading },
    } = given({ status: requestedAt === undefined ? {} : { requestedAt } });
    const annotated = { ...object.metadata, annotations: { 'gpurental.dev/requested-at': asked } };
    return {
      ...{ object: { ...object, metadata: annotated }, intent: reading, recorded: undefined },
      ...{ list: undefined, steady, serviceNow: NOW },
    };
  };

  test('ends a backoff, once for each value that is not handled', () => {
    const memory = new ObjectMemory();
    memory.backOff(0, 290_000, REFUSAL);
    memory.note(sight('1'));
    expect(memory.view()).toMatchObject({ notBefore: 0, refusal: undefined, failures: 0 });
    expect(memory.asksForList).toBe(true);
    memory.backOff(0, 290_000, REFUSAL);
    memory.note(sight('1'));
    expect(memory.view().notBefore).toBe(290_000);
    memory.note(sight('2'));
    expect(memory.view().notBefore).toBe(0);
  });

  test('is known to the search that follows, which no earlier reply answers', () => {
    const memory = new ObjectMemory();
    memory.fields.askedAt = 7_000;
    expect(memory.view().askedAt).toBe(7_000);
  });

  test('that was handled before ends none', () => {
    const memory = new ObjectMemory();
    memory.backOff(0, 290_000, REFUSAL);
    memory.note(sight('1', '1'));
    expect(memory.view().notBefore).toBe(290_000);
    expect(memory.asksForList).toBe(false);
  });
});

describe('what an account refused', () => {
  test('waits no longer once the account changes', () => {
    const memory = new ObjectMemory();
    memory.refusedByAccount(1_000, 10_000, REFUSAL);
    expect(memory.view()).toMatchObject({ notBefore: 11_000, refusal: REFUSAL, failures: 1 });
    memory.accountChanged();
    expect(memory.view()).toMatchObject({ notBefore: 0, refusal: undefined, failures: 0 });
  });

  test('is another matter than what the marketplace refused, which waits its time', () => {
    const memory = new ObjectMemory();
    memory.refusedByAccount(1_000, 10_000, REFUSAL);
    memory.backOff(2_000, 30_000, { reason: 'Throttled', detail: 'slow down' });
    memory.accountChanged();
    expect(memory.view()).toMatchObject({ notBefore: 32_000, failures: 2 });
  });

  test('and then worked is over: a change of the account ends no other wait', () => {
    const memory = new ObjectMemory();
    memory.refusedByAccount(1_000, 10_000, REFUSAL);
    memory.succeeded();
    memory.failures = 3;
    memory.accountChanged();
    expect(memory.view().failures).toBe(3);
  });

  test('of an unknown object is nothing', () => {
    const memories = new Memories();
    memories.accountChanged('a');
    memories.of('a').refusedByAccount(0, 10_000, REFUSAL);
    memories.accountChanged('a');
    expect(memories.of('a').view().notBefore).toBe(0);
  });
});

test('what is remembered of an object is the same at each pass, until it is forgotten', () => {
  const memories = new Memories();
  const memory = memories.of('a');
  expect(memories.of('a')).toBe(memory);
  expect(memories.of('b')).not.toBe(memory);
  memories.forget('a');
  expect(memories.of('a')).not.toBe(memory);
});

describe('what is remembered of a machine', () => {
  const steady = new SteadyClock(createVirtualClock());
  const seen = (actualStatus: 'exited' | 'stopped' | 'running', purchase = intent()) => {
    const observed = given(withMachine({ state: actualStatus }, { intent: purchase }));
    return {
      object: observed.object,
      intent: observed.purchase.intent,
      recorded: observed.machine.list?.recorded,
      list: { begunAt: NOW, endedAt: NOW, rows: new Map() },
      steady,
      serviceNow: NOW,
    };
  };

  test('says nothing of the next one once it is gone', () => {
    const memory = new ObjectMemory();
    memory.note(seen('exited'));
    memory.fields.stopAskedAt = 1;
    memory.fields.stopAnsweredAt = 2;
    memory.fields.startAnsweredAt = 3;
    memory.probe = { ready: true, detail: 'It answers.' };
    memory.settled('1');
    expect(memory.probe).toBeUndefined();
    expect(memory.view()).toMatchObject({
      seenStatus: undefined,
      stopAskedAt: undefined,
      stopAnsweredAt: undefined,
      startAnsweredAt: undefined,
    });
  });

  test('that was asked to start counts as starting until it is seen to run', () => {
    const memory = new ObjectMemory();
    memory.fields.startAnsweredAt = 3;
    memory.note(seen('stopped'));
    expect(memory.view().startAnsweredAt).toBe(3);
    memory.note(seen('running'));
    expect(memory.view().startAnsweredAt).toBeUndefined();
  });

  test('that was asked to start and is to be stopped after all has its whole time at the next start', () => {
    const memory = new ObjectMemory();
    memory.fields.startAnsweredAt = 3;
    const { object, ...sight } = seen('stopped');
    memory.note({ ...sight, object: { ...object, spec: { ...object.spec, powerState: 'Stopped' } } });
    expect(memory.view().startAnsweredAt).toBeUndefined();
  });

  test('that is seen to run after it stopped was last asked to stop long ago', () => {
    const memory = new ObjectMemory();
    memory.fields.stopAnsweredAt = 2;
    memory.note(seen('running'));
    expect(memory.view().stopAnsweredAt).toBe(2);
    const { object, ...sight } = seen('running');
    memory.note({ ...sight, object: { ...object, status: { ...object.status, actualStatus: 'stopped' } } });
    expect(memory.view().stopAnsweredAt).toBeUndefined();
  });

  test('whose destroy was answered waits for nothing that failed before', () => {
    const memory = new ObjectMemory();
    memory.destroyFailed(1_000, 60_000);
    memory.destroyed({ instanceId: '1', reason: 'Exited', answeredAt: 2_000, endedAt: 2_000 });
    expect(memory.view()).toMatchObject({ destroyFailures: 0, destroyNotBefore: 0 });
  });

  test('that is gone although no destroy of it worked leaves no failure to the next one', () => {
    const memory = new ObjectMemory();
    memory.destroyFailed(1_000, 60_000);
    memory.settled('1');
    expect(memory.view()).toMatchObject({ destroyFailures: 0, destroyNotBefore: 0 });
  });

  test('whose destroy failed is destroyed at once when the object is deleted or gets another spec', () => {
    const memory = new ObjectMemory();
    const { object, ...sight } = seen('running');
    memory.note({ ...sight, object });
    memory.destroyFailed(1_000, 60_000);
    memory.note({ ...sight, object });
    expect(memory.view()).toMatchObject({ destroyFailures: 1, destroyNotBefore: 61_000 });
    memory.note({ ...sight, object: { ...object, metadata: { ...object.metadata, generation: 2 } } });
    expect(memory.view()).toMatchObject({ destroyFailures: 1, destroyNotBefore: 0 });
  });

  test('that was bought by a clock ahead of the service has no more time than its intent gives it', () => {
    const memory = new ObjectMemory();
    memory.note(seen('running', intent({ issuedAt: NOW + 60_000 })));
    expect(memory.view().intentDeadline).toEqual({ attempt: 1, at: steady.now() + 30_000 });
  });
});

describe('why nothing matched', () => {
  test('is remembered for ten minutes, and not by those that do not say what time it is', () => {
    const memory = new ObjectMemory();
    memory.explain(REFUSAL, 1_000);
    expect(memory.view(1_000 + EXPLAINED_MS - 1).explained).toBe(REFUSAL);
    expect(memory.view(1_000 + EXPLAINED_MS).explained).toBeUndefined();
  });

  test('is forgotten once something matched', () => {
    const memory = new ObjectMemory();
    memory.explain(REFUSAL, 1_000);
    memory.succeeded();
    expect(memory.view(2_000).explained).toBeUndefined();
  });
});

test('an object that was never looked at has no first look', () => {
  expect(new ObjectMemory().view().firstSeenAt).toBe(Number.POSITIVE_INFINITY);
});

test('the machine that a process found is that of its first look', () => {
  const clock = createVirtualClock();
  const look = { recorded: undefined, list: undefined, steady: new SteadyClock(clock), serviceNow: NOW };
  const seenIn = (...situations: readonly Given[]) => {
    const memory = new ObjectMemory();
    for (const situation of situations) {
      const { object, purchase } = given(situation);
      memory.note({ ...look, object, intent: purchase.intent });
    }
    return memory.view().foundMachine;
  };
  expect(seenIn(withMachine())).toBe('1');
  expect(seenIn({}, withMachine())).toBeUndefined();
});
