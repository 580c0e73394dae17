import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { K9S_KEYS, k9sArtifacts } from '../../scripts/generate/k9s.ts';
import { definitions } from '../../src/api/v1alpha1/definitions.ts';
import { kindNamed } from '../../src/cli/objects/kind-spelling.ts';
import { parsedLine } from '../cli/parsed-line.ts';

interface Plugin {
  readonly shortCut: string;
  readonly scopes: readonly string[];
  readonly command: string;
  readonly args: readonly string[];
  readonly confirm?: boolean;
  readonly dangerous?: boolean;
}

const [{ plugins }, { views }] = k9sArtifacts().map(({ content }) => parse(content)) as [
  { readonly plugins: Readonly<Record<string, Plugin>> },
  { readonly views: Readonly<Record<string, { readonly columns: readonly string[] }>> },
];

/** Prints its arguments, one on each line, in place of the program. */
const folder = mkdtempSync(join(tmpdir(), 'k9s-keys-'));
writeFileSync(join(folder, 'gpu-rent'), '#!/bin/sh\nprintf "%s\\n" "$@" "KUBECONFIG=$KUBECONFIG"\n');
chmodSync(join(folder, 'gpu-rent'), 0o755);
afterAll(() => rmSync(folder, { recursive: true }));

/** Runs the command of a key as k9s does: with its values in place of `$NAME`. */
function typed({ command, args }: Plugin, values: Readonly<Record<string, string>>): readonly string[] {
  const filled = args.map((arg) => arg.replaceAll(/\$(\w+)/g, (whole, name) => values[name] ?? whole));
  const env = { PATH: `${folder}:${process.env['PATH']}` };
  const { stdout } = spawnSync(command, filled, {
    ...{ env, encoding: 'utf8' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return stdout.trimEnd().split('\n');
}

describe('keys of k9s', () => {
  const cases = K9S_KEYS.flatMap((key) => key.kinds.map((kind) => [key.name, kind, key] as const));

  test.each(cases)('%s runs a command that exists on the selected %s', async (name, kind, key) => {
    const plugin = plugins[`gpu-rent-${name}`] as Plugin;
    const { names } = definitions.find((each) => each.names.shortNames.includes(kind)) ?? {};
    const values = { RESOURCE_NAME: names?.plural ?? '', NAME: 'x', NAMESPACE: 'team', CONTEXT: 'here' };
    const lines = typed(plugin, { ...values, KUBECONFIG: '/tmp/kube config' });
    expect(lines).toContain('KUBECONFIG=/tmp/kube config');
    const words = lines.slice(0, lines.indexOf('KUBECONFIG=/tmp/kube config'));
    expect(words).toEqual([
      ...[key.verb, `${names?.plural}/x`, '-n', 'team', '--context', 'here'],
      ...(key.flags ?? []),
    ]);
    expect(kindNamed(names?.plural ?? '')?.kind).toBe(names?.kind);
    expect(await parsedLine(`gpu-rent ${words.join(' ')}`)).toMatchObject({ code: 0, shown: '' });
  });

  test('leave the kubeconfig to the program where k9s names none', () => {
    const values = { RESOURCE_NAME: 'gpuinstances', NAME: 'x', NAMESPACE: 'team', CONTEXT: 'here' };
    const plugin = plugins['gpu-rent-status'] as Plugin;
    expect(typed(plugin, { ...values, KUBECONFIG: '' })).toContain('KUBECONFIG=');
  });

  test('are free for each kind', () => {
    for (const { names } of definitions) {
      const keys = Object.values(plugins).filter(({ scopes }) => scopes.includes(names.plural));
      expect(new Set(keys.map(({ shortCut }) => shortCut)).size).toBe(keys.length);
    }
  });

  test('ask before they change anything, and are absent where k9s is read-only', () => {
    for (const { name, shows } of K9S_KEYS) {
      const { confirm = false, dangerous = false } = plugins[`gpu-rent-${name}`] as Plugin;
      expect([name, confirm, dangerous]).toEqual([name, shows === 'change', shows === 'change']);
    }
  });
});

describe('views of k9s', () => {
  test.each(Object.entries(views))('%s have columns that k9s accepts', (_, { columns }) => {
    // Its form of a column: a name, a path, and attributes.
    for (const column of columns) expect(column).toMatch(/^[\w\s%/-]+(:\.[^|]+)?(\|W)?$/);
  });
});
