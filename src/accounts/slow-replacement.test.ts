import { describe, expect, test } from 'vitest';
import { instanceSummary } from '../../test/builders/instance-summary.ts';
import type { InstanceSummary } from '../instance/summary.ts';
import { SlowReplacements } from './slow-replacement.ts';

const MINUTE = 60_000;
const START = 1_000 * MINUTE;
/** The process has run for an hour when the first list comes. */
const UPTIME = 60 * MINUTE;

/** Returns that number of objects, all of whose machines are bad. */
function fleet(size: number): InstanceSummary[] {
  return Array.from({ length: size }, (_, index) => {
    const uid = `u${String(index).padStart(3, '0')}`;
    return instanceSummary({ uid, key: `team/${uid}`, instanceId: String(index) });
  });
}

/** Returns an account over time: the turn `at` minutes later, with these objects. */
function account(turns = new SlowReplacements()) {
  return (
    minutes: number,
    objects: readonly InstanceSummary[],
    running: readonly string[] = [],
    missing: readonly string[] = [],
  ) => {
    const ids = objects.flatMap(({ instanceId }) => instanceId ?? []);
    turns.update({
      now: START + minutes * MINUTE,
      monotonic: UPTIME + minutes * MINUTE,
      objects,
      unhealthy: new Set(ids.filter((id) => !running.includes(id))),
      running: new Set(running),
      listed: new Set(ids.filter((id) => !missing.includes(id))),
    });
    return turns.current();
  };
}

const changed = (objects: readonly InstanceSummary[], index: number, change: Partial<InstanceSummary>) =>
  objects.map((object, each) => (each === index ? { ...object, ...change } : object));

describe('whose turn it is while machines are replaced slowly (C2)', () => {
  test('is that of one object at a time', () => {
    const at = account();
    expect(at(0, fleet(20))).toBe('u000');
    expect(at(1, fleet(20))).toBe('u000');
  });

  test('belongs to no object while a machine is being destroyed or its replacement does not run', () => {
    const at = account();
    const objects = fleet(20);
    at(0, objects);
    expect(at(0.1, changed(objects, 0, { leaving: true }))).toBeUndefined();
    const ended = { instanceId: undefined, lastEndedAt: START + 0.2 * MINUTE };
    expect(at(0.3, changed(objects, 0, ended))).toBeUndefined();
    expect(at(0.5, changed(objects, 0, { ...ended, instanceId: '500' }))).toBeUndefined();
    expect(at(1, changed(objects, 0, { ...ended, instanceId: '500' }), ['500'])).toBe('u001');
  });

  test('is that of an object whose machine is missing, for ten minutes and after a restart', () => {
    const objects = fleet(6);
    const first = account();
    expect(first(0, objects)).toBe('u000');
    expect(first(1, objects, [], ['3'])).toBe('u003');
    const at = account();
    expect(at(2, objects, [], ['3'])).toBe('u003');
    expect(at(11.9, objects, [], ['3'])).toBe('u003');
    expect(at(14, objects, [], ['3'])).toBe('u000');
    expect(at(15, objects, [], ['3', '4'])).toBe('u004');
  });

  test('stays spent when a group makes the worker again whose machine was replaced (seed 177604140)', () => {
    const at = account();
    const objects = fleet(6);
    at(0, objects);
    at(0.5, changed(objects, 0, { instanceId: undefined, lastEndedAt: START + 0.4 * MINUTE }));
    const again = changed(objects, 0, { uid: 'new', instanceId: undefined });
    expect(at(0.9, again)).toBeUndefined();
    expect(at(10.5, again)).toBe('u001');
  });

  test('stays spent when the destroyed machine is only missing, and comes when it runs again or after ten minutes', () => {
    const objects = fleet(6);
    const leaving = changed(objects, 0, { leaving: true });
    const at = account();
    at(0, objects);
    expect(at(0.5, leaving)).toBeUndefined();
    expect(at(1, objects)).toBeUndefined();
    expect(at(10.4, objects)).toBeUndefined();
    expect(at(10.5, objects)).toBe('u001');
    const recovered = account();
    recovered(0, objects);
    recovered(0.5, leaving);
    expect(recovered(1, objects, ['0'])).toBe('u001');
  });

  test.each([
    [1, 1],
    [19, 1],
    [20, 2],
    [200, 20],
  ])('comes, for %d machines, to %d within ten minutes', (size, most) => {
    const at = account();
    let objects: readonly InstanceSummary[] = fleet(size);
    const running: string[] = [];
    const replace = (index: number, minutes: number) => {
      const lastEndedAt = START + minutes * MINUTE;
      objects = changed(objects, index, { instanceId: String(1000 + index), lastEndedAt });
      running.push(String(1000 + index));
    };
    let replaced = 0;
    for (let minutes = 0; minutes < 9.5; minutes += 0.25) {
      const turn = at(minutes, objects, running);
      if (turn === undefined) continue;
      replace(Number(turn.slice(1)), minutes);
      replaced += 1;
    }
    expect(replaced).toBe(most);
    if (size > most) expect(at(20, objects, running)).toBeDefined();
  });

  test('counts what was replaced before a restart', () => {
    const objects = changed(fleet(10), 3, { instanceId: '500', lastEndedAt: START - MINUTE });
    expect(account()(0, objects, ['500'])).toBeUndefined();
    expect(account()(10, objects, ['500'])).toBe('u000');
  });

  test('counts what was replaced before its object forbade another replacement', () => {
    const ended = { instanceId: undefined, lastEndedAt: START - MINUTE, isReplaceable: false };
    const objects = changed(fleet(10), 3, ended);
    expect(account()(0, objects)).toBeUndefined();
    expect(account()(10, objects)).toBe('u000');
  });

  test('a replacement that does not come to an end keeps the others waiting for ten minutes', () => {
    const at = account();
    const objects = changed(fleet(30), 0, { leaving: true });
    expect(at(0, objects)).toBeUndefined();
    expect(at(9.9, objects)).toBeUndefined();
    expect(at(10, objects)).toBe('u001');
  });

  test('waits again for the second replacement of an object', () => {
    const at = account();
    const leaving = changed(fleet(30), 0, { leaving: true });
    at(0, leaving);
    at(11, fleet(30));
    expect(at(20, leaving)).toBeUndefined();
    expect(at(29, leaving)).toBeUndefined();
  });

  test('goes first to an object that never had it, and then to the one whose last turn is the oldest', () => {
    const at = account();
    const order = [0, 2, 4, 6, 8, 10].map((minutes) => at(minutes, fleet(3)));
    expect(order).toEqual(['u000', 'u001', 'u002', 'u000', 'u001', 'u002']);
  });

  test('belongs to no object when no machine is unhealthy', () => {
    expect(account()(0, fleet(2), ['0', '1'])).toBeUndefined();
  });

  test('begins from the start when machines are replaced slowly again', () => {
    const turns = new SlowReplacements();
    const at = account(turns);
    at(0, fleet(3));
    at(1, changed(fleet(3), 1, { leaving: true }));
    turns.end();
    expect(at(2, fleet(3))).toBe('u000');
    turns.end();
    const leaving = changed(fleet(30), 1, { leaving: true });
    expect(at(10, leaving)).toBeUndefined();
    turns.end();
    expect(at(19, leaving)).toBeUndefined();
    expect(at(28, leaving)).toBeUndefined();
  });

  test('passes to the next if it is not used', () => {
    const at = account();
    expect(at(0, fleet(3))).toBe('u000');
    expect(at(2, fleet(3))).toBe('u001');
    expect(at(4, fleet(3))).toBe('u002');
    expect(at(6, fleet(3))).toBe('u000');
  });

  test('passes to the next if its machine recovers', () => {
    const at = account();
    at(0, fleet(3));
    expect(at(0.2, fleet(3), ['0'])).toBe('u001');
  });

  test('is never that of an object that is not to be replaced, or that is being deleted', () => {
    const at = account();
    const held = changed(fleet(2), 0, { isReplaceable: false });
    expect(at(0, held)).toBe('u001');
    expect(account()(0, changed(held, 1, { deleting: true }))).toBeUndefined();
  });

  test('belongs to no object once machines are replaced as usual', () => {
    const turns = new SlowReplacements();
    account(turns)(0, fleet(3));
    turns.end();
    expect(turns.current()).toBeUndefined();
  });
});
