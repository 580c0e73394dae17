import { describe, expect, test } from 'vitest';
import { spec } from '../../../test/builders/observed.ts';
import { diskGB } from '../../api/v1alpha1/machine-drift.ts';
import { Secret } from '../../lib/secret.ts';
import type { RegistryLogin } from '../../market/rental.ts';
import { rentRequest } from './rental.ts';
import type { RentalFuse } from './types.ts';

function built(
  manifest: Parameters<typeof spec>[0],
  inputs: {
    env?: Record<string, string>;
    onStart?: string;
    imageLogin?: RegistryLogin;
    fuse?: RentalFuse;
  } = {},
  launch: { readonly ssh?: boolean; readonly args?: readonly string[] } = {},
) {
  const full = spec(manifest);
  const [requirements] = full.offers ?? [];
  if (!requirements) throw new Error('no alternative');
  return rentRequest({
    spec: full,
    requirements,
    inputs: {
      ...{ type: 'ready', env: inputs.env ?? {}, ssh: launch.ssh ?? false, args: launch.args },
      ...{ onStart: inputs.onStart, imageLogin: inputs.imageLogin },
      ...(inputs.fuse && { fuse: inputs.fuse }),
    },
    label: 'the label',
    workerToken: 'the token',
    leaseProof: 'proof-1',
  });
}

describe('a rent request', () => {
  test('carries image, disk, label, token, environment, ports, script, login, bid and the way in', () => {
    const login = { host: 'registry.example', username: 'a', password: new Secret('b') };
    const manifest = {
      offers: [{ pricing: 'Interruptible' as const, bid: '0.25', maxPricePerHour: '1' }],
      disk: '32Gi',
      ssh: true,
      ports: [
        { name: 'http', containerPort: 8080 },
        { containerPort: 53, protocol: 'UDP' as const },
      ],
    };
    expect(built(manifest, { env: { A: 'b' }, onStart: 'date', imageLogin: login }, { ssh: true })).toEqual({
      image: 'example/image:1',
      diskGB: 35,
      label: 'the label',
      env: { A: 'b', GPURENTAL_WORKER_TOKEN: 'the token' },
      ports: [
        { port: 8080, protocol: 'tcp' },
        { port: 53, protocol: 'udp' },
      ],
      onStart: 'date',
      bidPerHour: 250_000,
      ssh: true,
      imageLogin: login,
    });
  });

  test('carries the proof of renewals if the machine requests them, and in no other case', () => {
    const fuse = { type: 'fuse', fuses: { leaseSeconds: 7_200 } } as const;
    const token = { GPURENTAL_WORKER_TOKEN: 'the token' };
    expect(built({}, { fuse }).env).toEqual(token);
    expect(built({}, { fuse: { ...fuse, isReporting: true } }).env).toEqual({
      ...{ ...token, GPURENTAL_LEASE_PROOF: 'proof-1' },
    });
  });

  test('B01: names the launch mode and sends an empty list of args as it is', () => {
    expect(built({})).toMatchObject({ ssh: false });
    expect(built({})).not.toHaveProperty('args');
    expect(built({}, {}, { args: [] })).toMatchObject({ args: [] });
  });

  test.each([
    ['10G', 10],
    ['10500M', 11],
    ['8Gi', 9],
    ['1T', 1000],
  ])('rounds a disk of %s up to %d GB', (disk, expected) => {
    expect(diskGB(spec({ disk }))).toBe(expected);
  });
});
