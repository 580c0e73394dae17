import { expect, test } from 'vitest';
import { Crew } from './crew.ts';

/** Work that a test lets go on step by step. */
function setUp(size: number) {
  const keys: string[] = [];
  const takers: ((key: string | undefined) => void)[] = [];
  const log: string[] = [];
  const gates = new Map<string, () => void>();
  const busy: number[] = [];
  const errors: unknown[] = [];
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  const gate = (name: string) => new Promise<void>((resolve) => gates.set(name, resolve));
  const crew = new Crew({
    size,
    take: () => {
      const key = keys.shift();
      return key === undefined ? new Promise((resolve) => takers.push(resolve)) : Promise.resolve(key);
    },
    pass: async (key) => {
      log.push(`${key} begins`);
      if (key.startsWith('waits')) await crew.aside(() => gate(`${key} outside`));
      log.push(`${key} works`);
      if (key.startsWith('breaks')) throw new Error(key);
      await gate(key);
      log.push(`${key} ends`);
    },
    onBusy: (count) => busy.push(count),
    onError: (error) => errors.push(error),
  });
  crew.start();
  return {
    crew,
    log,
    busy,
    errors,
    async add(...more: string[]) {
      for (const key of more) {
        const taker = takers.shift();
        if (taker) taker(key);
        else keys.push(key);
      }
      await settle();
    },
    async open(name: string) {
      gates.get(name)?.();
      await settle();
    },
    /** There is no key any more. */
    async end() {
      for (const taker of takers.splice(0)) taker(undefined);
      await settle();
    },
  };
}

test('a crew works on as many keys as it has places, and takes the next when one ends', async () => {
  const { add, open, log, busy } = setUp(2);
  await add('a', 'b', 'c');
  expect(log).toEqual(['a begins', 'a works', 'b begins', 'b works']);
  await open('a');
  expect(log.slice(4)).toEqual(['a ends', 'c begins', 'c works']);
  expect(Math.max(...busy)).toBe(2);
});

test('however many passes stand aside, the others are worked on', async () => {
  const { add, log } = setUp(2);
  const waiting = Array.from({ length: 100 }, (_, index) => `waits ${index}`);
  await add(...waiting, 'other');
  expect(log).toContain('other works');
  expect(log.filter((line) => line.endsWith('begins'))).toHaveLength(101);
});

test('who comes back waits for a place, and has it before the next key', async () => {
  const { add, open, log, busy } = setUp(1);
  await add('waits', 'a', 'b');
  await open('waits outside');
  expect(log).toEqual(['waits begins', 'a begins', 'a works']);
  await open('a');
  expect(log.slice(3)).toEqual(['a ends', 'waits works']);
  await open('waits');
  expect(log.slice(5)).toEqual(['waits ends', 'b begins', 'b works']);
  expect(Math.max(...busy)).toBe(1);
});

test('who comes back while there is a place goes on at once, and the crew is as large afterwards', async () => {
  const { add, open, log } = setUp(2);
  await add('waits', 'a');
  await open('waits outside');
  expect(log.at(-1)).toBe('waits works');
  await open('waits');
  await open('a');
  await add('b', 'c', 'd');
  expect(log.filter((line) => /^[bcd] works/.test(line))).toEqual(['b works', 'c works']);
});

test('a key that comes when those who came back have all places waits for one', async () => {
  const { add, open, log, busy } = setUp(1);
  await add('waits');
  await open('waits outside');
  await add('a');
  expect(log).toEqual(['waits begins', 'waits works']);
  await open('waits');
  expect(log.slice(2)).toEqual(['waits ends', 'a begins', 'a works']);
  expect(Math.max(...busy)).toBe(1);
});

test('what fails aside fails its pass, which has its place again', async () => {
  const { crew, busy } = setUp(1);
  const told = new Error('told to fail');
  await expect(crew.aside(() => Promise.reject(told))).rejects.toBe(told);
  expect(busy).toEqual([-1, 0]);
});

test('after the last key those who stand aside still come to their end', async () => {
  const { add, open, end, log } = setUp(1);
  await add('waits', 'waits too');
  await end();
  await open('waits outside');
  await open('waits too outside');
  expect(log.at(-1)).toBe('waits works');
  await open('waits');
  await open('waits too');
  expect(log.slice(-3)).toEqual(['waits ends', 'waits too works', 'waits too ends']);
});

test('goes on with other keys when a pass rejects after all (C1)', async () => {
  const { add, log, busy, errors } = setUp(1);
  await add('breaks', 'next');
  expect(log).toEqual(['breaks begins', 'breaks works', 'next begins', 'next works']);
  expect(busy.at(-1)).toBe(1);
  expect(errors).toEqual([new Error('breaks')]);
});
