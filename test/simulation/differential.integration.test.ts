import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { compactEtcd, sizeOfEtcd } from '../cluster/etcd.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { readStrictly } from '../settings/reader.ts';
import { execute, type Server } from './differential/execute.ts';
import { ALL_PLURALS, drawProgram, type Operation } from './differential/programs.ts';
import { type Beginning, beginningOf, eventsSince } from './differential/watches.ts';
import { equalJson, type JsonObject } from './memory-kube/json.ts';
import { createMemoryKube } from './memory-kube/memory-kube.ts';

const { PROGRAMS, SEED } = readStrictly(process.env, (reader) => ({
  PROGRAMS: reader.whole('PROGRAMS', 1, 1_000_000) ?? 1000,
  SEED: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
}));
const AT_ONCE = 8;
const IN_A_BATCH = 500;
/** Watched beside everything: objects that come into the selection and leave it again. */
const SELECTORS = ['', 'tier=gold'];
const CRDS = join(import.meta.dirname, '..', '..', 'crds');

let cluster: ClusterAccess;
beforeAll(async () => {
  cluster = sharedCluster();
  await cluster.kubectl(['apply', '--server-side', '--force-conflicts', '-f', CRDS]);
});

/** The in-memory server with a namespace of its own. */
function memoryServer(namespace: string): Server {
  const definitions = readdirSync(CRDS).map(
    (file) => parse(readFileSync(join(CRDS, file), 'utf8')) as JsonObject,
  );
  const kube = createMemoryKube({ clock: systemClock, random: seededRandom(1), definitions });
  kube.writes.create(
    { kind: kube.kind('namespaces'), namespace: undefined, name: namespace },
    { metadata: { name: namespace } },
  );
  return async ({ method, path, body, contentType }) => {
    const response = await kube.transport({
      method,
      origin: 'https://memory',
      path,
      headers: { 'content-type': contentType ?? 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    return { status: response.status, body: path.includes('watch=1') ? text : JSON.parse(text) };
  };
}

const FAILURES = [400, 403, 404, 409, 410, 415, 422];
const realServer =
  (access: ClusterAccess): Server =>
  (request) =>
    access.admin.request({ ...request, accept: FAILURES });

/** What one comparison came to, over all batches. */
class Comparison {
  readonly mismatches: string[] = [];
  readonly #covered = new Map<string, number>();
  /** Bytes. */
  #largest = 0;
  readonly #real = realServer(cluster);
  readonly #random = seededRandom(SEED);

  /** Runs programs in a namespace of their own, so that lists stay as short as they are at first. */
  async batch(from: number, to: number): Promise<void> {
    const namespace = await cluster.createNamespace('differential');
    const memory = memoryServer(namespace);
    const begin = (server: Server) =>
      Promise.all(ALL_PLURALS.map((plural) => beginningOf(server, plural, namespace)));
    const [here, there] = [await begin(memory), await begin(this.#real)];
    for (let index = from; index < to; index += AT_ONCE) {
      const count = Math.min(AT_ONCE, to - index);
      const indexes = Array.from({ length: count }, (_, offset) => index + offset);
      await Promise.all(indexes.map((each) => this.#compare(each, { namespace, memory })));
    }
    const watched = here.flatMap((own, at) =>
      SELECTORS.map((selector) => ({ own, real: there[at], selector })),
    );
    await Promise.all(watched.map((each) => this.#compareEvents(memory, each)));
    if (cluster.etcdUrl !== undefined) await this.#compact(cluster.etcdUrl);
  }

  /** Old revisions are of no use to anybody, and 20,000 programs write more of them than etcd takes by default. */
  async #compact(etcdUrl: string): Promise<void> {
    await compactEtcd(etcdUrl);
    this.#largest = Math.max(this.#largest, await sizeOfEtcd(etcdUrl));
  }

  table(): string {
    const rows = [...this.#covered].sort().map(([key, count]) => `${String(count).padStart(7)}  ${key}`);
    const size = this.#largest > 0 ? `\netcd at most ${Math.round(this.#largest / 1e6)} MB` : '';
    return `Covered operations\n${rows.join('\n')}${size}\nMismatches ${this.mismatches.length}`;
  }

  async #compare(
    index: number,
    where: { readonly namespace: string; readonly memory: Server },
  ): Promise<void> {
    const program = drawProgram(this.#random, `p${SEED}x${index}`);
    const here = await execute(program, where.namespace, where.memory);
    const there = await execute(program, where.namespace, this.#real);
    for (const [step, operation] of program.operations.entries()) {
      const said = here[step] as JsonObject;
      this.#cover(operation, String(said['status']));
      if (equalJson(said, there[step] as JsonObject)) continue;
      const both = `memory ${JSON.stringify(said)}\n  real   ${JSON.stringify(there[step])}`;
      this.mismatches.push(`${program.id} step ${step} ${JSON.stringify(operation)}\n  ${both}`);
      return;
    }
  }

  /** What a watch from before the first program tells of each. */
  async #compareEvents(
    memory: Server,
    { own, real, selector }: { own: Beginning; real: Beginning | undefined; selector: string },
  ): Promise<void> {
    if (real === undefined) throw new Error(`${own.plural} were not listed`);
    const [here, there] = await Promise.all([
      eventsSince(memory, own, selector),
      eventsSince(this.#real, real, selector),
    ]);
    const programs = [...new Set([...here.keys(), ...there.keys()])].filter((id) => id.startsWith('p'));
    for (const id of programs) {
      const [said, expected] = [here.get(id) ?? [], there.get(id) ?? []];
      for (const { type } of said) this.#count(`watch ${own.plural}${selector && ` of ${selector}`} ${type}`);
      const at = [...said, ...expected].findIndex((_, index) => !equalJson(said[index], expected[index]));
      if (at < 0) continue;
      const both = `memory ${JSON.stringify(said[at])}\n  real   ${JSON.stringify(expected[at])}`;
      this.mismatches.push(`${id} watched with "${selector}", event ${at}\n  ${both}`);
    }
  }

  #cover(operation: Operation, status: string): void {
    const variant = 'subresource' in operation && operation.subresource ? '/status' : '';
    this.#count(`${operation.type} ${operation.plural}${variant} ${status}`);
  }

  #count(key: string): void {
    this.#covered.set(key, (this.#covered.get(key) ?? 0) + 1);
  }
}

test(`the in-memory API answers ${PROGRAMS} random programs as the real one does (seed ${SEED})`, async () => {
  const comparison = new Comparison();
  for (let from = 0; from < PROGRAMS; from += IN_A_BATCH) {
    await comparison.batch(from, Math.min(from + IN_A_BATCH, PROGRAMS));
  }
  process.stderr.write(`\n${comparison.table()}\n`);
  expect(comparison.mismatches.slice(0, 10).join('\n\n')).toBe('');
}, 7_200_000);
