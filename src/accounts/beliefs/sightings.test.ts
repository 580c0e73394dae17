import { describe, expect, test } from 'vitest';
import { row } from '../../../test/builders/observed.ts';
import type { MachineRow } from '../../market/machine.ts';
import { unrecorded } from './machine.ts';
import { agreementOf, NO_SIGHTINGS, ROW_FIELDS, type Sightings, sightingsAfter } from './sightings.ts';

const listOf = (...rows: readonly MachineRow[]) => ({ rows: new Map(rows.map((each) => [each.id, each])) });

/** Sightings after these lists, begun ten seconds apart from 0 on. */
function listed(...lists: readonly (readonly MachineRow[])[]): Sightings {
  return lists.reduce(
    (before: Sightings, rows, index) => sightingsAfter(before, listOf(...rows), index * 10_000),
    NO_SIGHTINGS,
  );
}

describe('agreement of complete lists', () => {
  test('does not exist before the first list', () => {
    expect(agreementOf(NO_SIGHTINGS, row(), 10_000).heldMs('pricePerHour')).toBeUndefined();
  });

  test('counts from the first of the lists that show a value (A1)', () => {
    const dear = row({ pricePerHour: 1e12 });
    const { heldMs } = agreementOf(listed([row()], [dear], [dear]), dear, 10_000);
    expect(heldMs('pricePerHour')).toBe(10_000);
    expect(heldMs('label')).toBe(20_000);
  });

  test('begins again when another value came between (A1)', () => {
    const dear = row({ pricePerHour: 1e12 });
    expect(agreementOf(listed([dear], [row()], [dear]), dear, 10_000).heldMs('pricePerHour')).toBe(0);
  });

  test('begins again when a list lacked the machine', () => {
    expect(agreementOf(listed([row()], [], [row()]), row(), 10_000).heldMs('state')).toBe(0);
  });

  test('is none with a row that no complete list shows', () => {
    const fresh = row({ state: 'exited' });
    expect(agreementOf(listed([row()]), fresh, 10_000).heldMs('state')).toBeUndefined();
  });

  test('of an address counts when lists show the same in other objects', () => {
    const shown = () => row({ ports: { '8080/tcp': 20_001, '22/tcp': 20_002 } });
    expect(agreementOf(listed([shown()], [shown()]), shown(), 10_000).heldMs('address')).toBe(10_000);
  });

  test.each([
    ['public address', { publicAddress: '198.51.100.9' }],
    ['SSH host', { sshHost: '198.51.100.9' }],
    ['SSH port', { sshPort: 9 }],
    ['port', { ports: { '8080/tcp': 20_001, '22/tcp': 9 } }],
    ['port more', { ports: { '8080/tcp': 20_001, '22/tcp': 20_002, '9090/tcp': 20_003 } }],
    ['port less', { ports: { '8080/tcp': 20_001 } }],
  ])('of an address is none when a row shows another %s', (_, change) => {
    const shown = row({ ports: { '8080/tcp': 20_001, '22/tcp': 20_002 } });
    const moved = { ...shown, ...change };
    expect(agreementOf(listed([shown]), moved, 10_000).heldMs('address')).toBeUndefined();
    expect(agreementOf(listed([shown], [moved]), moved, 10_000).heldMs('address')).toBe(0);
    expect(agreementOf(listed([shown], [moved]), moved, 10_000).heldMs('label')).toBe(10_000);
  });

  test('keeps the entry of a row that did not change', () => {
    const same = row();
    const before = listed([same]);
    const next = sightingsAfter(before, listOf(same), 10_000);
    expect(next.machines.get('1')).toBe(before.machines.get('1'));
  });
});

describe('belief in the fields of a row', () => {
  const seen = listed([row()], [row()]);
  const changed = (field: string): MachineRow => ({
    ...row(),
    [field]: field === 'ports' ? { '1/tcp': 1 } : 'other',
  });
  const unsettledBy = (field: string) =>
    [...unrecorded(changed(field), agreementOf(seen, changed(field), 10_000)).unsettled].toSorted();
  const fields = Object.entries(ROW_FIELDS);

  test.each(fields.filter(([, belief]) => belief === 'watched' || belief === 'address'))(
    'is not settled when a single reply changes %s',
    (field, belief) => {
      expect(unsettledBy(field)).toEqual([belief === 'address' ? 'address' : field]);
    },
  );

  test.each(fields.filter(([, belief]) => belief === 'shown'))(
    'is not concerned when a reply changes %s, which decides nothing',
    (field) => {
      expect(unsettledBy(field)).toEqual([]);
    },
  );
});
