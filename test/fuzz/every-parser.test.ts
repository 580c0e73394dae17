import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { READ_SCHEMAS, schemasOf } from './targets/wire.ts';

/** Places that parse a text and read nothing that others write, or nothing of it. */
const NO_TARGET: Readonly<Record<string, string>> = {
  'src/cli/agent/tools.ts: .safeParse': 'arguments of a call, which a scripted hostile caller draws',
  'src/cli/commands/api-keys.ts: JSON.parse': 'a file of the person who calls, guarded beside it',
  'src/cli/commands/api.ts: JSON.parse': 'to be printed again; nothing is read out of it',
  'src/cli/commands/diff.ts: JSON.parse': 'of what was just written',
  'src/cli/commands/explain.ts: JSON.parse': 'of what was just written',
  'src/cli/doctor/cluster-checks.ts: JSON.parse':
    'one field, and any failure of a check is told as its finding',
  'src/cli/logs/kept-log.ts: Buffer.from':
    'of a Secret of the operator; what is no gzip of a limited size rejects',
  'src/cli/machine/reach.ts: .safeParse':
    'a variable of the person who calls, by the schema of a setting that the target settings reads',
  'src/cli/options/cost-options.ts: .safeParse':
    'an option of the person who calls, by the schema of a setting that the target settings reads',
  'src/cli/output/output.ts: JSON.parse': 'of what was just written',
  'src/cli/plan/dry-run.ts: JSON.parse':
    'guarded beside it; only names of fields are taken, whatever holds them',
  'src/cli/plan/manifests.ts: .safeParse': 'a file of the person who calls, by the schema of its kind',
  'src/cli/run-faults.ts: .safeParse': 'options of the person who calls, by the schema of their kind',
  'src/controllers/endpoint-group/identity/identities.ts: Buffer.from':
    'of a Secret of the operator; what is no pair of key and certificate is left out',
  'src/controllers/endpoint-group/load/gateway-intake.ts: .safeParse':
    'by a schema; its properties are tested with reports of any content',
  'src/controllers/gpu-instance/run-collection.ts: Buffer.from': 'of a Secret of the operator, to be cut',
  'src/controllers/orphan-sweep/child-sweep.ts: Buffer.from':
    'the id of a machine in a Secret of the operator; it is only compared',
  'src/gateway/group-view.ts: .safeParse':
    'of an object that the API server validated; without a result the object stays as it is',
  'src/gateway/report-client.ts: JSON.parse': 'guarded beside it, and read by a schema',
  'src/markets/vast/offers/offers.ts: .safeParse': 'by a schema that the target offer reads',
  'src/markets/vast/volumes.ts: .safeParse': 'by a schema that the target wire-volume reads',
  'src/ownership/ssh-key.ts: Buffer.from': 'the public key of our own derived pair',
  'src/server/http-server.ts: JSON.parse': 'guarded beside it; its result is what gateway-intake reads',
  'src/server/report-server.ts: JSON.parse': 'guarded beside it; its result is what worker-report reads',
  'src/simulator/faults/call-faults.ts: JSON.parse': "the simulator's own answer",
  'src/simulator/faults/reply-faults.ts: JSON.parse': "the simulator's own answer",
  'src/simulator/instances/machine-servers.ts: Buffer.from':
    'certificates that Node reads when the machine begins to serve',
  'src/simulator/machine-files.ts: Buffer.from':
    'the script of a rental, guarded beside it; patterns are searched in it, and nothing runs',
  'src/simulator/routes/deployments.ts: Buffer.from': 'bytes that are kept and never read',
  'src/simulator/world/world-document.ts: .safeParse':
    'by shapes that world-fuzz.test.ts puts odd documents through',
  'src/simulator/world/world-file.ts: JSON.parse': 'of a database that only the simulator writes',
  'src/ui/page/stream.ts: JSON.parse':
    'messages of the process that serves the page, built from the same commit; test/ui shows hostile objects',
};

test('every place that parses a text is reached by a fuzz target, or is listed as needing none', () => {
  const script = join(import.meta.dirname, 'reached.ts');
  const places: string[] = JSON.parse(execFileSync(process.execPath, [script], { encoding: 'utf8' }));
  expect([...new Set(places)]).toEqual(Object.keys(NO_TARGET));
});

test('every schema of replies of the marketplace is read by a fuzz target', async () => {
  const folder = join(import.meta.dirname, '../../src/markets/vast');
  const files = readdirSync(folder, { encoding: 'utf8', recursive: true }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  );
  // Scalars are parts of every other schema.
  const replies = files.filter((file) => file !== 'scalars.ts');
  const unread = await Promise.all(
    replies.map(async (file) => {
      const exported: Record<string, unknown> = await import(join(folder, file));
      return [...schemasOf(exported)].flatMap(([name, schema]) =>
        READ_SCHEMAS.has(schema) ? [] : [`${file}: ${name}`],
      );
    }),
  );
  expect(unread.flat()).toEqual([]);
});
