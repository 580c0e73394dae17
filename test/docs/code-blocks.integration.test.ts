import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { codeBlocks, commandsOf } from './code-blocks.ts';
import { openReader, type Reader } from './reader.ts';

let reader: Reader | undefined;
afterEach(() => reader?.close());

const QUIET = ['--metrics-bind-address=127.0.0.1:0', '--health-probe-bind-address=0'];

describe('the tutorial', () => {
  const blocks = codeBlocks('docs/tutorial.md').filter(({ language }) => language === 'sh');

  test('works as it is written, with a simulated marketplace in place of the real one', async () => {
    reader = await openReader();
    const [install, ...rest] = blocks;
    await reader.type(commandsOf(install ?? { language: 'sh', heading: '', text: 'false' }));
    const simulator = reader.run('simulator', [
      'simulator',
      '--port=0',
      '--boot-scale=0.02',
      '--serve-machines',
    ]);
    const { url, apiKey } = (await simulator.ready) as Record<'url' | 'apiKey', string>;
    writeFileSync(join(reader.folder, 'my-key.txt'), `${apiKey}\n`);
    const market = [`--marketplace-url=${url}`, '--address-map=203.0.113.0/24=127.0.0.1'];
    const durations = Object.entries(DEMO_DURATIONS).flat();
    reader.run('operator', [
      'operator',
      ...(await reader.operatorAccess()),
      ...market,
      ...QUIET,
      ...durations,
    ]);
    for (const block of rest) await reader.type(commandsOf(block));
    expect(await reader.type('kubectl get gpui -o name')).toBe('');
    expect(rest.length).toBeGreaterThan(5);
  }, 300_000);
});

interface Container {
  readonly name: string;
  readonly args: readonly string[];
}

describe('deploy/quickstart.yaml', () => {
  const file = join(REPOSITORY, 'deploy/quickstart.yaml');
  const text = readFileSync(file, 'utf8');

  function containers(): readonly Container[] {
    const objects = parseAllDocuments(text).map((document) => document.toJS() as Record<string, never>);
    const deployment = objects.find((object) => object.kind === 'Deployment') as unknown as {
      spec: { template: { spec: { containers: readonly Container[] } } };
    };
    return deployment.spec.template.spec.containers;
  }

  test('brings a ready GpuInstance within a minute: no account, no money', async () => {
    reader = await openReader();
    const typed = [...text.matchAll(/^# {3}(.*)$/gm)].map(([, line = '']) => line);
    const begun = performance.now();
    await reader.type(typed[0] ?? 'false');
    // The Pod's two containers as processes: they meet on the loopback interface there and here.
    const port = String(await findFreePort());
    const args = new Map(
      containers().map((one) => [one.name, one.args.map((arg) => arg.replace('8088', port))]),
    );
    const simulator = reader.run('simulator', args.get('simulator') ?? []);
    await simulator.ready;
    const flags = (args.get('operator') ?? []).filter((arg) => !/bind-address/.test(arg));
    reader.run('operator', [...flags, ...(await reader.operatorAccess()), ...QUIET]);
    await reader.type(typed[1] ?? 'false');
    expect((performance.now() - begun) / 1000).toBeLessThan(60);
    await reader.type('kubectl delete gpui first');
  }, 240_000);
});
