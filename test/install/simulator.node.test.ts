import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEMO_DURATIONS } from '../../scripts/demo/stage.ts';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { describeWithNode } from '../cluster/node/describe-with-node.ts';
import { type Typist, typistOn } from '../docs/typist.ts';
import { operatorImage } from '../image/operator-image.ts';
import { CHART, type Helm, openHelm } from './helm.ts';
import { commandsInNotes } from './notes.ts';
import { NAMESPACE, RELEASE } from './release-bench.ts';

const SIMULATOR = `${RELEASE}-simulator`;
/** Arguments that make the machine disappear sooner at the end. */
const SHORT_WAITS = `--set-json=extraArgs=${JSON.stringify(
  Object.entries(DEMO_DURATIONS).map(([flag, value]) => `${flag}=${value}`),
)}`;
const WAIT = ['--wait', '--timeout=120s'];

describeWithNode('the chart with simulator.enabled on a node', (cluster) => {
  let folder = '';
  let helm: Helm;
  let type: Typist;
  const inRelease = (...args: readonly string[]): Promise<string> =>
    helm.run([...args, '--namespace', NAMESPACE], cluster().kubeconfigPath);
  const endMachines = () => type('kubectl delete gpui,gpuacct --all --timeout=60s');

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'simulator-node-'));
    type = typistOn(cluster(), { folder });
    helm = await openHelm(folder);
    await cluster().node.importImage(await operatorImage());
    await type(`kubectl create namespace ${NAMESPACE}`);
    await type(`kubectl label namespace ${NAMESPACE} pod-security.kubernetes.io/enforce=restricted`);
  }, 15 * 60_000);
  afterAll(async () => {
    await endMachines().catch(() => {});
    await inRelease('uninstall', RELEASE, '--ignore-not-found', ...WAIT);
    // The definitions and the guard are the cluster's, since other releases may need them.
    const guard = `validatingadmissionpolicy/gpu-rental-in-use validatingadmissionpolicybinding/gpu-rental-in-use-${NAMESPACE}`;
    await type(`kubectl delete --ignore-not-found ${guard}`);
    await type('kubectl delete secret marketplace-key --ignore-not-found');
    await type(`kubectl delete --ignore-not-found -f ${join(REPOSITORY, 'crds')} --timeout=60s`);
    await type(`kubectl delete namespace ${NAMESPACE}`);
    rmSync(folder, { recursive: true, force: true });
  });

  test('shows the whole job after one helm install: a machine by the commands of its notes, over TLS', async () => {
    await inRelease('install', RELEASE, CHART, '--set=simulator.enabled=true', SHORT_WAITS, ...WAIT);
    await type(commandsInNotes(await inRelease('get', 'notes', RELEASE)));
    // Otherwise it is asked every ten seconds: a machine is seen, and seen to be gone, sooner by this.
    await type(`kubectl patch gpuacct/default --type=merge -p '{"spec":{"pollInterval":"2s"}}'`);
    await type('kubectl wait gpui/first --for=condition=Ready --timeout=90s');
    const args = `kubectl get deployment ${RELEASE} -n ${NAMESPACE} -o jsonpath={.spec.template.spec.containers[0].args}`;
    expect(await type(args)).toContain(`--marketplace-url=https://${SIMULATOR}.${NAMESPACE}.svc`);
    expect(await inRelease('test', RELEASE, '--timeout=120s')).toContain('Succeeded');
  });

  test('is uninstalled once the machine has ended, and nothing runs any more', async () => {
    await endMachines();
    await expect
      .poll(() => inRelease('uninstall', RELEASE, ...WAIT).catch(() => ''), { timeout: 60_000 })
      .toContain('uninstalled');
    const running = () => type(`kubectl get deployments,pods -n ${NAMESPACE} -o name`);
    await expect.poll(running, { timeout: 60_000 }).toBe('');
  });
});
