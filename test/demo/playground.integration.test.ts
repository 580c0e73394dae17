import { afterEach, expect, inject, test } from 'vitest';
import { SSHD } from '../builders/ssh-machine.ts';
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

/** The machine that the injected fault took away has a successor. */
const REPLACED = [
  'kubectl wait gpui/trainer --for=jsonpath={.status.history[0].reason}=Vanished --timeout=2m',
  'kubectl wait gpui/trainer --for=condition=Ready --timeout=2m',
];

const start = (env: Readonly<Record<string, string>>): Playground =>
  startPlayground({ PLAYGROUND_NODE: 'false', ...env });

// Two on one borrowed cluster would be two operators with one identity.
test.skipIf(inject('cluster').source === 'existing-cluster')(
  'P8, P19: two playgrounds at once: every printed command works, both end and leave nothing behind',
  async () => {
    const short = start({ PLAYGROUND_SECONDS: '1' });
    const long = start({});
    const commands = await commandsOf(long);
    expect(long.output()).toMatch(/trainer: Running/);
    expect(commands.map((line) => line.split(' ').slice(0, 2).join(' '))).toEqual([
      expect.stringMatching(/^source \/\S+\/env$/),
      'gpu-rent list',
      'gpu-rent explain',
      'gpu-rent cost',
      'curl -d',
      'kubectl apply',
      'kubectl wait',
      ...(SSHD === undefined ? [] : ['gpu-rent ssh']),
      'kubectl delete',
      'curl $CONTROL/ledger',
      'curl -s',
      'curl -sS',
      'gpu-rent top',
    ]);
    const stdout = await typed([...commands, ...REPLACED, 'curl $CONTROL/ledger']);
    expect(stdout).toContain('gpuinstance.gpurental.dev/workbench created');
    expect(stdout).toContain('gpuinstance.gpurental.dev/workbench condition met');
    expect(stdout).toContain('gpuinstance.gpurental.dev/trainer condition met');
    expect(stdout, 'P8: a machine answers SSH').toMatch(SSHD === undefined ? /./ : /^Linux /m);
    expect(stdout, 'P19: the metrics address').toMatch(/^gpu_rental_\w+\{/m);
    expect(stdout, 'P19: a chat through the gateway').toContain('word0 word1 word2');
    expect(stdout, 'P19: top shows the group').toMatch(/^chat +\w+ +1\/1/m);
    expect(stdout.slice(stdout.lastIndexOf('"contracts"') - 200)).toMatch(/"billing":2\b/);
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
