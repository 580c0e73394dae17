import { describe, expect, test } from 'vitest';
import { groupObject } from '../../../test/builders/group-worker.ts';
import { memoryCluster } from '../../../test/builders/memory-cluster.ts';
import { calm, NOW } from '../../../test/builders/observed-group.ts';
import { uidOf } from '../../runtime/kube/kube-object.ts';
import { LoadStore } from './load/state.ts';
import { GroupMemory, Memories, recordedMaxima } from './memory.ts';
import { Publisher } from './publish/publisher.ts';

function newMemory() {
  const { kube, clock } = memoryCluster();
  return new GroupMemory(new Publisher({ cluster: kube, clock }));
}

const TICK = 10_000;

describe('a tick is due', () => {
  const group = groupObject();
  const edited = groupObject({}, { metadata: { generation: 2 } });
  const annotated = groupObject({}, { metadata: { annotations: { 'team.example/note': 'x' } } });

  test('in the first reconcile of a process, until a reconcile is recorded', () => {
    const first = newMemory();
    expect(first.isDue(group, NOW, TICK)).toBe(true);
    expect(first.isDue(group, NOW, TICK)).toBe(true);
    first.recorded(group, calm(0, { nextTickAt: NOW + TICK }));
    expect(first.isDue(group, NOW, TICK)).toBe(false);
  });

  test.each([
    ['not before its time', group, NOW - 1, false],
    ['at its time', group, NOW, true],
    ['not one interval before its time', group, NOW - TICK, false],
    ['at once when the clock was set back', group, NOW - TICK - 1, true],
    ['at once when the spec changed', edited, NOW - 1, true],
    ['at once when an annotation changed', annotated, NOW - 1, true],
  ])('%s', (_, next, now, isDue) => {
    const one = newMemory();
    one.recorded(group, calm(0, { nextTickAt: NOW }));
    expect(one.isDue(next, now, TICK)).toBe(isDue);
    // A reconcile that failed before its record changes nothing.
    expect(one.isDue(next, now, TICK)).toBe(isDue);
    one.recorded(next, calm(0, { nextTickAt: NOW }));
    expect(one.isDue(next, NOW - 1, TICK)).toBe(false);
  });
});

describe.each(['wake', 'lateFigures'] as const)('%s', (what) => {
  test('is not requested at first', () => {
    expect(newMemory()[what].see()).toBe(false);
  });

  test('stays requested until a reconcile that saw it is recorded', () => {
    const one = newMemory();
    one[what].ask();
    expect([one[what].see(), one[what].see()]).toEqual([true, true]);
    one.recorded(groupObject(), calm(0));
    expect(one[what].see()).toBe(false);
  });

  test('requested during a reconcile stays open for the next one', () => {
    const one = newMemory();
    one[what].see();
    one[what].ask();
    one.recorded(groupObject(), calm(0));
    expect(one[what].see()).toBe(true);
  });
});

test('counts the load of the last write until the process began', () => {
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

  test('contain one memory per group until it is forgotten', () => {
    const { memories } = bench();
    const group = groupObject();
    const other = groupObject({}, { metadata: { uid: 'uid-other' } });
    const first = memories.of(group);
    expect(memories.of(group)).toBe(first);
    expect(memories.of(other)).not.toBe(first);
    memories.forget(uidOf(group));
    expect(memories.of(group)).not.toBe(first);
  });

  test('continue from the load in the status', () => {
    const { memories, loadStore, clock } = bench();
    const group = groupObject({}, { status: { load: '7' } });
    memories.of(group);
    expect(loadStore.get(uidOf(group)).history.maxima).toEqual([{ at: clock.now(), load: 7 }]);
  });

  test('begin without a decision, refusal or problem of publishing', () => {
    const { fields, refused, publisher } = bench().memories.of(groupObject());
    expect([fields, refused, publisher.published()]).toEqual([undefined, [], { type: 'done' }]);
  });
});
