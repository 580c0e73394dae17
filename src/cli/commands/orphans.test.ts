import { describe, expect, test } from 'vitest';
import { given, identity, NOW, row } from '../../../test/builders/observed.ts';
import { accountWith, LOGIN } from '../../../test/builders/observed-account.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import type { MarketplaceAccount } from '../../api/v1alpha1/marketplace-account.ts';
import { makeClaim } from '../../ownership/claim.ts';
import { defaultConstants } from '../../ownership/constants.ts';
import { newIdentity } from '../../ownership/identity.ts';
import { makeLabel } from '../../ownership/label.ts';
import { findOrphans } from './orphans.ts';

const UID = '11111111-2222-3333-4444-555555555555';
const ID = '5';
const STARTED = NOW - 60_000;
const OTHER = newIdentity(
  { id: new Uint8Array(16).fill(8), key: new Uint8Array(32).fill(9) },
  { kubeSystemUid: undefined, scope: '*' },
);

const labelBy = (signer: typeof identity) => makeLabel(signer, { uid: UID, attempt: 1, issuedAt: STARTED });

/** Returns the object of that uid, with a machine on its record or without. */
function object(instanceId?: string): GpuInstance {
  const { metadata, spec, ...rest } = given().object;
  const login = LOGIN;
  const claim = instanceId && makeClaim(identity.keys, { login, uid: UID, attempt: 1, instanceId });
  return {
    ...{ ...rest, spec, metadata: { ...metadata, uid: UID } },
    status: claim ? { attempt: 1, instanceId, claim } : {},
  };
}

interface Setting {
  readonly label?: string | null;
  readonly startedAt?: number;
  readonly objects?: readonly GpuInstance[];
  readonly retained?: readonly string[];
  readonly lateCallMs?: number;
}

/** Returns the message about a machine that bills. */
function said({
  label = labelBy(identity),
  startedAt = STARTED,
  objects = [],
  retained = [],
  ...times
}: Setting) {
  const entries = retained.map((instanceId) => ({
    ...{ instanceId, owner: 'team/x', ownerUid: UID, since: '2026-11-20T00:00:00Z' },
    policy: 'Retain' as const,
  }));
  const status: MarketplaceAccount['status'] = { retained: entries };
  const account = accountWith({ status });
  const constants = { ...defaultConstants, ...times };
  const rows = [row({ id: ID, label, startedAt })];
  return findOrphans(rows, { account, identity, login: LOGIN, constants, objects }).map(
    ({ verdict }) => verdict,
  );
}

describe('a machine that bills', () => {
  test('is an orphan where no object is left for which its label was made', () => {
    expect(said({})).toEqual(['orphan']);
  });

  test('is none while its object is there, whether or not that has it on record', () => {
    expect(said({ objects: [object()] })).toEqual([]);
    expect(said({ objects: [object(ID)] })).toEqual([]);
    expect(said({ label: null, objects: [object(ID)] })).toEqual([]);
  });

  test('is none if its object records it, also after its label or start changed', () => {
    const objects = [object(ID)];
    expect(said({ objects, startedAt: STARTED - 3_600_000 })).toEqual([]);
    expect(said({ objects, label: labelBy({ ...identity, keys: OTHER.keys }) })).toEqual([]);
  });

  test('is kept on purpose where its account lists it', () => {
    expect(said({ retained: [ID] })).toEqual(['retained']);
    expect(said({ label: null, retained: [ID] })).toEqual(['retained']);
  });

  test('is never called an orphan where its label is copied, forged or of another installation', () => {
    expect(said({ startedAt: STARTED - 3_600_000 })).toEqual(['label copied']);
    expect(said({ label: labelBy({ ...identity, keys: OTHER.keys }) })).toEqual(['label forged']);
    expect(said({ label: labelBy(OTHER) })).toEqual(['of another installation']);
  });

  test('is judged by the times that the operator runs with (L8)', () => {
    const startedAt = STARTED + 600_000;
    expect(said({ startedAt })).toEqual(['late rental']);
    expect(said({ startedAt, lateCallMs: 900_000 })).toEqual(['orphan']);
    expect(said({ startedAt: STARTED + 10_000, lateCallMs: 1000 })).toEqual(['orphan']);
  });

  test('is a late rental where it began after the time of its label, also beside its object (L8)', () => {
    const startedAt = STARTED + 600_000;
    expect(said({ startedAt, objects: [object()] })).toEqual(['late rental']);
    expect(said({ startedAt, objects: [object(ID)] })).toEqual([]);
  });

  test('is of no interest where nothing of ours is on it', () => {
    expect(said({ label: 'somebody' })).toEqual([]);
    expect(said({ label: null })).toEqual([]);
  });
});
