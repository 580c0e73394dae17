import { describe, expect, test } from 'vitest';
import { instanceRow, toInstance } from '../markets/vast/instances/instance.ts';
import { toMachineRow } from '../markets/vast/machine-row.ts';
import { patchRows, replaceRows } from './feed-state.ts';
import type { MachineRow } from './machine.ts';

const instance = (id: number, ports: Record<string, string> = {}): MachineRow =>
  toMachineRow(
    toInstance(
      instanceRow.parse({
        id,
        actual_status: 'running',
        ports: Object.fromEntries(
          Object.entries(ports).map(([name, port]) => [name, [{ HostIp: '0.0.0.0', HostPort: port }]]),
        ),
      }),
    ),
  );
const asMap = (...rows: MachineRow[]) => new Map(rows.map((row) => [row.id, row]));

describe('a row', () => {
  test('that says the same stays the same object and is no change', () => {
    const before = instance(1, { '22/tcp': '20001' });
    const { rows, changes } = replaceRows(asMap(before), [instance(1, { '22/tcp': '20001' })]);
    expect(rows.get('1')).toBe(before);
    expect(changes).toEqual([]);
  });

  test('of which only the utilization moved is kept and is no change', () => {
    const before = instance(1);
    const after = { ...before, gpuUtilization: 0.5 };
    const { rows, changes } = replaceRows(asMap(before), [after]);
    expect(rows.get('1')).toBe(after);
    expect(changes).toEqual([]);
  });

  test.each([
    ['moved', { '22/tcp': '20002' }],
    ['came', { '22/tcp': '20001', '80/tcp': '20003' }],
    ['went', {}],
    ['is another one', { '80/tcp': '20001' }],
  ])('of which a port %s is a change', (_, ports) => {
    const before = instance(1, { '22/tcp': '20001' });
    const after = instance(1, ports);
    const change = { id: '1', row: after, previous: before };
    expect(replaceRows(asMap(before), [after]).changes).toEqual([change]);
    expect(patchRows(asMap(before), [after]).changes).toEqual([change]);
  });

  test('that a complete list does not name is gone, and one that a look at some does not name stays', () => {
    const before = instance(1);
    expect(replaceRows(asMap(before), [])).toEqual({
      rows: new Map(),
      changes: [{ id: '1', row: undefined, previous: before }],
    });
    expect(patchRows(asMap(before), [])).toEqual({ rows: asMap(before), changes: [] });
  });
});
