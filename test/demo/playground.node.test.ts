import { afterEach, describe, expect, inject, test } from 'vitest';
import { tracesOnThisMachine } from '../cluster/node/traces.ts';
import type {} from '../cluster/provided-context.ts';
import {
  commandsOf,
  endPlaygrounds,
  READY_MS,
  remainsOf,
  startPlayground,
  typed,
} from './playground-process.ts';

afterEach(endPlaygrounds);

const POD = 'kubectl run tried --image=localhost/pause:1 --image-pull-policy=Never';

describe.skipIf(inject('nodeCluster')?.source !== 'own-node')('a playground with a node', () => {
  test(
    'every printed command works, Pods run, and Ctrl-C and the end of its time leave nothing behind',
    async () => {
      const before = tracesOnThisMachine();
      const short = startPlayground({ PLAYGROUND_SECONDS: '1' });
      const long = startPlayground({});
      const commands = await commandsOf(long);
      expect(commands[0]).toMatch(/^source /);
      expect(commands).toContain('curl $CONTROL/ledger');
      expect(long.output()).toContain('Pods run here');
      const ready = 'kubectl wait pod/tried --for=condition=Ready --timeout=60s';
      const stdout = await typed([...commands, POD, ready]);
      expect(stdout).toContain('gpuinstance.gpurental.dev/workbench condition met');
      expect(stdout).toMatch(/"billing":\d/);
      expect(stdout).toContain('pod/tried condition met');
      expect(await short.ended).toBe(0);
      // As a terminal does: to the whole group.
      process.kill(-(long.child.pid ?? 0), 'SIGINT');
      expect(await long.ended).toBe(0);
      for (const playground of [short, long]) expect(await remainsOf(playground)).toEqual([]);
      expect(tracesOnThisMachine()).toEqual(before);
    },
    2 * READY_MS,
  );
});
