import { describe, expect, test } from 'vitest';
import { given } from '../../../../test/builders/observed.ts';
import { seededRandom } from '../../../lib/random.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from '../../../runtime/kube/kube-error.ts';
import { readInputs } from './inputs.ts';

type Manifest = NonNullable<NonNullable<Parameters<typeof given>[0]>['spec']>;
type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** What is made ready for this spec where these Secrets exist, and how often a Secret was read. */
async function inputsOf(manifest: Manifest, secrets: Secrets = {}) {
  let reads = 0;
  const get = async (_resource: unknown, { name }: { name: string }) => {
    reads++;
    const values = secrets[name];
    if (!values) return undefined;
    return { data: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)])) };
  };
  const inputs = await readInputs(given({ spec: manifest }).object, { get } as unknown as KubeClient);
  return { inputs, reads };
}

const from = (name: string, key: string) => ({ secretKeyRef: { name, key, optional: false } });

describe('what a rental is made of', () => {
  test('needs no Secret where none is named', async () => {
    const { inputs, reads } = await inputsOf({ onStart: 'date', env: [{ name: 'A', value: 'b' }] });
    expect(inputs).toEqual({ type: 'ready', env: { A: 'b' }, onStart: 'date', imageLogin: undefined });
    expect(reads).toBe(0);
  });

  test('reads a Secret once however many values come out of it', async () => {
    const { inputs, reads } = await inputsOf(
      {
        onStartFrom: from('settings', 'script'),
        env: [{ name: 'TOKEN', valueFrom: from('settings', 'token') }],
      },
      { settings: { script: 'date', token: 's3' } },
    );
    expect(inputs).toMatchObject({ type: 'ready', env: { TOKEN: 's3' }, onStart: 'date' });
    expect(reads).toBe(1);
  });

  test('scenario 75: a script over the limit is packed, wherever it came from', async () => {
    const long = '# padding for a long script\n'.repeat(400);
    for (const manifest of [{ onStart: long }, { onStartFrom: from('settings', 'script') }]) {
      const { inputs } = await inputsOf(manifest, { settings: { script: long } });
      const sent = inputs.type === 'ready' ? (inputs.onStart ?? '') : '';
      expect(sent).toContain('|base64 -d|gzip -d');
      expect(sent.length).toBeLessThan(4048);
    }
  });
});

describe('a value that may be missing', () => {
  const optional = (name: string, key: string) => ({ secretKeyRef: { name, key, optional: true } });

  test('is left out where its Secret or key is, and the rest is made ready', async () => {
    const env = [
      { name: 'NOWHERE', valueFrom: optional('nowhere', 'token') },
      { name: 'NO_KEY', valueFrom: optional('settings', 'nothing') },
      { name: 'TOKEN', valueFrom: optional('settings', 'token') },
    ];
    const { inputs } = await inputsOf(
      { env, onStartFrom: optional('nowhere', 'script') },
      { settings: { token: 's3' } },
    );
    expect(inputs).toEqual({
      type: 'ready',
      env: { TOKEN: 's3' },
      onStart: undefined,
      imageLogin: undefined,
    });
  });

  test('is one that says so: where nothing is said it has to be there', async () => {
    const secretKeyRef = { name: 'settings', key: 'nothing' };
    const { inputs } = await inputsOf({ env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] } as Manifest, {
      settings: { token: 's3' },
    });
    expect(inputs).toMatchObject({ type: 'problem', reason: 'SecretKeyMissing' });
  });
});

describe('what is wrong is said before anything is searched', () => {
  const noise = Buffer.from(seededRandom(1).bytes(6_000)).toString('base64');
  const filter = (field: string) => ({ field, operator: 'Gt' as const, value: '5' });
  test.each<[string, Manifest, string, RegExp]>([
    [
      'scenario 75: a script that is too long even when packed, with its bytes',
      { onStart: noise },
      'OnStartTooLong',
      /has 8000 bytes and still \d{4} when packed; the marketplace takes 4048/,
    ],
    [
      'a filter on a field that no offer has, with the near one',
      { offers: [{ filters: [filter('inet_down'), filter('inet_dwon')], maxPricePerHour: '1' }] },
      'InvalidFilter',
      /^spec\.offers\[0\]\.filters\[1\]\.field: "inet_dwon" is no field of an offer: did you mean "inet_down"\?/,
    ],
    [
      'a filter on a field that is like none',
      { offers: [{ filters: [filter('colour_of_the_case')], maxPricePerHour: '1' }] },
      'InvalidFilter',
      /"colour_of_the_case" is no field of an offer/,
    ],
    [
      'an order by a field that no offer has, in the alternative that has it',
      {
        offers: [
          { maxPricePerHour: '1' },
          { maxPricePerHour: '1', order: [{ field: 'dph_totl', direction: 'Asc' as const }] },
        ],
      },
      'InvalidFilter',
      /^spec\.offers\[1\]\.order\[0\]\.field: "dph_totl" .* "dph_total"/,
    ],
    [
      'a Secret that does not exist',
      { onStartFrom: from('settings', 'script') },
      'SecretMissing',
      /settings/,
    ],
    [
      'a value of the environment whose Secret does not exist',
      { env: [{ name: 'TOKEN', valueFrom: from('settings', 'token') }] },
      'SecretMissing',
      /settings \(env TOKEN\)/,
    ],
    [
      'a login to the registry that does not exist: without it the image could not be pulled, and the machine would bill',
      { image: 'registry.example/work:1', imagePullSecretRef: { name: 'registry' } },
      'SecretMissing',
      /registry \(imagePullSecretRef\)/,
    ],
  ])('%s', async (_, manifest, reason, detail) => {
    const { inputs } = await inputsOf(manifest);
    expect(inputs).toMatchObject({ type: 'problem', reason, detail: expect.stringMatching(detail) });
  });
});

describe('a Secret that cannot be read', () => {
  const readWhere = (kind: KubeErrorKind) => {
    const error = new KubeError('told to fail', { kind, status: 403, reason: kind, outcome: 'refused' });
    const spec = { env: [{ name: 'TOKEN', valueFrom: from('settings', 'token') }] };
    const cluster = { get: () => Promise.reject(error) } as unknown as KubeClient;
    return readInputs(given({ spec }).object, cluster);
  };

  test('for want of a right is told as that', async () => {
    expect(await readWhere('forbidden')).toMatchObject({ type: 'problem', reason: 'NotPermitted' });
  });

  test('from an API server that is away says nothing of rights', async () => {
    await expect(readWhere('unavailable')).rejects.toMatchObject({ kind: 'unavailable' });
  });
});
