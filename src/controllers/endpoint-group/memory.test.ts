import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { calm, NOW } from '../../../test/builders/observed-group.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { LoadStore } from './load/state.ts';
import { GroupMemory, Memories, recordedMaxima } from './memory.ts';
import { Publisher } from './publish/publisher.ts';

function kept() {
  const { kube, clock } = memoryCluster();
  return new GroupMemory(new Publisher({ cluster: kube, clock }));
}

const TICK = 10_000;

describe('a group is judged again', () => {
  const group = groupObject();
  const edited = groupObject({}, { metadata: { generation: 2 } });
  const annotated = groupObject({}, { metadata: { annotations: { 'team.example/note': 'x' } } });

  test('in the first pass of a process, and until a pass is on record', () => {
    const first = kept();
    expect(first.isDue(group, NOW, TICK)).toBe(true);
    expect(first.isDue(group, NOW, TICK)).toBe(true);
    first.recorded(group, calm(0, { nextTickAt: NOW + TICK }));
    expect(first.isDue(group, NOW, TICK)).toBe(false);
  });

  test.each([
    ['not before its next tick', group, NOW - 1, false],
    ['at its next tick', group, NOW, true],
    ['not a whole tick before it', group, NOW - TICK, false],
    ['at once when the clock was set back', group, NOW - TICK - 1, true],
    ['at once when its spec is another', edited, NOW - 1, true],
    ['at once when an annotation is another', annotated, NOW - 1, true],
  ])('%s', (_, next, now, isDue) => {
    const one = kept();
    one.recorded(group, calm(0, { nextTickAt: NOW }));
    expect(one.isDue(next, now, TICK)).toBe(isDue);
    // A pass that ended before its record has judged nothing.
    expect(one.isDue(next, now, TICK)).toBe(isDue);
    one.recorded(next, calm(0, { nextTickAt: NOW }));
    expect(one.isDue(next, NOW - 1, TICK)).toBe(false);
  });
});

describe.each(['wake', 'lateFigures'] as const)('%s', (what) => {
  test('is not requested in the beginning', () => {
    expect(kept()[what].see()).toBe(false);
  });

  test('is asked for until a pass that saw it is on record', () => {
    const one = kept();
    one[what].ask();
    expect([one[what].see(), one[what].see()]).toEqual([true, true]);
    one.recorded(groupObject(), calm(0));
    expect(one[what].see()).toBe(false);
  });

  test('that is asked for during a pass is for the next one', () => {
    const one = kept();
    one[what].see();
    one[what].ask();
    one.recorded(groupObject(), calm(0));
    expect(one[what].see()).toBe(true);
  });
});

test('the load of the last write counts as having gone on until a process began', () => {
  const at = '2026-11-20T11:58:00Z';
  const maxima = [{ at, load: '12.5' }];
  const recorded = { at: Date.parse(at), load: 12.5 };
  const of = (status: object) => recordedMaxima(groupObject({}, { status }), NOW);
  expect(of({ loadMaxima: maxima, load: '7' })).toEqual([recorded, { at: NOW, load: 7 }]);
  expect(of({ loadMaxima: maxima, load: '0' })).toEqual([recorded]);
  expect(of({ loadMaxima: [...maxima, { at: 'noon', load: '9' }] })).toEqual([recorded]);
  const ahead = [{ at: '2026-11-21T11:58:00Z', load: '12.5' }];
  expect(of({ loadMaxima: ahead })).toEqual([{ at: NOW, load: 12.5 }]);
  expect(recordedMaxima(groupObject(), NOW)).toEqual([]);
});

describe('the memories of groups', () => {
  function bench() {
    const { kube: cluster, clock } = memoryCluster();
    const loadStore = new LoadStore();
    return { memories: new Memories({ cluster, clock, loadStore }), loadStore, clock };
  }

  test('are one for each group, until it is forgotten', () => {
    const { memories } = bench();
    const group = groupObject();
    const other = groupObject({}, { metadata: { uid: 'uid-other' } });
    const first = memories.of(group);
    expect(memories.of(group)).toBe(first);
    expect(memories.of(other)).not.toBe(first);
    memories.forget(uidOf(group));
    expect(memories.of(group)).not.toBe(first);
  });

  test('go on from the load in the status', () => {
    const { memories, loadStore, clock } = bench();
    const group = groupObject({}, { status: { load: '7' } });
    memories.of(group);
    expect(loadStore.get(uidOf(group)).history.maxima).toEqual([{ at: clock.now(), load: 7 }]);
  });

  test('begin without a decision, a refusal or a result of publishing', () => {
    const { fields, refused, publisher } = bench().memories.of(groupObject());
    expect([fields, refused, publisher.published()]).toEqual([undefined, [], { type: 'done' }]);
  });
});
