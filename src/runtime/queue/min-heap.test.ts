import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MinHeap } from './min-heap.ts';

const command = fc.oneof(
  fc.record({ type: fc.constant('push' as const), at: fc.integer({ min: 0, max: 20 }) }),
  fc.constant({ type: 'pop' as const }),
  fc.record({ type: fc.constant('clear' as const), rarely: fc.integer({ min: 0, max: 9 }) }),
);

test('a heap gives the earliest entry of those that are in it, whatever came and went before', () => {
  fc.assert(
    fc.property(fc.array(command, { maxLength: 60 }), (commands) => {
      const heap = new MinHeap<{ readonly at: number }>();
      const model: number[] = [];
      for (const each of commands) {
        if (each.type === 'push') {
          heap.push({ at: each.at });
          model.push(each.at);
        } else if (each.type === 'pop') {
          expect(heap.pop()?.at).toBe(model.shift());
        } else if (each.rarely === 0) {
          heap.clear();
          model.length = 0;
        }
        model.sort((left, right) => left - right);
        expect(heap.size()).toBe(model.length);
        expect(heap.peek()?.at).toBe(model[0]);
      }
      expect(model.map(() => heap.pop()?.at)).toEqual(model);
      expect(heap.pop()).toBeUndefined();
    }),
  );
});
