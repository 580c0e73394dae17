import { describe, expect, test } from 'vitest';
import type { MachineRow } from '../market/machine.ts';
import { makeClaim } from '../ownership/claim.ts';
import { defaultConstants } from '../ownership/constants.ts';
import { newIdentity } from '../ownership/identity.ts';
import { makeLabel, makeRetainedLabel } from '../ownership/label.ts';
import { type InventoryInput, MachineInventory } from './inventory.ts';

const ISSUED = 1_700_000_000_000;
const login = { url: 'https://market.example', userId: '7' };
const identityOf = (seed: number) =>
  newIdentity(
    { id: new Uint8Array(16).fill(seed), key: new Uint8Array(32).fill(seed) },
    { kubeSystemUid: undefined, scope: '*' },
  );
const identity = identityOf(1);
const label = (uid: string) => makeLabel(identity, { uid, attempt: 1, issuedAt: ISSUED });

/** Returns a listed machine with the fields that ownership reads. */
const row = (changes: Partial<MachineRow>): MachineRow =>
  ({ id: '5', label: null, startedAt: ISSUED, ...changes }) as MachineRow;

function typeOf(machine: MachineRow, changes: Partial<InventoryInput> = {}): string | undefined {
  const census = new MachineInventory(login, defaultConstants);
  const input = {
    rows: [machine],
    uids: new Set(['aaaa']),
    claims: [],
    retained: new Set<string>(),
    ...changes,
  };
  return census.classify(identity, input)[0]?.type;
}

describe('a machine that began after the window of its label (H6)', () => {
  const late = row({ id: '5', label: label('bbbb'), startedAt: ISSUED + 400_000 });
  const other = { uid: 'bbbb', attempt: 1, instanceId: '6', claim: 'any' };

  test.each([
    ['is unclaimed when no other machine is of its purchase', {}, 'orphan'],
    [
      'is unclaimed although its object exists, which never touches it',
      { uids: new Set(['bbbb']) },
      'orphan',
    ],
    [
      'is a copy when the original is listed',
      { rows: [late, row({ id: '6', label: label('bbbb') })] },
      'copied',
    ],
    ['is a copy when the original is recorded', { claims: [other] }, 'copied'],
    ['is unclaimed when another purchase is recorded', { claims: [{ ...other, attempt: 2 }] }, 'orphan'],
    ['is a copy when it was seen beside the original before', { copies: new Set(['5']) }, 'copied'],
    [
      'is a copy when it began a day later',
      { rows: [{ ...late, startedAt: ISSUED + 86_400_001 }] },
      'copied',
    ],
    [
      'is a copy when it began before its label was issued',
      { rows: [{ ...late, startedAt: ISSUED - 61_000 }] },
      'copied',
    ],
  ])('scenario 88: %s', (_, changes, expected) => {
    expect(typeOf(late, changes)).toBe(expected);
  });
});

describe('a machine is', () => {
  const claim = makeClaim(identity.keys, { login, uid: 'aaaa', attempt: 1, instanceId: '5' });
  test.each([
    ['claimed by the uid in its label', row({ label: label('aaaa') }), {}, 'claimed'],
    ['unclaimed where no object has that uid', row({ label: label('bbbb') }), {}, 'orphan'],
    [
      'claimed by a recorded claim, whatever its label',
      row({ label: 'mine' }),
      { claims: [{ uid: 'aaaa', attempt: 1, instanceId: '5', claim }] },
      'claimed',
    ],
    [
      'claimed by a recorded claim, although the account lists it as kept',
      row({ label: 'mine' }),
      { claims: [{ uid: 'aaaa', attempt: 1, instanceId: '5', claim }], retained: new Set(['5']) },
      'claimed',
    ],
    [
      'foreign where the claim is not genuine',
      row({}),
      { claims: [{ uid: 'aaaa', attempt: 1, instanceId: '5', claim: 'forged' }] },
      'foreign',
    ],
    [
      'retained by its label',
      row({ label: makeRetainedLabel(identity, { uid: 'cccc', attempt: 1, issuedAt: ISSUED }) }),
      {},
      'retained',
    ],
    [
      'retained by the account’s list, though its label still claims',
      row({ label: label('cccc') }),
      { retained: new Set(['5']) },
      'retained',
    ],
    [
      'copied where it began days after its label was issued',
      row({ label: label('bbbb'), startedAt: ISSUED + 172_800_000 }),
      {},
      'copied',
    ],
    ['copied where its label was edited', row({ label: label('bbbb').replace(':1:', ':2:') }), {}, 'copied'],
    [
      'copied, and so never swept, without a start date',
      row({ label: label('bbbb'), startedAt: undefined }),
      {},
      'copied',
    ],
    [
      'foreign with the label of another installation',
      row({ label: makeLabel(identityOf(2), { uid: 'aaaa', attempt: 1, issuedAt: ISSUED }) }),
      {},
      'foreign',
    ],
    ['foreign without a label', row({}), {}, 'foreign'],
    ['foreign where the service shows no labels', row({ label: undefined }), {}, 'foreign'],
  ] as const)('%s', (_, machine, changes, expected) => {
    expect(typeOf(machine, changes as Partial<InventoryInput>)).toBe(expected);
  });
});

test('what is remembered of a list never outlives a change of the row, the claims or the objects', () => {
  const census = new MachineInventory(login, defaultConstants);
  const take = (machine: MachineRow, uids: readonly string[]) =>
    census.classify(identity, { rows: [machine], uids: new Set(uids), claims: [], retained: new Set() })[0]
      ?.type;
  expect(take(row({ label: label('dddd') }), ['dddd'])).toBe('claimed');
  expect(take(row({ label: label('dddd') }), [])).toBe('orphan');
  expect(take(row({ label: null }), ['dddd'])).toBe('foreign');
  const other = new MachineInventory(login, defaultConstants);
  other.classify(identity, {
    rows: [row({ label: label('dddd') })],
    uids: new Set(['dddd']),
    claims: [],
    retained: new Set(),
  });
  const input = {
    rows: [row({ label: label('dddd') })],
    uids: new Set(['dddd']),
    claims: [],
    retained: new Set<string>(),
  };
  expect(other.classify(identityOf(2), input)[0]?.type).toBe('foreign');
});

test('names the other installation of a foreign label, and no installation without a label', () => {
  const other = identityOf(2);
  const foreign = row({ label: makeLabel(other, { uid: 'aaaa', attempt: 1, issuedAt: ISSUED }) });
  const census = new MachineInventory(login, defaultConstants);
  const rows = [foreign, row({ id: '6' })];
  const input = { rows, uids: new Set<string>(), claims: [], retained: new Set<string>() };
  expect(census.classify(identity, input)).toEqual([
    { type: 'foreign', row: foreign, installation: other.installId.slice(0, 8) },
    { type: 'foreign', row: rows[1] },
  ]);
});

describe('what was proven of a machine is proven again', () => {
  const facts = { uid: 'cccc', attempt: 1, instanceId: '5' };
  const proven = { ...facts, claim: makeClaim(identity.keys, { ...facts, login }) };
  const machine = row({ label: label('dddd') });
  const input = (rows: readonly MachineRow[], claims: InventoryInput['claims']): InventoryInput => ({
    ...{ rows, claims },
    ...{ uids: new Set(['cccc']), retained: new Set() },
  });

  test.each([
    ['its label changes', input([row({ label: label('cccc') })], []), input([machine], []), 'orphan'],
    ['its start changes', input([machine], []), input([{ ...machine, startedAt: 5 }], []), 'copied'],
    ['another claim names it', input([machine], []), input([machine], [proven]), 'claimed'],
    ['the claim is gone', input([machine], [proven]), input([machine], []), 'orphan'],
    [
      'the claim is forged',
      input([machine], [proven]),
      input([machine], [{ ...proven, claim: 'x' }]),
      'orphan',
    ],
    [
      'the claim is of another object',
      input([machine], [proven]),
      input([machine], [{ ...proven, uid: 'x' }]),
      'orphan',
    ],
    [
      'the claim is of another attempt',
      input([machine], [proven]),
      input([machine], [{ ...proven, attempt: 2 }]),
      'orphan',
    ],
    [
      'one of two claims is replaced by the other',
      input([machine], [proven, { ...proven, claim: 'x' }]),
      input(
        [machine],
        [
          { ...proven, claim: 'y' },
          { ...proven, claim: 'x' },
        ],
      ),
      'orphan',
    ],
  ])('when %s', (_, before, after, type) => {
    const inventory = new MachineInventory(login, defaultConstants);
    inventory.classify(identity, before);
    expect(inventory.classify(identity, after)[0]?.type).toBe(type);
  });
});
