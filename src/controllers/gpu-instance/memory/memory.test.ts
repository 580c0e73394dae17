import { describe, expect, test } from 'vitest';
import { given, NOW } from '../../../../test/builders/observed.ts';
import { createVirtualClock } from '../../../../test/builders/virtual-clock.ts';
import { CHILDREN_CHECK_MS, Memories, ObjectMemory } from './memory.ts';
import { SteadyClock } from './steady-clock.ts';

const REFUSAL = { reason: 'AccountLimitReached', detail: 'limits.maxInstances is 1.' } as const;

describe('when children are looked at again', () => {
  const clock = createVirtualClock();
  const steady = new SteadyClock(clock);
  const sight = (uid: string) => {
    const { object, intent: reading } = given({ status: { binding: { name: 'job-connection' } } });
    const named = { ...object, metadata: { ...object.metadata, uid } };
    return { object: named, intent: reading, recorded: undefined, list: undefined, steady, serviceNow: NOW };
  };

  test('is spread over five minutes for those that another process wrote', () => {
    const dueIn = (uid: string) => {
      const memory = new ObjectMemory();
      memory.look(sight(uid));
      return (memory.view().childrenDueAt ?? 0) - steady.now();
    };
    expect(dueIn('0000-a')).toBe(0);
    expect(dueIn('8000-a')).toBe(150_000);
    expect(dueIn('ffff-a')).toBeLessThan(CHILDREN_CHECK_MS);
  });

  test('is five minutes after they were written', () => {
    const memory = new ObjectMemory();
    memory.childrenWritten(steady.now());
    memory.look(sight('0000-a'));
    expect(memory.view().childrenDueAt).toBe(steady.now() + CHILDREN_CHECK_MS);
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

  test('of an object that nobody remembers is nothing', () => {
    const memories = new Memories();
    memories.accountChanged('a');
    memories.of('a').refusedByAccount(0, 10_000, REFUSAL);
    memories.accountChanged('a');
    expect(memories.of('a').view().notBefore).toBe(0);
  });
});
