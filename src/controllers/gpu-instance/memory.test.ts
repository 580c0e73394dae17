import { describe, expect, test } from 'vitest';
import { Memories, ObjectMemory } from './memory.ts';

const REFUSAL = { reason: 'AccountLimitReached', detail: 'limits.maxInstances is 1.' } as const;

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
