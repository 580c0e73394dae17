import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { ARGO, KUEUE, TEKTON } from '../foreign-jobs/modules.ts';
import { ACTIONLINT, downloadModule, goTool, HELM } from '../tools/go-tool.ts';

/* Samples of `examples/jobs`, judged by the tool or the definitions of the program that reads them. */

const run = promisify(execFile);
const FOLDER = join(REPOSITORY, 'examples/jobs');
const GO = { ...process.env, GOWORK: 'off', GOFLAGS: '' };
/** Module with the Helm chart of runners of GitHub Actions. */
const RUNNERS = { module: 'github.com/actions/actions-runner-controller', version: 'v0.27.6' };

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'job-samples-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('ci-workflow.yaml', () => {
  const text = readFileSync(join(FOLDER, 'ci-workflow.yaml'), 'utf8');

  async function lint(workflow: string): Promise<string> {
    const config = join(folder, 'actionlint.yaml');
    const file = join(folder, 'workflow.yaml');
    writeFileSync(config, JSON.stringify({ 'self-hosted-runner': { labels: ['gpu-rent'] } }));
    writeFileSync(file, workflow);
    const args = ['-no-color', '-shellcheck=', '-config-file', config, file];
    const failed = (error: { stdout: string; stderr: string }) => error;
    const { stdout, stderr } = await run(await goTool(ACTIONLINT), args).catch(failed);
    return stdout + stderr;
  }

  test('passes actionlint', async () => {
    expect(await lint(text)).toBe('');
  });

  test.each([
    ['timeout-minutes: 60', 'timeout-minute: 60'],
    ['runs-on: gpu-rent', 'runs-on: gpu-lent'],
    ['node-version: 24', 'node-versions: 24'],
  ])('fails it when "%s" is "%s"', async (right, wrong) => {
    expect(text).toContain(right);
    expect(await lint(text.replace(right, wrong))).not.toBe('');
  });
});

describe('ci-runner-values.yaml', () => {
  interface RunnerSet {
    readonly kind: string;
    readonly spec: { readonly template: { readonly spec: Readonly<Record<string, unknown>> } };
  }

  test('gives the chart of the runners a Pod in which the relay may run', async () => {
    const helm = await goTool(HELM);
    const chart = join(await downloadModule(RUNNERS, GO), 'charts/gha-runner-scale-set');
    const account = ['controllerServiceAccount.name=arc', 'controllerServiceAccount.namespace=arc-systems'];
    const { stdout } = await run(helm, [
      ...['template', 'gpu-rent', chart, '--values', join(FOLDER, 'ci-runner-values.yaml')],
      ...account.flatMap((value) => ['--set', value]),
    ]);
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as RunnerSet | null);
    const set = objects.find((object) => object?.kind === 'AutoscalingRunnerSet');
    const values = parse(readFileSync(join(FOLDER, 'ci-runner-values.yaml'), 'utf8'));
    expect(set?.spec).toMatchObject({
      githubConfigUrl: values.githubConfigUrl,
      githubConfigSecret: values.githubConfigSecret,
      maxRunners: values.maxRunners,
      runnerScaleSetName: values.runnerScaleSetName,
    });
    // The relay refuses a Pod that restarts its program after every end.
    expect(set?.spec.template.spec).toMatchObject({
      restartPolicy: 'Never',
      serviceAccountName: 'gpu-rent-job',
      containers: [
        expect.objectContaining({ env: expect.arrayContaining(values.template.spec.containers[0].env) }),
      ],
    });
  });
});

describe('samples for other controllers', () => {
  const DEFINITIONS = [
    ...['clusterqueues', 'localqueues', 'resourceflavors'].map((plural) => ({
      ...KUEUE,
      file: `config/components/crd/bases/kueue.x-k8s.io_${plural}.yaml`,
    })),
    { ...ARGO, file: 'manifests/base/crds/full/argoproj.io_workflows.yaml' },
    ...['task', 'taskrun'].map((kind) => ({ ...TEKTON, file: `config/300-crds/300-${kind}.yaml` })),
  ];
  let cluster: Cluster;

  beforeAll(async () => {
    cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
    for (const { file, ...module } of DEFINITIONS) {
      const definition = parse(readFileSync(join(await downloadModule(module, GO), file), 'utf8'));
      // Another version would be converted by a webhook that does not run here.
      const served = { ...definition, spec: { ...definition.spec, conversion: { strategy: 'None' } } };
      await cluster.kubectl(['create', '--filename', '-'], { stdin: JSON.stringify(served) });
    }
    await cluster.kubectl(['wait', 'crd', '--all', '--for=condition=Established', '--timeout=60s']);
  }, 15 * 60_000);
  afterAll(() => cluster?.stop());

  const judge = (stdin: string) =>
    cluster.kubectl(['create', '--dry-run=server', '--validate=strict', '--filename', '-'], { stdin });

  test.each([
    ['kueue.yaml', 4],
    ['argo-workflow.yaml', 1],
    ['argo-resource.yaml', 1],
    ['tekton-task.yaml', 2],
  ])('%s is valid', async (file, objects) => {
    const said = await judge(readFileSync(join(FOLDER, file), 'utf8'));
    expect(said.trim().split('\n')).toHaveLength(objects);
  });

  test.each([
    ['kueue.yaml', 'nominalQuota: 4', 'nominalQuotas: 4'],
    ['argo-workflow.yaml', 'entrypoint: train', 'entryPoint: train'],
    ['argo-resource.yaml', 'setOwnerReference: true', 'setOwnerReferences: true'],
    ['tekton-task.yaml', 'taskRef:', 'taskReference:'],
  ])('no %s is in which "%s" is "%s"', async (file, right, wrong) => {
    const text = readFileSync(join(FOLDER, file), 'utf8');
    expect(text).toContain(right);
    await expect(judge(text.replace(right, wrong))).rejects.toThrow(/unknown field|strict decoding/);
  });
});
