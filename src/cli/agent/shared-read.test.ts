import { expect, test } from 'vitest';
import { SharedRead } from './shared-read.ts';

function slowReads() {
  const begun: PromiseWithResolvers<number>[] = [];
  const shared = new SharedRead(() => {
    const read = Promise.withResolvers<number>();
    begun.push(read);
    return read.promise;
  });
  return { shared, begun };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('gives callers during a read the next one, which begins after the present one', async () => {
  const { shared, begun } = slowReads();
  const first = shared.get();
  await settle();
  const later = [shared.get(), shared.get(), shared.get()];
  await settle();
  expect(begun).toHaveLength(1);
  begun[0]?.resolve(1);
  expect(await first).toBe(1);
  await settle();
  expect(begun).toHaveLength(2);
  begun[1]?.resolve(2);
  expect(await Promise.all(later)).toEqual([2, 2, 2]);
});

test('reads again after a failure', async () => {
  const { shared, begun } = slowReads();
  const failing = shared.get();
  await settle();
  const later = shared.get();
  begun[0]?.reject(new Error('away'));
  await expect(failing).rejects.toThrow('away');
  await settle();
  begun[1]?.resolve(3);
  expect(await later).toBe(3);
});
