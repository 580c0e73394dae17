import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { parse } from 'yaml';
import { systemClock } from '../../src/lib/clock.ts';
import { seededRandom } from '../../src/lib/random.ts';
import type { ClusterAccess } from '../cluster/connect.ts';
import { sharedCluster } from '../cluster/shared-cluster.ts';
import { execute, type Server } from './differential/execute.ts';
import { drawProgram } from './differential/programs.ts';
import { equalJson, type JsonObject } from './memory-kube/json.ts';
import { createMemoryKube } from './memory-kube/memory-kube.ts';

const PROGRAMS = Number(process.env['PROGRAMS'] ?? 1000);
const SEED = Number(process.env['SEED'] ?? Math.floor(Date.now() / 1000));
const AT_ONCE = 8;
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

test(`the in-memory API answers ${PROGRAMS} random programs as the real one does (seed ${SEED})`, async () => {
  const namespace = await cluster.createNamespace('differential');
  const [memory, real] = [memoryServer(namespace), realServer(cluster)];
  const random = seededRandom(SEED);
  const mismatches: string[] = [];
  const covered = new Map<string, number>();
  const compare = async (index: number): Promise<void> => {
    const program = drawProgram(random, `p${SEED}x${index}`);
    const [here, there] = [
      await execute(program, namespace, memory),
      await execute(program, namespace, real),
    ];
    for (const [step, operation] of program.operations.entries()) {
      const said = here[step] as JsonObject;
      const variant = 'subresource' in operation && operation.subresource ? '/status' : '';
      const key = `${operation.type} ${operation.plural}${variant} ${String(said['status'])}`;
      covered.set(key, (covered.get(key) ?? 0) + 1);
      if (equalJson(said, there[step] as JsonObject)) continue;
      mismatches.push(
        `${program.id} step ${step} ${JSON.stringify(operation)}\n  memory ${JSON.stringify(said)}\n  real   ${JSON.stringify(there[step])}`,
      );
      return;
    }
  };
  for (let index = 0; index < PROGRAMS; index += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, offset) => compare(index + offset)));
  }
  const table = [...covered].sort().map(([key, count]) => `${String(count).padStart(7)}  ${key}`);
  process.stderr.write(`\nCovered operations\n${table.join('\n')}\nMismatches ${mismatches.length}\n`);
  expect(mismatches.slice(0, 10).join('\n\n')).toBe('');
}, 7_200_000);
