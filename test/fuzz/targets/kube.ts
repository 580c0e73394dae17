import { deepStrictEqual } from 'node:assert';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { JsonListError, JsonListSplitter } from '../../../src/lib/json-list.ts';
import { MalformedReplyError } from '../../../src/runtime/kube/json-stream.ts';
import { KubeConfigError, loadKubeConnection } from '../../../src/runtime/kube/kube-config.ts';
import { KubeError } from '../../../src/runtime/kube/kube-error.ts';
import { watchEvents } from '../../../src/runtime/list-watch/watch-events.ts';
import { widgets } from '../../builders/widgets.ts';
import { chunksOf, piecesOf } from '../chunks.ts';
import { answeringCluster } from '../cluster.ts';
import { type FuzzTarget, refusing, soundFields } from '../target.ts';

/** Checks that a list cut into items equals one parse of the whole, for any chunk boundaries. */
function sameItems(text: string): undefined {
  const items: unknown[] = [];
  const onItem = (item: Buffer) => items.push(JSON.parse(item.toString('utf8')));
  const splitter = new JsonListSplitter({ key: 'items', onItem });
  for (const piece of piecesOf(text)) splitter.push(piece);
  JSON.parse(splitter.end().toString('utf8'));
  const whole: unknown = JSON.parse(Buffer.from(text).toString('utf8'));
  if (items.length > 0) deepStrictEqual(items, Object(whole).items);
}

/** Reads the text as the body of a watch. */
async function readWatch(text: string): Promise<undefined> {
  const stream = async () => ({ status: 200, headers: {}, body: chunksOf(text), destroy() {} });
  const events = watchEvents({ stream }, systemClock, {
    resource: widgets,
    query: {},
    timeoutSeconds: 300,
    signal: new AbortController().signal,
    onContact() {},
  });
  for await (const event of events) {
    if (event.type !== 'bookmark' && event.object.metadata === undefined)
      throw new Error('an object without metadata came out');
  }
}

/** Reads the text as what the API server answers: to a get, to a list, and to a write. */
async function readAnswer(text: string): Promise<readonly string[]> {
  const { client } = answeringCluster(text);
  const ref = { namespace: 'team', name: 'a' };
  const calls = [
    () => client.get(widgets, ref),
    () => client.list(widgets, { namespace: 'team' }),
    () => client.delete(widgets, ref),
  ];
  const behaviours: string[] = [];
  for (const call of calls) behaviours.push(await call().then(() => 'understood', refusal));
  return behaviours;
}

/** Returns the outcome of a refused call, which must be a KubeError. */
function refusal(error: unknown): string {
  if (!(error instanceof KubeError)) throw error;
  soundFields(error);
  if (error.retryAfterMs !== undefined && error.retryAfterMs < 0) throw new Error('a rest below 0');
  return `${error.kind} ${error.outcome}`;
}

/** Reads the text as a kubeconfig. One that names a program is passed by: it would be run. */
async function readKubeconfig(text: string): Promise<undefined> {
  if (/exec|auth-provider|command/.test(text)) return;
  const folder = mkdtempSync(join(tmpdir(), 'fuzz-kubeconfig-'));
  try {
    const kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, text);
    const { origin } = await loadKubeConnection({ kubeconfig, environment: {}, clock: systemClock });
    new URL(origin);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

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

/** Targets that parse responses of the API server and its address. */
export const KUBE_TARGETS: readonly FuzzTarget[] = [
  {
    name: 'kube-list',
    seeds: ['{"kind":"List","metadata":{"resourceVersion":"4"},"items":[{"a":"}\\"]"},{"b":[{}]}]}'],
    run: refusing([JsonListError, SyntaxError], sameItems),
  },
  { name: 'kube-watch', seeds: [EVENTS], run: refusing([MalformedReplyError, KubeError], readWatch) },
  {
    name: 'kube-answer',
    seeds: [
      '200\n\n{"kind":"Widget","metadata":{"name":"a","resourceVersion":"4"}}',
      '200\n\n{"kind":"List","metadata":{"resourceVersion":"4"},"items":[{"metadata":{"name":"a"}}]}',
      '429\nRetry-After: 2\n\n{"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow","details":{"retryAfterSeconds":3}}',
      '409\n\n{"kind":"Status","code":409,"reason":"AlreadyExists","details":{"causes":[{"reason":"NamespaceTerminating"}]}}',
      '503\n\nupstream connect error',
    ],
    run: readAnswer,
  },
  { name: 'kubeconfig', seeds: [KUBECONFIG], run: refusing([KubeConfigError], readKubeconfig) },
];
