import { deepStrictEqual } from 'node:assert';
import { endpointGroupSpec } from '../../src/api/v1alpha1/endpoint-group-spec.ts';
import { gpuInstanceSpec } from '../../src/api/v1alpha1/gpu-instance.ts';
import { marketplaceAccountSpec } from '../../src/api/v1alpha1/marketplace-account.ts';
import { pullPlan, type ReadReply } from '../../src/controllers/endpoint-group/load/figures.ts';
import { readJsonReply } from '../../src/controllers/endpoint-group/load/json-reply.ts';
import { sampledValue } from '../../src/controllers/endpoint-group/load/prometheus-query.ts';
import { readPrometheusReply } from '../../src/controllers/endpoint-group/load/prometheus-text.ts';
import { readPushed } from '../../src/controllers/endpoint-group/load/pushed-report.ts';
import { FigureError, type LoadRecord } from '../../src/controllers/endpoint-group/load/record.ts';
import { formatDuration, parseDuration } from '../../src/lib/duration.ts';
import { JsonListError, JsonListSplitter } from '../../src/lib/json-list.ts';
import { formatDollars, parseDollars } from '../../src/lib/money.ts';
import { parseQuantity, wholeGigabytes } from '../../src/lib/quantity.ts';
import { parseTime } from '../../src/lib/rfc3339.ts';
import { Secret } from '../../src/lib/secret.ts';
import { failureBody } from '../../src/marketplace/wire/failure-body.ts';
import { instanceRow, instancesReply, toInstance } from '../../src/marketplace/wire/instance.ts';
import { offerRow, toOffer } from '../../src/marketplace/wire/offer.ts';
import { rentReply } from '../../src/marketplace/wire/rent.ts';
import { toUser, userReply } from '../../src/marketplace/wire/user.ts';
import { readIntent, writeIntent } from '../../src/ownership/intent.ts';
import { makeLabel, readLabel } from '../../src/ownership/label.ts';
import { MalformedReplyError } from '../../src/runtime/kube/json-stream.ts';
import { KubeConfigError } from '../../src/runtime/kube/kube-config.ts';
import { KubeError } from '../../src/runtime/kube/kube-error.ts';
import { connectionOf, eventsOf } from './edges.ts';

/** A parser of something that others write. */
export interface FuzzTarget {
  readonly name: string;
  /** Whole and right, to start from. */
  readonly seeds: readonly string[];
  /** Throws what no caller expects; what callers do expect is swallowed here. */
  readonly run: (text: string) => void | Promise<void>;
}

type ErrorClass = abstract new (...args: never[]) => Error;

/** Lets errors of these classes pass: they are how the parser refuses. */
function refusing(classes: readonly ErrorClass[], parse: (text: string) => void): FuzzTarget['run'] {
  return (text) => {
    try {
      parse(text);
    } catch (error) {
      if (!classes.some((each) => error instanceof each)) throw error;
    }
  };
}

function json(parse: (value: unknown) => void): (text: string) => void {
  return (text) => {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      return;
    }
    parse(value);
  };
}

const keys = [new Secret('fuzz-key')] as const;
const identity = { installId8: '0123abcd', keys };
const facts = { uid: '7d9f1b6e-3a52-4a7b-9a56-0d5b6f3c1e11', attempt: 3, issuedAt: 1_767_614_400_000 };
const intent = writeIntent(keys, {
  ...facts,
  offer: 1,
  generation: 1,
  spec: 'hash',
  login: 'https://market|1',
  deadline: 1_767_614_430_000,
});

function sane(value: number | undefined): void {
  if (value !== undefined && !(Number.isFinite(value) && value >= 0)) throw new Error(`${value} came out`);
}

function saneRecord({ arrived, currentLoad, waitingLoad, maxPerf, inFlight, error }: LoadRecord): void {
  const amounts = arrived.type === 'rate' ? [arrived.load] : [arrived.newLoad, arrived.rejectedLoad];
  for (const figure of [...amounts, currentLoad, waitingLoad, maxPerf, inFlight]) sane(figure);
  if (error.length > 256) throw new Error('an error text without bound');
}

const reading = (read: ReadReply, preset: 'Pyworker' | 'VLLM') =>
  refusing([FigureError], (text) => saneRecord(read(text, pullPlan(fullPull(preset)), 0)));
const fullPull = (preset: 'Pyworker' | 'VLLM') => ({ preset }) as Parameters<typeof pullPlan>[0] & object;

/** The list cut into items has to be what one parse of the whole gives, wherever the chunks end. */
function sameItems(text: string): void {
  const bytes = Buffer.from(text);
  const items: unknown[] = [];
  const onItem = (item: Buffer) => items.push(JSON.parse(item.toString('utf8')));
  const splitter = new JsonListSplitter({ key: 'items', onItem });
  const size = 1 + (bytes.length % 7);
  for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size));
  JSON.parse(splitter.end().toString('utf8'));
  const whole: unknown = JSON.parse(bytes.toString('utf8'));
  if (items.length > 0) deepStrictEqual(items, Object(whole).items);
}

const WORKER_REPORT = JSON.stringify({
  id: 1,
  new_load: 12.5,
  rej_load: 0,
  cur_load: 3,
  max_perf: 100,
  num_requests_working: 2,
  error_msg: 'none',
  wake: { cost: 5 },
});

const INSTANCE = JSON.stringify({
  id: 7,
  actual_status: 'running',
  intended_status: 'running',
  label: makeLabel(identity, facts),
  dph_total: 0.31,
  start_date: 1_767_614_400.5,
  ssh_host: 'ssh4.example',
  ssh_port: 11_022,
  public_ipaddr: '203.0.113.9',
  ports: { '22/tcp': [{ HostIp: '0.0.0.0', HostPort: '40022' }] },
  gpu_name: 'RTX 4090',
  num_gpus: 1,
  machine_id: 70,
  host_id: 50,
});

const OFFER = JSON.stringify({
  id: 5,
  machine_id: 70,
  host_id: 50,
  gpu_name: 'RTX 4090',
  num_gpus: 1,
  gpu_ram: 24_564,
  dph_total: 0.31,
  min_bid: 0.1,
  reliability2: 0.99,
  geolocation: 'Sweden, SE',
  direct_port_count: 10,
  verification: 'verified',
});

const KUBECONFIG = `apiVersion: v1
kind: Config
clusters:
  - name: a
    cluster: { server: "https://127.0.0.1:6443", certificate-authority-data: QQ== }
users:
  - name: b
    user: { token: secret }
contexts:
  - name: c
    context: { cluster: a, user: b, namespace: team }
current-context: c
`;

const EVENTS = [
  { type: 'ADDED', object: { kind: 'Widget', metadata: { name: 'a', resourceVersion: '4' } } },
  {
    type: 'BOOKMARK',
    object: { metadata: { resourceVersion: '5', annotations: { 'k8s.io/initial-events-end': 'true' } } },
  },
  { type: 'DELETED', object: { kind: 'Widget', metadata: { name: 'a', resourceVersion: '6' } } },
  { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired', message: 'too old' } },
]
  .map((event) => JSON.stringify(event))
  .join('\n');

const PROMETHEUS_TEXT = `# HELP vllm:generation_tokens_total Tokens.
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{model="m",engine="0"} 1234.0
vllm:num_requests_waiting{model="m"} 2
vllm:num_requests_running 3 -1
vllm:request_success_total{reason="stop"} 1e2
`;

/** Every parser of what others write: the marketplace, the API server, users, workers, Prometheus. */
export const TARGETS: readonly FuzzTarget[] = [
  {
    name: 'instance',
    seeds: [INSTANCE, '{"id":"7","actual_status":null,"ports":null}'],
    run: json((value) => {
      const row = instanceRow.safeParse(value);
      if (row.success && !Number.isSafeInteger(toInstance(row.data).id)) throw new Error('no id came out');
    }),
  },
  {
    name: 'instances',
    seeds: [`{"instances":[${INSTANCE}],"instances_found":1}`],
    run: json((value) => void instancesReply.safeParse(value)),
  },
  {
    name: 'offer',
    seeds: [OFFER],
    run: json((value) => {
      const row = offerRow.safeParse(value);
      if (row.success) toOffer(row.data);
    }),
  },
  {
    name: 'marketplace-reply',
    seeds: [
      '{"success":false,"error":"no_such_ask","msg":"gone"}',
      '{"success":true,"new_contract":12,"instance_api_key":"k"}',
      '{"id":1,"username":"u","email":"a@b","balance":1.5,"credit":2}',
    ],
    run: json((value) => {
      failureBody.safeParse(value);
      rentReply.safeParse(value);
      const user = userReply.safeParse(value);
      if (user.success) toUser(user.data);
    }),
  },
  {
    name: 'custom-resource',
    seeds: [
      '{"image":"a","offers":[{"gpuNames":["RTX 4090"],"maxPricePerHour":"0.90","filters":[{"field":"x","operator":"gte","value":"1"}]}],"disk":"20G","timeouts":{"start":"1m"}}',
      '{"apiKeySecretRef":{"name":"k"},"limits":{"maxInstances":3,"maxSpendPerHour":"1.00"},"maxUnhealthy":"20%"}',
      '{"template":{"spec":{"image":"a","offers":[{"maxPricePerHour":"1"}]}},"minLoad":"0","coldMultiplier":"2.5","load":{"static":{"load":"3"}}}',
    ],
    run: json((value) => {
      for (const schema of [gpuInstanceSpec, marketplaceAccountSpec, endpointGroupSpec])
        schema.safeParse(value);
    }),
  },
  { name: 'intent', seeds: [intent], run: (text) => void readIntent(keys, text) },
  { name: 'label', seeds: [makeLabel(identity, facts)], run: (text) => void readLabel(identity, text) },
  {
    name: 'numbers',
    seeds: ['1h30m', '0.80', '24G', '2026-11-20T10:00:00Z'],
    run(text) {
      const [duration, dollars] = [parseDuration(text), parseDollars(text)];
      for (const value of [duration, dollars, parseQuantity(text), wholeGigabytes(text)]) sane(value);
      if (duration !== undefined) formatDuration(duration);
      if (dollars !== undefined && parseDollars(formatDollars(dollars)) !== dollars)
        throw new Error('money changed');
      parseTime(text);
    },
  },
  {
    name: 'worker-report',
    seeds: [WORKER_REPORT, '{"cur_load":2}'],
    run: refusing(
      [FigureError],
      json((value) => {
        const { record, wakeCost } = readPushed(value);
        saneRecord(record);
        sane(wakeCost);
      }),
    ),
  },
  { name: 'worker-reply', seeds: [WORKER_REPORT], run: reading(readJsonReply, 'Pyworker') },
  { name: 'prometheus-text', seeds: [PROMETHEUS_TEXT], run: reading(readPrometheusReply, 'VLLM') },
  {
    name: 'prometheus-query',
    seeds: [
      '{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1435781451.781,"1.5"]}]}}',
      '{"status":"success","data":{"resultType":"scalar","result":[1435781451.781,"1"]}}',
    ],
    run: refusing([FigureError], (text) => sane(sampledValue('load', text, 1_435_781_451_781))),
  },
  {
    name: 'kube-list',
    seeds: ['{"kind":"List","metadata":{"resourceVersion":"4"},"items":[{"a":"}\\"]"},{"b":[{}]}]}'],
    run: refusing([JsonListError, SyntaxError], sameItems),
  },
  {
    name: 'kube-watch',
    seeds: [EVENTS],
    run: (text) => eventsOf(text, [MalformedReplyError, KubeError]),
  },
  {
    name: 'kubeconfig',
    seeds: [KUBECONFIG],
    run: (text) => connectionOf(text, [KubeConfigError]),
  },
];
