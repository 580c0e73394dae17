import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { type NodeCluster, startCluster } from '../cluster.ts';
import { tracesOnThisMachine } from './traces.ts';

const SOON = { timeout: 30_000, interval: 100 };
const own = { node: true, only: 'own-node', report: () => {} } as const;

/** Maximum start time on a machine that also runs other tests; docs/performance.md has the figure of an idle one. */
const READY_WITHIN_MS = 90_000;

describe.skipIf(inject('nodeCluster')?.source !== 'own-node')('a node of this machine', () => {
  test('leaves nothing behind when it is stopped, and two run at the same time', async () => {
    const before = tracesOnThisMachine();
    const clusters = await Promise.all([startCluster(own), startCluster(own)]);
    try {
      expect(tracesOnThisMachine()).not.toEqual(before);
      const addresses = clusters.map(({ node }) => node.hostAddress);
      expect(new Set(addresses).size).toBe(2);
      for (const cluster of clusters) {
        expect(cluster.nodeTimes?.dnsReadyMs).toBeLessThan(READY_WITHIN_MS);
        expect(await cluster.kubectl(['get', 'nodes', '-o=name'])).toBe('node/node\n');
      }
    } finally {
      await Promise.all(clusters.map((cluster: NodeCluster) => cluster.stop()));
    }
    expect(tracesOnThisMachine()).toEqual(before);
  });

  test.for(['its owner', 'the first process of its namespaces'] as const)(
    'leaves nothing behind when %s is killed',
    async (victim) => {
      const before = tracesOnThisMachine();
      const { owner, processIds } = await startOwner();
      const first = processIds['node'];
      const pids = {
        'its owner': owner.pid,
        'the first process of its namespaces': childOf(first),
      };
      const pid = pids[victim];
      if (pid === undefined) throw new Error(`${victim} is not known`);
      process.kill(pid, 'SIGKILL');
      if (victim !== 'its owner') owner.stdin.end();
      await once(owner, 'exit');
      await expect.poll(tracesOnThisMachine, SOON).toEqual(before);
    },
  );
});

const printed = z.looseObject({ processIds: z.record(z.string(), z.number()) });

/** Starts a process that has started a node, as a test or the playground does. */
async function startOwner() {
  const owner = spawn(process.execPath, [join(import.meta.dirname, '..', 'main.ts'), 'node'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface({ input: owner.stdout }), 'line')) as [string];
  return { owner, processIds: printed.parse(JSON.parse(line)).processIds };
}

function childOf(pid: number | undefined): number | undefined {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child ? Number(child) : undefined;
}
