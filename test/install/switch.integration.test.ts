import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { IDENTITY_SECRET } from '../../src/ownership/identity.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { codeBlocks, commandsOf } from '../docs/code-blocks.ts';
import { type Typist, typistOn } from '../docs/typist.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { NAMESPACE, openReleaseBench, RELEASE, type ReleaseBench } from './release-bench.ts';

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;

/** The commands of the page about the installation, in its order. */
const [toHelm, toKustomize, afterUninstall] = codeBlocks('docs/how-to/install.md')
  .filter(({ heading, language }) => heading === 'Between kustomize and Helm' && language === 'sh')
  .map(commandsOf);

let bench: ReleaseBench;
let type: Typist;

const KINDS =
  'deploy,sa,svc,role,rolebinding,clusterrole,clusterrolebinding,crd,validatingadmissionpolicy,validatingadmissionpolicybinding';
const FORMAT = `-o=jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.annotations.meta\\.helm\\.sh/release-name}{"\\n"}{end}`;

/** The chart names a binding by its namespace; that of kustomize stays beside it, and says the same. */
const SECOND_BINDING = 'ValidatingAdmissionPolicyBinding/gpu-rental-in-use';
const withoutHelm = (objects: readonly (readonly string[])[]) =>
  objects.filter(([, release]) => release !== RELEASE).map(([name]) => name);

/** Returns every object of the installation, with the release that owns it. */
async function installed(): Promise<readonly (readonly string[])[]> {
  const selector = 'app.kubernetes.io/name=gpu-rental-operator';
  const shown = await bench.kubectl('get', KINDS, '-n', NAMESPACE, '-l', selector, FORMAT);
  return shown
    .trim()
    .split('\n')
    .map((line) => line.split(' '))
    .toSorted();
}

const releases = () => bench.kubectl('get', 'secrets', '-n', NAMESPACE, '-l', 'owner=helm', '-o=name');

beforeAll(async () => {
  if (!canRun) return;
  bench = await openReleaseBench(HELM);
  type = typistOn(bench.cluster, {
    folder: REPOSITORY,
    programs: [join(goToolPath(HELM, process.env), '..')],
  });
}, 15 * 60_000);
afterAll(() => bench?.close());

describe.skipIf(!canRun)('F8: between kustomize and Helm, as the page about the installation says', () => {
  test('Helm takes over what kustomize installed, while machines are rented', async () => {
    await type('kubectl apply --server-side -k deploy/overlays/cluster-wide');
    await bench.apply({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: IDENTITY_SECRET, namespace: NAMESPACE },
      stringData: { installId: '0'.repeat(32) },
    });
    await bench.setInUse(true);
    const before = await installed();
    await type(toHelm ?? 'false');
    const after = await installed();
    expect(withoutHelm(after)).toEqual([SECOND_BINDING]);
    const names = new Set(after.map(([name]) => name));
    expect(before.map(([name]) => name).filter((name) => !names.has(name))).toEqual([]);
    await type(
      `helm upgrade ${RELEASE} charts/gpu-rental-operator -n ${NAMESPACE} --reset-then-reuse-values`,
    );
  });

  test('kustomize takes over what Helm installed, while machines are rented', async () => {
    const before = (await installed()).map(([name]) => name);
    await type(toKustomize ?? 'false');
    expect(await releases()).toBe('');
    expect((await installed()).map(([name]) => name)).toEqual(before);
    await bench.kubectl('get', 'secret', IDENTITY_SECRET, '-n', NAMESPACE);
    await type('kubectl apply --server-side -k deploy/overlays/cluster-wide');
  });

  test('Helm installs after an uninstall with kustomize, which leaves the guard', async () => {
    await bench.setInUse(false);
    await type("kubectl delete -k deploy/overlays/cluster-wide -l 'gpurental.dev/keep!=true'");
    await bench.kubectl('get', 'validatingadmissionpolicy', 'gpu-rental-in-use');
    await type(afterUninstall ?? 'false');
    expect(withoutHelm(await installed())).toEqual([SECOND_BINDING]);
  });
});
