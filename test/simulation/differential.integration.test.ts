import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { seededRandom } from '../../src/lib/random.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { compactEtcd, sizeOfEtcd } from '../cluster/etcd.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { installDefinitions } from '../crds/install.ts';
import { readStrictly } from '../settings/reader.ts';
import { execute } from './differential/execute.ts';
import { makeLast } from './differential/last-object.ts';
import { ALL_PLURALS, CLIENTS, type Operation } from './differential/operations.ts';
import { drawProgram } from './differential/programs.ts';
import { memoryServer, realServer, type Server } from './differential/servers.ts';
import { type Beginning, beginningOf, eventsSince } from './differential/watches.ts';
import { equalJson, isObject, type JsonObject, listAt } from './memory-kube/json.ts';

/** `FROM` passes by the programs before, so that a mismatch can be looked at alone. */
const { PROGRAMS, FROM, SEED } = readStrictly(process.env, (reader) => ({
  PROGRAMS: reader.whole('PROGRAMS', 1, 1_000_000) ?? 1000,
  FROM: reader.whole('FROM', 0, 1_000_000) ?? 0,
  SEED: reader.seed('SEED') ?? Math.floor(Date.now() / 1000),
}));
const AT_ONCE = 8;
const IN_A_BATCH = 500;
/** Watched beside everything: objects that come into the selection and leave it again. */
const SELECTORS = ['', 'tier=gold'];
/** No program makes one of this name. */
const LAST = 'last-of-all';
/**
 * Made before the first program. A server drops what it has cached for more than 75 s when its cache is full, and then
 * refuses every version before the oldest event that it kept: the beginning has to be an event of the kind.
 */
const FIRST = 'first-of-all';
const CRDS = join(import.meta.dirname, '..', '..', 'crds');

const DEFINITIONS = readdirSync(CRDS).map(
  (file) => parse(readFileSync(join(CRDS, file), 'utf8')) as JsonObject,
);

let cluster: ClusterAccess;
let real: ReturnType<typeof realServer>;
beforeAll(async () => {
  cluster = sharedCluster();
  real = realServer(cluster);
  await installDefinitions(cluster.admin);
});
afterAll(() => real.close());

/** Results of one comparison over all batches. */
class Comparison {
  readonly mismatches: string[] = [];
  readonly #covered = new Map<string, number>();
  /** Bytes. */
  #largest = 0;
  readonly #random = seededRandom(SEED);

  /** The programs before that one are drawn and not run. */
  constructor(from: number) {
    for (let index = 0; index < from; index++) drawProgram(this.#random, '');
  }

  /** Runs programs in a namespace of their own, so that lists stay as short as they are at first. */
  async batch(from: number, to: number): Promise<void> {
    const namespace = await cluster.createNamespace('differential');
    const memory = memoryServer(namespace, DEFINITIONS);
    const begin = (server: Server) =>
      Promise.all(
        ALL_PLURALS.map(async (plural) => {
          await makeLast(server, { plural, namespace, name: FIRST, labels: {} });
          return beginningOf(server, plural, namespace);
        }),
      );
    const [here, there] = [await begin(memory), await begin(real)];
    for (let index = from; index < to; index += AT_ONCE) {
      const count = Math.min(AT_ONCE, to - index);
      const indexes = Array.from({ length: count }, (_, offset) => index + offset);
      await Promise.all(indexes.map((each) => this.#compare(each, { namespace, memory })));
    }
    const last = { namespace, name: LAST, labels: { tier: 'gold' } };
    for (const plural of ALL_PLURALS) {
      await Promise.all([memory, real].map((server) => makeLast(server, { ...last, plural })));
    }
    const watched = here.flatMap((own, at) =>
      SELECTORS.map((selector) => ({ own, other: there[at], selector })),
    );
    await Promise.all(watched.map((each) => this.#compareEvents(memory, each)));
    if (cluster.etcdUrl !== undefined) await this.#compact(cluster.etcdUrl);
  }

  /** Compacts etcd: 20,000 programs write more revisions than its default quota, and old ones are not needed. */
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
    const there = await execute(program, where.namespace, real);
    for (const [step, operation] of program.operations.entries()) {
      const said = here[step] ?? {};
      this.#cover(operation, said);
      if (equalJson(said, there[step])) continue;
      const both = firstDifference(said, there[step] ?? {});
      this.mismatches.push(`${program.id} step ${step} ${JSON.stringify(operation)}\n  ${both}`);
      return;
    }
  }

  /** Compares the events of a watch that began before the first program, per program. */
  async #compareEvents(
    memory: Server,
    { own, other, selector }: { own: Beginning; other: Beginning | undefined; selector: string },
  ): Promise<void> {
    if (other === undefined) throw new Error(`${own.plural} were not listed`);
    const [here, there] = await Promise.all([
      eventsSince(memory, own, { labelSelector: selector, last: LAST }),
      eventsSince(real, other, { labelSelector: selector, last: LAST }),
    ]);
    const programs = [...new Set([...here.keys(), ...there.keys()])].filter((id) => id.startsWith('p'));
    for (const id of programs) {
      const [said, expected] = [here.get(id) ?? [], there.get(id) ?? []];
      for (const { type } of said) this.#count(`watch ${own.plural}${selector && ` of ${selector}`} ${type}`);
      const [mine, theirs] = [{ events: [...said] }, { events: [...expected] }];
      if (equalJson(mine, theirs)) continue;
      this.mismatches.push(`${id} watched with "${selector}"\n  ${firstDifference(mine, theirs)}`);
    }
  }

  #cover(operation: Operation, said: JsonObject): void {
    const { type, plural, client } = operation;
    const status = String(said['status']);
    if (type === 'watch') {
      const marked = operation.bookmarks ? ', with bookmarks' : '';
      this.#count(`watch opened among writes, from ${operation.from}${marked}`);
      for (const event of listAt(said, 'events').filter(isObject)) {
        this.#count(`watch ${plural} among writes ${String(event['type'])}`);
      }
      return;
    }
    const subresource = 'subresource' in operation && operation.subresource ? '/status' : '';
    this.#count(`${type} ${plural}${subresource} ${status}`);
    if (client !== CLIENTS[0]) this.#count(`by a second client: ${type} ${status}`);
  }

  #count(key: string): void {
    this.#covered.set(key, (this.#covered.get(key) ?? 0) + 1);
  }
}

/** Returns the first event that differs between two watches, or else both replies. */
function firstDifference(here: JsonObject, there: JsonObject): string {
  const both = (a: unknown, b: unknown): string =>
    `memory ${JSON.stringify(a)}\n  real   ${JSON.stringify(b)}`;
  const [mine, theirs] = [listAt(here, 'events'), listAt(there, 'events')];
  const at = [...mine, ...theirs].findIndex((_, index) => !equalJson(mine[index], theirs[index]));
  return at < 0 ? both(here, there) : `event ${at}\n  ${both(mine[at], theirs[at])}`;
}

test(`the in-memory API answers ${PROGRAMS} random programs as the real one does (seed ${SEED})`, async () => {
  const comparison = new Comparison(FROM);
  const end = FROM + PROGRAMS;
  for (let from = FROM; from < end; from += IN_A_BATCH) {
    await comparison.batch(from, Math.min(from + IN_A_BATCH, end));
  }
  process.stderr.write(`\n${comparison.table()}\n`);
  expect(comparison.mismatches.slice(0, 10).join('\n\n')).toBe('');
}, 7_200_000);
