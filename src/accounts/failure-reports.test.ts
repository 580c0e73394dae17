import { describe, expect, test } from 'vitest';
import { given, withMachine } from '../../test/builders/observed.ts';
import type { GpuInstanceManifestSpec } from '../api/v1alpha1/gpu-instance.ts';
import { countsForAll, type FailureReport, reporterOf } from './avoid-list.ts';

const said = (change: Partial<FailureReport> = {}): FailureReport => ({
  namespace: 'red',
  image: 'example/a:1',
  reason: 'ProvisioningTimedOut',
  patient: false,
  target: 'machine/1',
  ...change,
});

describe('a failure counts for every object of the account (H9)', () => {
  test.each<readonly [string, FailureReport, readonly FailureReport[], boolean]>([
    ['if the default time was waited', said({ patient: true }), [], true],
    ['not if one namespace says so and was short of patience', said(), [], false],
    ['not if that namespace says so again', said(), [said(), said({ image: 'example/c:1' })], false],
    ['if another namespace agrees', said(), [said({ namespace: 'blue' })], true],
    [
      'not if another namespace speaks of another machine',
      said(),
      [said({ namespace: 'blue', target: 'machine/2' })],
      false,
    ],
    [
      'not if one image ends by itself in two namespaces',
      said({ reason: 'Exited' }),
      [said({ namespace: 'blue', reason: 'Exited' })],
      false,
    ],
    [
      'if two images end on it in two namespaces',
      said({ reason: 'Exited' }),
      [said({ namespace: 'blue', reason: 'Exited', image: 'example/b:1' })],
      true,
    ],
    [
      'not if its image was not loaded on two other machines either, however long that was waited for',
      said({ reason: 'LoadingTimedOut', patient: true }),
      [
        said({ reason: 'LoadingTimedOut', target: 'machine/2' }),
        said({ reason: 'LoadingTimedOut', target: 'machine/3' }),
      ],
      false,
    ],
    [
      'not if its image did not start again on two other machines either, however long that was waited for',
      said({ reason: 'CannotStart', patient: true }),
      ['host/2', 'host/3'].map((target) => said({ reason: 'CannotStart', target })),
      false,
    ],
    [
      'if other images did not start again on other machines',
      said({ reason: 'CannotStart', patient: true }),
      ['host/2', 'host/3'].map((target) => said({ reason: 'CannotStart', image: 'example/b:1', target })),
      true,
    ],
    [
      'if its image was not loaded on one other machine',
      said({ reason: 'LoadingTimedOut', patient: true }),
      [said({ reason: 'LoadingTimedOut', target: 'machine/2' })],
      true,
    ],
    [
      'if other images were not loaded on other machines',
      said({ reason: 'LoadingTimedOut', patient: true }),
      ['machine/2', 'machine/3'].map((target) =>
        said({ reason: 'LoadingTimedOut', image: 'example/b:1', target }),
      ),
      true,
    ],
    [
      'if its image was not loaded on that machine before and on one other',
      said({ reason: 'LoadingTimedOut', patient: true }),
      [said({ reason: 'LoadingTimedOut' }), said({ reason: 'LoadingTimedOut', target: 'machine/2' })],
      true,
    ],
    [
      'if the host is silent, whatever the image did elsewhere',
      said({ reason: 'HostOffline', patient: true }),
      ['machine/2', 'machine/3'].map((target) => said({ reason: 'HostOffline', target })),
      true,
    ],
    [
      'if other machines failed for another reason',
      said({ reason: 'LoadingTimedOut', patient: true }),
      [said({ target: 'machine/2' }), said({ target: 'machine/3' })],
      true,
    ],
  ])('%s', (_, testimony, before, expected) => {
    expect(countsForAll(testimony, before)).toBe(expected);
  });
});

describe('the word of an object is patient (H9)', () => {
  const patient = (reason: string, spec: GpuInstanceManifestSpec = {}) =>
    reporterOf(given({ spec }).object, reason).patient;

  test.each<readonly [string, GpuInstanceManifestSpec]>([
    ['ProvisioningTimedOut', { timeouts: { provisioning: '299s' } }],
    ['LoadingTimedOut', { timeouts: { loading: '19m' } }],
    ['CannotStart', { timeouts: { start: '119s' } }],
    ['HostOffline', { replacement: { tolerance: { unknown: '59s' } } }],
    ['HostOffline', { replacement: { tolerance: { offline: '0s' } } }],
  ])('about %s after the default time, and not before', (reason, hasty) => {
    expect([patient(reason), patient(reason, hasty)]).toEqual([true, false]);
  });

  test.each(['Exited', 'SoldToOther', 'refused', 'Destroyed'])('never about %s', (reason) => {
    expect(patient(reason)).toBe(false);
  });

  test('as its group says for one of its workers', () => {
    const { object } = given(withMachine());
    const ownerReferences = [
      { apiVersion: 'x', kind: 'EndpointGroup', name: 'g', uid: 'group', controller: true },
    ];
    const worker = { ...object, metadata: { ...object.metadata, ownerReferences } };
    expect(reporterOf(worker, 'CannotStart', false)).toEqual({
      namespace: 'team',
      owner: 'group',
      image: 'example/image:1',
      reason: 'CannotStart',
      patient: false,
    });
    expect(reporterOf(object, 'CannotStart', true)).toMatchObject({
      owner: object.metadata.uid,
      patient: true,
    });
  });
});
