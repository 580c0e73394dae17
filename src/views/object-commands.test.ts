import { expect, test } from 'vitest';
import { parsedLine } from '../../test/cli/parsed-line.ts';
import type { FleetKind } from './fleet.ts';
import { objectCommands } from './object-commands.ts';

const machine = { instanceId: '7', ssh: { host: 'ssh.example.com', port: 22 } };

test.each<[FleetKind, object | undefined, readonly string[]]>([
  ['gpui', machine, ['Shell', 'Logs', 'Explain', 'Wait', 'Status']],
  ['gpui', { ...machine, phase: 'Stopped' }, ['Logs', 'Explain', 'Wait', 'Status']],
  ['gpui', undefined, ['Explain', 'Wait', 'Status']],
  ['epg', undefined, ['Explain', 'Watch', 'Wait', 'Status']],
  ['gpuacct', undefined, ['Status', 'Check']],
])('offers commands that gpu-rent accepts for %s with status %j', async (kind, status, titles) => {
  const commands = objectCommands({ kind, namespace: 'ml', name: 'trainer' }, { status });
  expect(commands.map(({ title }) => title)).toEqual(titles);
  for (const { text } of commands)
    expect({ text, ...(await parsedLine(text)) }).toMatchObject({ text, code: 0, shown: '' });
});
