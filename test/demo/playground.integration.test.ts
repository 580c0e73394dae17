import { afterEach, expect, inject, test } from 'vitest';
import type {} from '../cluster/provided-context.ts';
import {
  commandsOf,
  endPlaygrounds,
  type Playground,
  READY_MS,
  remainsOf,
  startPlayground,
  typed,
} from './playground-process.ts';

afterEach(endPlaygrounds);

const start = (env: Readonly<Record<string, string>>): Playground =>
  startPlayground({ PLAYGROUND_NODE: 'false', ...env });

// Two on one borrowed cluster would be two operators with one identity.
test.skipIf(inject('cluster').source === 'existing-cluster')(
  'two playgrounds at once: every printed command works, both end and leave nothing behind',
  async () => {
    const short = start({ PLAYGROUND_SECONDS: '1' });
    const long = start({});
    const commands = await commandsOf(long);
    expect(commands.map((line) => line.split(' ')[0])).toEqual([
      'export',
      'export',
      'kubectl',
      'kubectl',
      'gpu-rent',
      'curl',
    ]);
    const stdout = await typed(commands);
    expect(stdout).toContain('gpuinstance.gpurental.dev/trainer created');
    expect(stdout).toContain('gpuinstance.gpurental.dev/trainer condition met');
    expect(stdout).toMatch(/"billing":1\b/);
    expect(await short.ended).toBe(0);
    expect(short.output()).toContain('1 s are over');
    expect(long.child.exitCode).toBeNull();
    long.child.kill('SIGTERM');
    expect(await long.ended).toBe(0);
    for (const playground of [short, long]) expect(await remainsOf(playground)).toEqual([]);
  },
  2 * READY_MS,
);

test.each(['soon', '0'])('PLAYGROUND_SECONDS=%s is refused by name', async (seconds) => {
  const { ended, output } = start({ PLAYGROUND_SECONDS: seconds });
  expect(await ended).toBe(2);
  expect(output()).toBe(
    `PLAYGROUND_SECONDS=${seconds} means nothing here: write a whole number from 1 to 604800\n`,
  );
});
