import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { describeWithNode } from '../cluster/node/describe-with-node.ts';
import { commandsUnder, quickStartCommands } from '../docs/code-blocks.ts';
import { type Typist, typistOn } from '../docs/typist.ts';
import { operatorImage } from '../image/operator-image.ts';

const [, , endMachine = 'false', endAll = 'false'] = quickStartCommands();
/** Far above the figure in docs/performance.md, for machines that run other tests as well. */
const READY_WITHIN_MS = 90_000;
/** Command that lists all objects of the created kinds, by kind and name. */
const OBJECTS =
  'kubectl get crd,ns,clusterroles,clusterrolebindings,secrets,configmaps,services,endpointslices -o name';

describeWithNode('the quick start of the README on a node', (cluster) => {
  let type: Typist;
  let before = new Set<string>();
  const objects = async () => (await type(OBJECTS)).split('\n');

  beforeAll(async () => {
    type = typistOn(cluster(), { folder: REPOSITORY });
    await cluster().node.importImage(await operatorImage());
    // A cluster that has just begun still makes objects of its own; this one is the last that is asked for here.
    const hasLast = async () => expect(await objects()).toContain('configmap/kube-root-ca.crt');
    await vi.waitFor(hasLast, { timeout: 60_000, interval: 1000 });
    before = new Set(await objects());
  }, 15 * 60_000);
  afterAll(async () => {
    await type?.(endMachine).catch(() => {});
    await type?.(endAll).catch(() => {});
  });

  test('has a ready machine soon after the first apply', async () => {
    const commands = commandsUnder('README.md', 'See it work').filter((line) => /\bkubectl\b/.test(line));
    expect(commands).toHaveLength(2);
    const startedAt = performance.now();
    for (const command of commands) await type(command);
    const tookMs = performance.now() - startedAt;
    process.stderr.write(`quick start: first machine ready after ${(tookMs / 1000).toFixed(1)} s\n`);
    expect(tookMs).toBeLessThan(READY_WITHIN_MS);
  });

  test('runs both containers without a restart', async () => {
    const shown = '{range .items[*].status.containerStatuses[*]}{.name} {.ready} {.restartCount};{end}';
    const pods = await type(`kubectl get pods -n gpu-rental-system -o jsonpath='${shown}'`);
    expect(pods.split(';').toSorted()).toEqual(['', 'operator true 0', 'simulator true 0']);
  });

  test('is ended by the two commands that the file names, and nothing is left', async () => {
    await type(endMachine);
    // The garbage collector learns of a new kind within half a minute, and forgets it with its definition.
    await expect.poll(objects, { timeout: 90_000, interval: 1000 }).not.toContain('secret/first-connection');
    await type(endAll);
    // The EndpointSlices of a Service go some time after it.
    const left = async () => (await objects()).filter((name) => !before.has(name));
    await expect.poll(left, { timeout: 60_000, interval: 1000 }).toEqual([]);
  });
});
