import { expect, test } from 'vitest';
import type { Controller } from '../runtime/controller.ts';
import { controllersTask } from './controllers-task.ts';

type Ended = PromiseWithResolvers<void>;

function controller(name: string, told: string[], ended: Ended) {
  return {
    name,
    queue: {} as Controller['queue'],
    start: () => void told.push(`start ${name}`),
    stop: (graceMs: number) => {
      told.push(`stop ${name} within ${graceMs}`);
      return ended.promise;
    },
  };
}

test('controllers start in order, are told to stop in one moment, and are waited for, also where one fails', async () => {
  const told: string[] = [];
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const task = controllersTask([controller('a', told, first), controller('b', told, second)], {
    metrics: { watchQueue: (name) => void told.push(`watch ${name}`) },
    graceMs: 25_000,
  });
  await task.start();
  expect(told.splice(0)).toEqual(['watch a', 'start a', 'watch b', 'start b']);
  let hasEnded = false;
  const stopped = Promise.resolve(task.stop()).finally(() => {
    hasEnded = true;
  });
  expect(told).toEqual(['stop a within 25000', 'stop b within 25000']);
  first.reject(new Error('broken'));
  await Promise.resolve();
  await new Promise(setImmediate);
  expect(hasEnded).toBe(false);
  second.resolve();
  await expect(stopped).rejects.toThrow('broken');
});
