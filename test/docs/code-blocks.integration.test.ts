import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { blocksToRun, codeBlocks, commandsOf, commandsUnder, quickStartCommands } from './code-blocks.ts';
import { openReader, type Reader } from './reader.ts';
import { shapeOf } from './shown-output.ts';

let reader: Reader | undefined;
afterEach(() => reader?.close());

const QUIET = ['--metrics-bind-address=127.0.0.1:0', '--health-probe-bind-address=0'];

/**
 * Follows a page: `install` first, then the operator as a process of that ServiceAccount with a simulated marketplace
 * in place of the real one, then the rest. Gives back what each command of the rest printed.
 */
async function follow(install: string, rest: readonly string[]): Promise<readonly string[]> {
  reader = await openReader();
  await reader.type(install);
  const args = ['simulator', '--port=0', '--seed=42', '--boot-scale=0.02', '--serve-machines'];
  const simulator = reader.run('simulator', args);
  const { url, apiKey } = (await simulator.ready) as Record<'url' | 'apiKey', string>;
  writeFileSync(join(reader.folder, 'my-key.txt'), `${apiKey}\n`);
  const market = [`--marketplace-url=${url}`, '--address-map=203.0.113.0/24=127.0.0.1'];
  const durations = Object.entries(DEMO_DURATIONS).flat();
  const access = await reader.operatorAccess();
  reader.run('operator', ['operator', ...access, ...market, ...QUIET, ...durations]);
  const printed: string[] = [];
  for (const commands of rest) printed.push(await reader.type(commands));
  return printed;
}

describe('the tutorial', () => {
  const [install, ...rest] = blocksToRun('docs/tutorials/first-machine.md').map(commandsOf);

  test('works as it is written', async () => {
    expect(rest.length).toBeGreaterThan(5);
    const printed = await follow(install ?? 'false', rest);
    expect(await reader?.type('kubectl get gpui -o name')).toBe('');
    expect(printed.at(-1), 'what was spent').toMatch(/^0\.\d+$/);
  }, 300_000);
});

describe('the README', () => {
  const blocks = codeBlocks('README.md');
  const typedUnder = (heading: string): readonly string[] => commandsUnder('README.md', heading);

  test('leads to a machine with a real account, and shows what kubectl prints', async () => {
    const [install, ...rest] = typedUnder('With a real account');
    const printed = await follow(install ?? 'false', rest);
    const shown = blocks.find(
      ({ heading, language }) => heading === 'With a real account' && language === 'text',
    );
    expect(shapeOf(printed.at(-1) ?? ''), 'P9').toBe(shapeOf(shown?.text ?? ''));
    await reader?.type('kubectl delete gpui trainer');
  }, 300_000);

  test('starts with the commands of deploy/quickstart.yaml, which are run below, and with targets of make', () => {
    const [first, ...others] = typedUnder('See it work').map((line) => line.replace(/ +#.*$/, ''));
    expect(first).toBe('make demo');
    const targets = new Set(read('Makefile').match(/^[a-z-]+(?=:)/gm));
    const make = others.filter((line) => line.startsWith('make '));
    expect(make.filter((line) => !targets.has(line.slice('make '.length)))).toEqual([]);
    expect(others.filter((line) => !line.startsWith('make '))).toEqual(quickStartCommands().slice(0, 2));
  });
});

const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');

interface Container {
  readonly name: string;
  readonly args: readonly string[];
}

describe('deploy/quickstart.yaml', () => {
  function containers(): readonly Container[] {
    const objects = parseAllDocuments(read('deploy/quickstart.yaml')).map(
      (document) => document.toJS() as Record<string, never>,
    );
    const deployment = objects.find((object) => object.kind === 'Deployment') as unknown as {
      spec: { template: { spec: { containers: readonly Container[] } } };
    };
    return deployment.spec.template.spec.containers;
  }

  test('brings a ready GpuInstance within a minute, without account and money, and ends as it says', async () => {
    reader = await openReader();
    const [apply, wait, ...end] = quickStartCommands();
    const begun = performance.now();
    await reader.type(apply ?? 'false');
    // The Pod's two containers as processes: they meet on the loopback interface there and here, at any port.
    const argsOf = (name: string, port: string) =>
      containers()
        .filter((one) => one.name === name)
        .flatMap(({ args }) => args.map((arg) => arg.replace('8088', port)));
    const simulator = reader.run('simulator', argsOf('simulator', '0'));
    const { url } = await simulator.ready;
    const flags = argsOf('operator', new URL(String(url)).port).filter((arg) => !/bind-address/.test(arg));
    reader.run('operator', [...flags, ...(await reader.operatorAccess()), ...QUIET]);
    await reader.type(wait ?? 'false');
    expect((performance.now() - begun) / 1000).toBeLessThan(60);
    const letGo = `kubectl patch gpui first --type=merge -p '{"metadata":{"finalizers":null}}'`;
    await expect(reader.type(letGo), 'A17: its admission policies are in force').rejects.toThrow(
      /Only the operator changes its finalizers/,
    );
    expect(end).toHaveLength(2);
    for (const command of end) await reader.type(command);
    expect(await reader.type('kubectl get crd -o name'), 'what is left').toBe('');
  }, 240_000);
});
