import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { execute, type Server } from './differential/execute.ts';
import { drawProgram, type Operation } from './differential/programs.ts';
import { equalJson, type JsonObject } from './memory-kube/json.ts';
import { createMemoryKube } from './memory-kube/memory-kube.ts';

const PROGRAMS = Number(process.env['PROGRAMS'] ?? 1000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Date.now() / 1000));
const AT_ONCE = 8;
const IN_A_NAMESPACE = 500;
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
    return { status: response.status, body: JSON.parse(Buffer.concat(chunks).toString('utf8')) };
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
  readonly #real = realServer(cluster);
  readonly #random = seededRandom(SEED);

  /** Runs programs in a namespace of their own, so that lists stay as short as they are at first. */
  async batch(from: number, to: number): Promise<void> {
    const namespace = await cluster.createNamespace('differential');
    const memory = memoryServer(namespace);
    for (let index = from; index < to; index += AT_ONCE) {
      const indexes = Array.from({ length: AT_ONCE }, (_, offset) => index + offset);
      await Promise.all(indexes.map((each) => this.#compare(each, { namespace, memory })));
    }
  }

  table(): string {
    const rows = [...this.#covered].sort().map(([key, count]) => `${String(count).padStart(7)}  ${key}`);
    return `Covered operations\n${rows.join('\n')}\nMismatches ${this.mismatches.length}`;
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

  #cover(operation: Operation, status: string): void {
    const variant = 'subresource' in operation && operation.subresource ? '/status' : '';
    const key = `${operation.type} ${operation.plural}${variant} ${status}`;
    this.#covered.set(key, (this.#covered.get(key) ?? 0) + 1);
  }
}

test(`the in-memory API answers ${PROGRAMS} random programs as the real one does (seed ${SEED})`, async () => {
  const comparison = new Comparison();
  for (let from = 0; from < PROGRAMS; from += IN_A_NAMESPACE) {
    await comparison.batch(from, Math.min(from + IN_A_NAMESPACE, PROGRAMS));
  }
  process.stderr.write(`\n${comparison.table()}\n`);
  expect(comparison.mismatches.slice(0, 10).join('\n\n')).toBe('');
}, 7_200_000);
