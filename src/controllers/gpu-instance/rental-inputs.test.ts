import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { given } from '../../../test/builders/observed.ts';
import { seededRandom } from '../../lib/random.ts';
import { vastFacts } from '../../markets/vast/facts.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { KubeError, type KubeErrorKind } from '../../runtime/kube/kube-error.ts';
import { readInputs } from './rental-inputs.ts';

const MARKET = { market: vastFacts, url: 'https://market.example', lifeMs: undefined, nonce: '0123456789ab' };

type Manifest = NonNullable<NonNullable<Parameters<typeof given>[0]>['spec']>;
type Secrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface Cluster {
  /** Types and labels of Secrets. */
  readonly marks?: Readonly<Record<string, object>>;
  /** Secrets that accounts of the namespace name as their keys. */
  readonly keys?: readonly string[];
}

/** Returns an account with that key and all the data that a tenant can put into one. */
function largeAccount(secretName: string): unknown {
  const long = { team: 'x'.repeat(100_000) };
  const metadata = { name: 'default', annotations: long, labels: long, managedFields: [long] };
  const spec = {
    apiKeySecretRef: { name: secretName },
    allowedNamespaces: { from: 'Selector', selector: { matchLabels: long } },
  };
  return { metadata, spec, status: { conditions: [long] } };
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Inputs prepared for this spec with these Secrets, and the number of Secret reads. */
async function inputsOf(manifest: Manifest, secrets: Secrets = {}, { marks = {}, keys = [] }: Cluster = {}) {
  let reads = 0;
  const get = async (_resource: unknown, { name }: { name: string }) => {
    reads++;
    const values = secrets[name];
    if (!values) return undefined;
    const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
    return { metadata: { name }, data, ...marks[name] };
  };
  const list = async (_resource: unknown, { keep }: { readonly keep: (account: unknown) => unknown }) => {
    const items = keys.map((name) => keep(largeAccount(name)));
    // As many as may be: each is held until the last has come.
    expect(JSON.stringify(items).length).toBeLessThan(500 * (keys.length + 1));
    return { items };
  };
  const inputs = await readInputs(
    given({ spec: manifest }).object,
    { get, list } as unknown as KubeClient,
    MARKET,
  );
  return { inputs, reads };
}

const from = (name: string, key: string) => ({ secretKeyRef: { name, key, optional: false } });

describe('what a rental is made of', () => {
  test('needs no Secret where none is named', async () => {
    const { inputs, reads } = await inputsOf({ onStart: 'date', env: [{ name: 'A', value: 'b' }] });
    expect(inputs).toEqual({
      ...{ type: 'ready', env: { A: 'b' }, ssh: false, onStart: 'date' },
      ...{ args: undefined, imageLogin: undefined },
    });
    expect(reads).toBe(0);
  });

  test('holds no more of many Secrets than a machine may get when each is a megabyte (H4)', {
    tags: 'long',
  }, async () => {
    const names = Array.from({ length: 64 }, (_, at) => `large-${at}`);
    const env = ['small', 'big'].flatMap((key) =>
      names.map((name) => ({ name: `${name}_${key}`.replace('-', '_'), valueFrom: from(name, key) })),
    );
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    let heldBytes = 0;
    const get = async (_resource: unknown, { name }: { readonly name: string }) => {
      collect();
      heldBytes = Math.max(heldBytes, process.memoryUsage().heapUsed - before);
      const annotations = { note: `${name}${'x'.repeat(200_000)}` };
      const big = base64(`${name}${'x'.repeat(1_000_000)}`);
      return { metadata: { name, annotations }, data: { small: base64('s'), big } };
    };
    const list = async () => ({ items: [] });
    const { object } = given({ spec: { env } });
    collect();
    const before = process.memoryUsage().heapUsed;
    const inputs = await readInputs(object, { get, list } as unknown as KubeClient, MARKET);
    expect(inputs).toMatchObject({ type: 'problem', reason: 'InputMissing' });
    expect(heldBytes).toBeLessThan(10_000_000);
  });

  test('looks at no key of a Secret that is not named when there are many (H4)', async () => {
    const lookedAt = new Set<string>();
    const named = Array.from({ length: 128 }, (_, at) => `key-${at}`);
    const others = Array.from({ length: 1_000 }, (_, at) => [`other-${at}`, ''] as const);
    const values = named.map((key) => [key, base64(key)] as const);
    const data = new Proxy<Record<string, string>>(Object.fromEntries([...others, ...values]), {
      getOwnPropertyDescriptor: (target, key) => {
        lookedAt.add(String(key));
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
    });
    const get = async () => ({ metadata: { name: 'many' }, data });
    const list = async () => ({ items: [] });
    const env = named.map((key, at) => ({ name: `V${at}`, valueFrom: from('many', key) }));
    const { object } = given({ spec: { env } });
    const inputs = await readInputs(object, { get, list } as unknown as KubeClient, MARKET);
    expect(inputs).toMatchObject({ type: 'ready', env: { V0: 'key-0', V127: 'key-127' } });
    expect([...lookedAt].filter((key) => key.startsWith('other-'))).toHaveLength(0);
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
      ssh: false,
      args: undefined,
      onStart: undefined,
      imageLogin: undefined,
    });
  });

  test('is one that says so: where nothing is said it has to be there', async () => {
    const secretKeyRef = { name: 'settings', key: 'nothing' };
    const { inputs } = await inputsOf({ env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] } as Manifest, {
      settings: { token: 's3' },
    });
    expect(inputs).toMatchObject({ type: 'problem', reason: 'InputMissing' });
  });

  test.for(['constructor', '__proto__', 'toString'])(
    'a key named %s is missing like any other (C1)',
    async (key) => {
      const env = [{ name: 'TOKEN', valueFrom: { secretKeyRef: { name: 'settings', key } } }];
      const { inputs } = await inputsOf({ env } as Manifest, { settings: { token: 's3' } });
      expect(inputs).toMatchObject({ type: 'problem', reason: 'InputMissing' });
    },
  );

  test.each<[string, Manifest, object]>([
    ['args as they are', { args: ['--model', 'a b'] }, { ssh: false, args: ['--model', 'a b'] }],
    ['a command as a script', { command: ['a b', "it's"] }, { ssh: false, onStart: `'a b' 'it'\\''s'` }],
    [
      'a program in place of the entrypoint',
      { command: ['serve', 'x'], args: ['y'], entrypoint: 'Override' },
      { ssh: false, onStart: 'serve', args: ['x', 'y'] },
    ],
    ['B16: a script with LF for CR LF', { onStart: 'set -e\r\ndate\r\n' }, { onStart: 'set -e\ndate\n' }],
  ])('B01: carries %s', async (_, manifest, expected) => {
    expect((await inputsOf(manifest, {})).inputs).toMatchObject({ type: 'ready', ...expected });
  });

  test('a variable named __proto__ reaches the machine (C1)', async () => {
    const { inputs } = await inputsOf({ env: [{ name: '__proto__', value: 'x' }] } as Manifest, {});
    expect(JSON.stringify(inputs)).toContain('"__proto__":"x"');
  });
});

describe('what is wrong is said before anything is searched', () => {
  const noise = Buffer.from(seededRandom(1).bytes(6_000)).toString('base64');
  const filter = (field: string) => ({ field, operator: 'Gt' as const, value: '5' });
  test.each<[string, Manifest, string, RegExp]>([
    [
      'scenario 75: a script that is too long even when packed, with its bytes',
      { onStart: noise },
      'InvalidSpec',
      /has 8000 bytes and still \d{4} when packed; the marketplace takes 4048/,
    ],
    [
      'B01: a command that is too long even when packed',
      { command: ['sh', '-c', ...(noise.match(/.{1,2000}/g) ?? [])] },
      'InvalidSpec',
      /has 80\d\d bytes and still \d{4} when packed/,
    ],
    [
      'B01: args that are longer than the marketplace accepts',
      { args: ['x'.repeat(2_048), 'y'.repeat(2_048)] },
      'InvalidSpec',
      /^spec\.args: script and args have 4097 bytes together, at most 4096 fit/,
    ],
    [
      'B01: a program and args that are longer together than the marketplace accepts',
      { command: ['x'.repeat(2_048)], args: ['y'.repeat(2_048)], entrypoint: 'Override' as const },
      'InvalidSpec',
      /^spec\.args: script and args have 4097 bytes together/,
    ],
    [
      'a filter on a field that no offer has, with the near one',
      { offers: [{ filters: [filter('inet_down'), filter('inet_dwon')], maxPricePerHour: '1' }] },
      'InvalidSpec',
      /^spec\.offers\[0\]\.filters\[1\]\.field: "inet_dwon" is no field of an offer: did you mean "inet_down"\?/,
    ],
    [
      'B25: a value that filters nothing, with the one to write',
      {
        offers: [
          {
            filters: [{ field: 'compute_cap', operator: 'Gte' as const, value: '8.9' }],
            maxPricePerHour: '1',
          },
        ],
      },
      'InvalidSpec',
      /^spec\.offers\[0\]\.filters\[0\]\.value: compute_cap is the CUDA capability times 100: write 890 in place of 8\.9\.$/,
    ],
    [
      'a filter on a field that is like none',
      { offers: [{ filters: [filter('colour_of_the_case')], maxPricePerHour: '1' }] },
      'InvalidSpec',
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
      'InvalidSpec',
      /^spec\.offers\[1\]\.order\[0\]\.field: "dph_totl" .* "dph_total"/,
    ],
    ['a Secret that does not exist', { onStartFrom: from('settings', 'script') }, 'InputMissing', /settings/],
    [
      'a value of the environment whose Secret does not exist',
      { env: [{ name: 'TOKEN', valueFrom: from('settings', 'token') }] },
      'InputMissing',
      /settings \(env TOKEN\)/,
    ],
    [
      'a login to the registry that does not exist: without it the image could not be pulled, and the machine would bill',
      { image: 'registry.example/work:1', imagePullSecretRef: { name: 'registry' } },
      'InputMissing',
      /registry \(imagePullSecretRef\)/,
    ],
  ])('%s', async (_, manifest, reason, detail) => {
    const { inputs } = await inputsOf(manifest);
    expect(inputs).toMatchObject({ type: 'problem', reason, detail: expect.stringMatching(detail) });
  });
});

describe('refuses a Secret that no machine may get (M2)', () => {
  const label = { labels: { 'app.kubernetes.io/managed-by': 'gpu-rental-operator' } };
  const named = (name: string, key: string): readonly (readonly [string, Manifest])[] => [
    ['env', { env: [{ name: 'KEY', valueFrom: from(name, key) }] }],
    ['optional env', { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name, key, optional: true } } }] }],
    ['onStartFrom', { onStartFrom: from(name, key) }],
    ['imagePullSecretRef', { image: 'registry.example/a', imagePullSecretRef: { name } }],
  ];
  test.for<[string, string, string, Cluster]>([
    [
      'scenario 94: that an account names as its key',
      'marketplace-key',
      'api-key',
      { keys: ['marketplace-key'] },
    ],
    ['under the name of a kept key', 'gpuacct-1b2c', 'api-key', {}],
    ['with the identity of the installation', 'gpu-rental-operator-identity', 'keys', {}],
    ['that the operator labelled', 'renamed', 'keys', { marks: { renamed: { metadata: label } } }],
    [
      'of a type of the operator',
      'old-key',
      'api-key',
      { marks: { 'old-key': { type: 'gpurental.dev/key' } } },
    ],
    [
      'that opens Kubernetes',
      'robot',
      'token',
      { marks: { robot: { type: 'kubernetes.io/service-account-token' } } },
    ],
  ])('%s', async ([, name, key, cluster]) => {
    for (const [use, manifest] of named(name, key)) {
      const { inputs } = await inputsOf(manifest, { [name]: { [key]: 'canary' } }, cluster);
      expect(inputs, use).toMatchObject({
        type: 'problem',
        reason: 'InputMissing',
        detail: expect.stringContaining(`Secret ${name} (`),
      });
      expect(JSON.stringify(inputs)).not.toContain('canary');
    }
  });

  test('and only the credentials of a connection Secret: the address of a machine may be shown to another', async () => {
    const cluster = {
      marks: { 'a-connection': { type: 'servicebinding.io/gpu-instance', metadata: label } },
    };
    const read = (key: string) =>
      inputsOf(
        { env: [{ name: 'PEER', valueFrom: from('a-connection', key) }] },
        { 'a-connection': { host: '203.0.113.7', 'worker-token': 't', 'instance-api-key': 'k' } },
        cluster,
      );
    expect((await read('host')).inputs).toMatchObject({ type: 'ready', env: { PEER: '203.0.113.7' } });
    for (const key of ['worker-token', 'instance-api-key'])
      expect((await read(key)).inputs).toMatchObject({ type: 'problem', reason: 'InputMissing' });
  });

  test('whatever else is wrong with the object', async () => {
    const env = [
      { name: 'KEY', valueFrom: from('marketplace-key', 'api-key') },
      { name: 'OTHER', valueFrom: from('nowhere', 'token') },
    ];
    const keys = ['marketplace-key'];
    const { inputs } = await inputsOf({ env }, { 'marketplace-key': { 'api-key': 'k' } }, { keys });
    expect(inputs).toMatchObject({ reason: 'InputMissing' });
  });
});

describe('a Secret that cannot be read', () => {
  const readWhere = (kind: KubeErrorKind) => {
    const error = new KubeError('told to fail', { kind, status: 403, reason: kind, outcome: 'refused' });
    const spec = { env: [{ name: 'TOKEN', valueFrom: from('settings', 'token') }] };
    const cluster = { get: () => Promise.reject(error) } as unknown as KubeClient;
    return readInputs(given({ spec }).object, cluster, MARKET);
  };

  test('for want of a permission is reported as that', async () => {
    expect(await readWhere('forbidden')).toMatchObject({ type: 'problem', reason: 'NotPermitted' });
  });

  test('from an API server that is away says nothing of rights', async () => {
    await expect(readWhere('unavailable')).rejects.toMatchObject({ kind: 'unavailable' });
  });
});

describe('what one object has sent (H4)', () => {
  const MEGABYTE = 1_048_576;
  const variables = (count: number, name = 'settings', key = 'token') =>
    Array.from({ length: count }, (_, at) => ({ name: `V${at}`, valueFrom: from(name, key) }));

  function decodings(): () => number {
    const spy = vi.spyOn(Buffer, 'from');
    onTestFinished(() => spy.mockRestore());
    return () => spy.mock.calls.filter((given: readonly unknown[]) => given[1] === 'base64').length;
  }

  test.each<[string, Manifest, Secrets]>([
    [
      '128 variables name one key of a megabyte',
      { env: variables(128) },
      { settings: { token: 'x'.repeat(MEGABYTE) } },
    ],
    [
      'values are written out',
      { env: Array.from({ length: 3 }, (_, at) => ({ name: `V${at}`, value: 'x'.repeat(32_000) })) },
      {},
    ],
    [
      'the script takes what the environment left',
      { env: [{ name: 'V', value: 'x'.repeat(32_768) }], onStart: 'x'.repeat(32_768) },
      {},
    ],
    [
      'a script of a Secret is a megabyte',
      { onStartFrom: from('settings', 'token') },
      { settings: { token: 'x'.repeat(MEGABYTE) } },
    ],
  ])('scenario 92: is refused before it is decoded when %s', async (_, manifest, secrets) => {
    const decoded = decodings();
    const { inputs } = await inputsOf(manifest, secrets);
    expect(inputs).toMatchObject({
      type: 'problem',
      reason: 'InputMissing',
      detail: expect.stringContaining('65536'),
    });
    expect(decoded()).toBe(0);
  });

  test('is decoded once for each key, however many variables name it', async () => {
    const decoded = decodings();
    const env = [
      ...variables(60),
      ...variables(60, 'settings', 'other').map((each, at) => ({ ...each, name: `W${at}` })),
    ];
    const { inputs, reads } = await inputsOf({ env }, { settings: { token: 'a'.repeat(200), other: 'b' } });
    expect(inputs).toMatchObject({
      type: 'ready',
      env: { V0: 'a'.repeat(200), V59: 'a'.repeat(200), W59: 'b' },
    });
    expect(decoded()).toBe(2);
    expect(reads).toBe(1);
  });

  test('has 64 kB: the names of variables count', async () => {
    const env = [
      { name: 'V', value: 'x'.repeat(32_767) },
      { name: 'W', value: 'x'.repeat(32_767) },
    ];
    expect((await inputsOf({ env })).inputs.type).toBe('ready');
    const more = [...env, { name: 'X', value: '' }];
    expect((await inputsOf({ env: more })).inputs).toMatchObject({ reason: 'InputMissing' });
  });
});
