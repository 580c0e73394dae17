import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { lookAround } from '../../scripts/demo/look-around.ts';
import { type RunningProcess, startGpuRent } from '../../scripts/demo/processes.ts';
import { type Cluster, startCluster } from '../cluster/cluster.ts';
import { findOnPath } from '../cluster/kubectl.ts';
import { goToolPath, HELM } from '../tools/go-tool.ts';
import { CHART, type Helm, manifestShape, openHelm } from './helm.ts';
import { commandsInNotes } from './notes.ts';
import { workloadOf } from './workload.ts';

/*
 * The chart with simulator.enabled, as one command installs it. No Pod runs here: its two containers run as processes,
 * with the arguments and the certificate that the cluster holds.
 */

const canRun = existsSync(goToolPath(HELM, process.env)) || findOnPath('go', process.env.PATH) !== undefined;
const NAMESPACE = 'gpu-rental-system';
const RELEASE = 'gpu-rental-operator';
const SIMULATOR = `${RELEASE}-simulator`;
const URL_IN_CLUSTER = `https://${SIMULATOR}.${NAMESPACE}.svc`;

const secretShape = z.object({ data: z.record(z.string(), z.string()) });

let cluster: Cluster;
let helm: Helm;
let home = '';
let notes = '';
const processes: RunningProcess[] = [];

beforeAll(async () => {
  if (!canRun) return;
  home = mkdtempSync(join(tmpdir(), 'simulator-chart-'));
  helm = await openHelm(home);
  cluster = await startCluster({ only: 'go-toolchain', report: () => {} });
  await cluster.kubectl(['create', 'namespace', NAMESPACE]);
  await cluster.kubectl(['label', 'namespace', NAMESPACE, 'pod-security.kubernetes.io/enforce=restricted']);
  notes = await inRelease('install');
}, 15 * 60_000);
afterAll(async () => {
  for (const process of processes.reverse()) await process.stop();
  await cluster?.stop();
  rmSync(home, { recursive: true, force: true });
});

const inRelease = (command: 'install' | 'upgrade', ...values: readonly string[]): Promise<string> =>
  helm.run(
    [command, RELEASE, CHART, '--namespace', NAMESPACE, '--set=simulator.enabled=true', ...values],
    cluster.kubeconfigPath,
  );

const read = async (kind: string, name: string): Promise<unknown> =>
  JSON.parse(await cluster.kubectl(['get', kind, name, '--namespace', NAMESPACE, '--output=json']));

async function argsOf(deployment: string): Promise<readonly string[]> {
  const object = manifestShape.parse(await read('deployment', deployment));
  return workloadOf([object]).spec.template.spec.containers.flatMap(({ args }) => args);
}

/** Writes the cluster's certificate into files with the names of the Secret's keys. */
async function writeCertificate(): Promise<string> {
  const folder = join(home, 'tls');
  mkdirSync(folder);
  const { data } = secretShape.parse(await read('secret', `${SIMULATOR}-tls`));
  for (const [name, value] of Object.entries(data))
    writeFileSync(join(folder, name), Buffer.from(value, 'base64'));
  return folder;
}

function start(options: Omit<Parameters<typeof startGpuRent>[0], 'logFolder'>): RunningProcess {
  const started = startGpuRent({ ...options, logFolder: home });
  processes.push(started);
  return started;
}

/** Starts both containers. Their addresses differ from a cluster's, and the Service name resolves to this machine. */
async function startContainers(): Promise<{ readonly url: string; readonly control: string }> {
  const tls = await writeCertificate();
  const { data } = secretShape.parse(await read('secret', `${SIMULATOR}-key`));
  const apiKey = Buffer.from(data['api-key'] ?? '', 'base64').toString();
  const market = (await argsOf(SIMULATOR)).map((arg) =>
    arg
      .replace('$(POD_IP)', '127.0.0.1')
      .replace('$(API_KEY)', apiKey)
      .replace('/etc/gpu-rental/tls', tls)
      .replace('/var/lib/gpu-rental', home)
      .replace(/^(--port|--control-port)=\d+$/, '$1=0'),
  );
  const simulator = start({ name: 'simulator', args: market });
  const { url, control } = (await simulator.ready) as Record<'url' | 'control', string>;
  const { kubeconfigPath } = await cluster.kubeconfigFor({
    serviceAccount: { namespace: NAMESPACE, name: RELEASE },
  });
  const here = url.replace('127.0.0.1', 'localhost');
  const args = (await argsOf(RELEASE)).map((arg) =>
    arg.replace(URL_IN_CLUSTER, here).replace(/^(--[a-z-]+-bind-address)=.*$/, '$1=0'),
  );
  const operator = start({
    name: 'operator',
    args: [...args, '--kubeconfig', kubeconfigPath, '--namespace', NAMESPACE],
    env: { NODE_EXTRA_CA_CERTS: join(tls, 'ca.crt') },
  });
  await operator.ready;
  return { url, control };
}

describe.skipIf(!canRun)('the chart with simulator.enabled', () => {
  test('is accepted where Pod Security enforces "restricted"', async () => {
    const deployment = manifestShape.parse(await read('deployment', SIMULATOR));
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'tried', namespace: NAMESPACE },
      spec: workloadOf([deployment]).spec.template.spec,
    };
    const made = await cluster.kubectl(['create', '--dry-run=server', '--filename=-'], {
      stdin: JSON.stringify(pod),
    });
    expect(made).toContain('pod/tried created');
  });

  test('an upgrade finds the generated certificate again', async () => {
    const before = await read('secret', `${SIMULATOR}-tls`);
    await inRelease('upgrade', '--set=logLevel=debug');
    const after = await read('secret', `${SIMULATOR}-tls`);
    expect(secretShape.parse(after)).toEqual(secretShape.parse(before));
    expect(Object.keys(secretShape.parse(after).data).toSorted()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  });

  test('the commands of its notes lead to a machine, over TLS', async () => {
    const { url, control } = await startContainers();
    expect(url).toMatch(/^https:/);
    const typed = [
      ...lookAround(cluster),
      commandsInNotes(notes),
      'kubectl wait gpui/first --for=condition=Ready --timeout=150s',
      `curl --silent --show-error ${control}/ledger`,
    ].join('\n');
    const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: home };
    const { stdout } = await promisify(execFile)('bash', ['-ec', typed], { cwd: home, env });
    expect(stdout).toContain('gpuinstance.gpurental.dev/first condition met');
    expect(stdout).toMatch(/"billing":1\b/);
  }, 240_000);

  test('an uninstall is refused while that machine is rented, and leaves the way to its marketplace', async () => {
    const uninstall = helm.run(['uninstall', RELEASE, '--namespace', NAMESPACE], cluster.kubeconfigPath);
    await expect(uninstall).rejects.toThrow('failed to delete release');
    await read('service', SIMULATOR);
    await read('deployment', SIMULATOR);
    await read('secret', `${SIMULATOR}-tls`);
    await read('secret', `${SIMULATOR}-key`);
  });
});
