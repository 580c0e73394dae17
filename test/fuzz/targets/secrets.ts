import { readKeySecret } from '../../../src/accounts/api-keys.ts';
import { Installation } from '../../../src/accounts/installation/installation.ts';
import { type GpuInstance, gpuInstanceSpec } from '../../../src/api/v1alpha1/gpu-instance.ts';
import { API_VERSION } from '../../../src/api/v1alpha1/names.ts';
import { servedKinds } from '../../../src/cli/objects/cluster-objects.ts';
import { readIdentity } from '../../../src/cli/objects/identity-secret.ts';
import { imageLogin } from '../../../src/controllers/gpu-instance/rental.ts';
import { readInputs } from '../../../src/controllers/gpu-instance/rental-inputs.ts';
import { callerKeys } from '../../../src/gateway/caller-keys.ts';
import { NamedSecrets } from '../../../src/gateway/named-secrets.ts';
import { decodeMonth, encodeMonth } from '../../../src/ledger/codec.ts';
import { compactMonth } from '../../../src/ledger/compact.ts';
import type { Month } from '../../../src/ledger/ledger.ts';
import { silentLogger } from '../../../src/lib/logger.ts';
import { seededRandom } from '../../../src/lib/random.ts';
import { UnreadableBody } from '../../../src/markets/vast/errors/classify-failure.ts';
import { vastFacts } from '../../../src/markets/vast/facts.ts';
import { MalformedReplyError } from '../../../src/runtime/kube/json-stream.ts';
import type { KubeClient } from '../../../src/runtime/kube/kube-client.ts';
import { KubeError } from '../../../src/runtime/kube/kube-error.ts';
import { createVirtualClock } from '../../builders/virtual-clock.ts';
import { answeringCluster } from '../cluster.ts';
import { replyOf } from '../http-text.ts';
import { type FuzzTarget, jsonOrNothing, refusing } from '../target.ts';

const IMAGES = ['registry.example/team/app:1', 'ubuntu', 'localhost/a'] as const;

/** Flags travel as one line: a login is `-u`, a name, `-p`, a password and the registry, whatever the Secret holds. */
function readLogin(text: string): readonly string[] {
  return IMAGES.map((image) => {
    const login = imageLogin(text, image);
    if (login.type === 'problem') return login.problem;
    const { username, password, host } = login.login;
    const words = `-u ${username} -p ${password.reveal()} ${host}`.split(/\s/);
    if (words.length !== 5 || words.includes('')) throw new Error(`${words.length} words in the login`);
    return login.type;
  });
}

const ref = { name: 'k', namespace: 'team' };
const INSTANCE: GpuInstance = {
  apiVersion: API_VERSION,
  kind: 'GpuInstance',
  metadata: ref,
  spec: gpuInstanceSpec.parse({
    image: 'registry.example/a',
    offers: [{ maxPricePerHour: '1' }],
    env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'k', key: 'key' } } }],
    onStartFrom: { secretKeyRef: { name: 'k', key: 'script', optional: true } },
    imagePullSecretRef: { name: 'k' },
  }),
};

const KEY_HASH = '6ca13d52ca70c883e0f0bb101e425a89e8624de51db2d2392593af6a84118090';

/** Reads the callers of a gateway, as the endpoint picker follows their Secret. */
async function readCallers(client: KubeClient): Promise<{ readonly type: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const log = { ...silentLogger, warn: () => resolve(), error: reject };
  const secrets = new NamedSecrets({ client, clock: createVirtualClock(), log, onChange: () => resolve() });
  secrets.follow([ref]);
  await promise;
  const known = secrets.known(ref);
  secrets.stop();
  if (known.type !== 'present') return known;
  const caller = callerKeys(known.data).callerOf('Bearer abc123');
  if (caller !== undefined && !known.data.has(caller)) throw new Error(`${caller} is no key of the Secret`);
  return { type: caller === undefined ? 'stranger' : 'caller' };
}

/** Runs every reader of a Secret with an API server that answers with this one. */
async function readSecret(data: Readonly<Record<string, string>>): Promise<readonly string[]> {
  const secret = { kind: 'Secret', metadata: { ...ref, uid: 'u' }, data };
  const { client, session } = answeringCluster(`200\n\n${JSON.stringify(secret)}`);
  const traces = async () => ({ objectsWithRentals: 1, ownMachines: 0, unlisted: 0 });
  const random = seededRandom(1);
  const options = { client, namespace: 'operator', scope: '*', random, log: silentLogger, traces };
  const outcomes = await Promise.all([
    readKeySecret(client, ref, 'key'),
    // The answer is a Secret, and no list of accounts.
    readInputs(
      INSTANCE,
      { ...client, list: async () => ({ resourceVersion: '1', items: [] }) },
      { market: vastFacts, url: 'https://market.example', lifeMs: undefined, nonce: '0123456789ab' },
    ),
    readIdentity(session),
    new Installation(options).resolve(),
    readCallers(client),
  ]);
  return outcomes.map(
    (reading, index) => `${index} ${reading.type} ${'reason' in reading ? reading.reason : ''}`,
  );
}

/** Returns true for string values: the API server accepts no others. */
const isData = (value: unknown): value is Readonly<Record<string, string>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((text) => typeof text === 'string');

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const AUTH = `{"auths":{"https://index.docker.io/v1/":{"auth":"${base64('user:pass:word')}"},"registry.example":{"username":"u","password":"p"}}}`;

const JSON_KEY = `{"auths":{"registry.example":{"auth":"${base64('_json_key:{"type": "service_account"}')}"}}}`;

/** Secrets that users write, and answers about the cluster that the command line reads. */
/** Checks that a month is written as it was read, and that compaction keeps its sum. */
function readLedger(data: Readonly<Record<string, string>>): readonly string[] {
  const month = decodeMonth(data);
  if (!month) return ['none'];
  const again = decodeMonth(encodeMonth(month));
  if (JSON.stringify(again) !== JSON.stringify(month)) throw new Error('a month that is read otherwise');
  const compact = compactMonth(month, { now: '2027-01', isShown: () => true });
  if (costOf(compact) !== costOf(month)) throw new Error('compaction changed the cost');
  return [month.entries, month.sums, month.unread].map((list) => String(list.length > 0));
}

const costOf = ({ entries, sums }: Month) => [...entries, ...sums].reduce((sum, { cost }) => sum + cost, 0);

export const SECRET_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'image-login',
    seeds: [AUTH, JSON_KEY, '{"auths":{"registry.example/x":{"username":"u"}}}', '{"auths":{}}'],
    run: readLogin,
  },
  {
    name: 'secret',
    seeds: [
      JSON.stringify({ key: base64('api-key\n'), script: base64('echo'), '.dockerconfigjson': base64(AUTH) }),
      JSON.stringify({
        installId: base64('0'.repeat(32)),
        keys: base64(`${'1'.repeat(64)}\n${'2'.repeat(64)}`),
        scope: base64('a,b'),
        kubeSystemUid: base64('uid'),
      }),
      JSON.stringify({ alice: base64(`${KEY_HASH}\n`) }),
    ],
    run: async (text) => {
      const data = jsonOrNothing(text);
      return isData(data) ? readSecret(data) : undefined;
    },
  },
  {
    name: 'ledger-month',
    seeds: [
      '{"month":"2026-11","entries":"{\\"machine\\":\\"1\\",\\"uid\\":\\"u\\",\\"name\\":\\"n\\",\\"account\\":\\"a/b\\",\\"namespace\\":\\"a\\",\\"start\\":1793700000,\\"end\\":1793707200,\\"cost\\":\\"1.00\\",\\"reason\\":\\"Exited\\"}\\n"}',
      '{"month":"2025-11","sums":"{\\"period\\":\\"2025-11-03\\",\\"account\\":\\"a/b\\",\\"namespace\\":\\"a\\",\\"cost\\":\\"1.00\\",\\"gpuSeconds\\":60,\\"machines\\":1}\\n","counted":"{\\"key\\":\\"u/1\\",\\"total\\":\\"1.00\\",\\"ended\\":true}\\n"}',
    ],
    run: (text) => {
      const data = jsonOrNothing(text);
      return isData(data) ? readLedger(data) : undefined;
    },
  },
  {
    name: 'served-kinds',
    seeds: ['200\n\n{"kind":"APIResourceList","resources":[{"name":"gpuinstances"}]}', '404\n\nnone'],
    run: refusing([KubeError, MalformedReplyError, UnreadableBody], async (text) => {
      if (replyOf(text).status !== 200 && replyOf(text).status !== 404) return;
      const names = await servedKinds(answeringCluster(text).session);
      if (!names.every((name) => typeof name === 'string')) throw new Error('a name that is no text');
    }),
  },
];
