import { describe, expect, test } from 'vitest';
import { at, given, movingRecord, time, withMachine } from '../../../test/builders/observed.ts';
import type { GpuInstanceStatus } from '../../api/v1alpha1/gpu-instance.ts';
import { decide } from './decide.ts';
import type { LeaseView, SelfEndView } from './types.ts';

const FUSE = { lifeSeconds: 4_200, proof: 'Unproven' } as const;

interface Settling {
  readonly view?: SelfEndView;
  readonly selfEnd?: GpuInstanceStatus['selfEnd'];
  readonly image?: string;
  readonly lease?: LeaseView;
  /** Set if the record moves to another machine in this decision. */
  readonly isMoving?: true;
}

/** Returns the record and the notes of a decision on a running machine whose check was settled so. */
function decided({ view, selfEnd = FUSE, image = 'example/image:1', lease, isMoving }: Settling) {
  const situation = withMachine({}, { status: { runningAt: time(-9_000), selfEnd, image } });
  const observed = given(isMoving ? movingRecord(situation) : situation);
  const step = decide({ ...observed, machine: { ...observed.machine, selfEnd: view, lease } });
  if (step.type !== 'decision') throw new Error('no decision');
  const others = new Set(['InstanceReady', 'RentalUncertain', 'LifeFuseFixed']);
  const notes = step.events.filter(({ reason }) => !others.has(reason)).map(({ note }) => note);
  return { record: step.status?.fields.selfEnd, notes };
}

const checkedAt = time(0);
const UNTIL = 'Until it does, only the operator ends it.';

describe('the proof that a machine can end itself (C11)', () => {
  test('is recorded with its time', () => {
    expect(decided({ view: { type: 'proven' } })).toEqual({
      record: { ...FUSE, proof: 'Proven', checkedAt },
      notes: [],
    });
  });

  test.each<[string, SelfEndView, string, string]>([
    [
      'its key reached no marketplace',
      { type: 'noProof' },
      'its own key did not reach the marketplace',
      ` ${UNTIL} Install curl, python3 or openssl in the image.`,
    ],
    [
      'no fuse runs',
      { type: 'noFuse' },
      'no fuse runs on it: its start script has not begun, or removed it',
      ` ${UNTIL}`,
    ],
    [
      'its files cannot be listed',
      { type: 'unread', detail: 'its files could not be listed: HTTP 403' },
      'its files could not be listed: HTTP 403',
      ` ${UNTIL}`,
    ],
  ])('is reported as missing, with the remedy, when %s', (_, view, detail, rest) => {
    expect(decided({ view })).toEqual({
      record: { ...FUSE, checkedAt, detail },
      notes: [`Machine 1 has not proved that it can end itself: ${detail}.${rest}`],
    });
  });

  test('names the client that the image is known to have', () => {
    const [vllm] = decided({ view: { type: 'noProof' }, image: 'vllm/vllm-openai:v0.11.2' }).notes;
    expect(vllm).toContain(
      'vllm/vllm-openai has curl: check that the machine reaches the marketplace and trusts its certificate.',
    );
    const [alpine] = decided({ view: { type: 'noProof' }, image: 'alpine' }).notes;
    expect(alpine).toContain('Install curl, python3 or openssl in the image.');
  });

  test('is recorded as missing without an event at a market that lists no files', () => {
    const view = {
      type: 'unread',
      detail: 'the market Toy lists no files of machines',
      isMarkets: true,
    } as const;
    expect(decided({ view })).toEqual({ record: { ...FUSE, checkedAt, detail: view.detail }, notes: [] });
  });

  test('keeps a long text of a failure within its limit', () => {
    const { record } = decided({ view: { type: 'unread', detail: 'x'.repeat(500) } });
    expect(record?.detail).toHaveLength(160);
  });

  test('changes nothing while it is open, and nothing that is settled', () => {
    expect(decided({})).toEqual({ record: FUSE, notes: [] });
    const record = { ...FUSE, checkedAt: time(-60), detail: 'why' };
    expect(decided({ view: { type: 'proven' }, selfEnd: record })).toEqual({ record, notes: [] });
    expect(decided({ view: { type: 'noFuse' }, selfEnd: record })).toEqual({ record, notes: [] });
  });

  test('is also that of a renewal by SSH, after the answer was settled as well', () => {
    const lease = { failures: 0, hostKey: 'host-1', renewedAt: at(-60), isProven: true } as const;
    const fuse = { ...FUSE, leaseSeconds: 7_200 };
    const proven = { ...fuse, proof: 'Proven', checkedAt } as const;
    const before = { ...fuse, checkedAt: time(-60), detail: 'why' };
    expect(decided({ lease, selfEnd: before })).toEqual({ record: proven, notes: [] });
    expect(decided({ lease, selfEnd: fuse, view: { type: 'noFuse' } })).toEqual({
      record: proven,
      notes: [],
    });
    const known = { ...proven, checkedAt: time(-60) };
    expect(decided({ lease, selfEnd: known })).toEqual({ record: known, notes: [] });
  });

  test('is not recorded for another machine to which the record moves', () => {
    expect(decided({ view: { type: 'proven' }, isMoving: true })).toEqual({ record: FUSE, notes: [] });
  });

  test('is not recorded for a machine without a fuse', () => {
    const observed = given(withMachine({}, { status: { runningAt: time(-9_000) } }));
    const step = decide({ ...observed, machine: { ...observed.machine, selfEnd: { type: 'noFuse' } } });
    if (step.type !== 'decision') throw new Error('no decision');
    expect(step.status?.fields.selfEnd).toBeUndefined();
    expect(step.events.filter(({ reason }) => reason === 'SelfEndUnproven')).toEqual([]);
  });
});
