import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueIdentity } from '../../src/cli/commands/simulator-certificate.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { startJobController } from './job-controller.ts';
import { PodRunner } from './pod-runner.ts';
import { openDeadmanMarket, type SecureMarketplace } from './simulator.ts';
import { applySample, DEMO_NAMESPACE, type Stage, setStage } from './stage.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');

/** A stage on which programs of Jobs run: with the Job controller, Pods, and machines that are processes. */
export interface JobStage {
  readonly stage: Stage;
  readonly pods: PodRunner;
  /** Folder for files of Pods, which is removed at the end. */
  readonly folder: string;
}

/** Steps that end the parts, in the opposite order. */
export type CleanUp = (() => Promise<unknown>)[];

export interface JobStagePlan {
  readonly tell: (line: string) => void;
  readonly signal: AbortSignal;
  /** Receives the step that ends each part, also if a later part fails. */
  readonly cleanUp: CleanUp;
  readonly maxMachines?: number;
}

/** Opens the stage with the account of the demo. */
export async function openJobStage({ tell, signal, cleanUp, maxMachines }: JobStagePlan): Promise<JobStage> {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-demo-job-'));
  cleanUp.push(async () => rmSync(folder, { recursive: true, force: true }));
  const identity = await issueIdentity(['127.0.0.1', 'localhost']);
  cleanUp.push(async () => identity.issued?.remove());
  writeFileSync(join(folder, 'tls.crt'), identity.certificate.cert);
  writeFileSync(join(folder, 'tls.key'), identity.certificate.key, { mode: 0o600 });
  const logPort = await findFreePort();
  let marketplace: SecureMarketplace | undefined;
  const stage = await setStage({
    ...{ tell, signal, own: true },
    openMarketplace: async (logFolder) => (marketplace = await openDeadmanMarket(logFolder, maxMachines)),
    operatorFlags: [
      // An operator that was killed holds its lease for a while.
      '--leader-elect=false',
      ...['--log-bind-address', `127.0.0.1:${logPort}`, '--log-tls-directory', folder],
    ],
    operatorProcess: () => ({ env: { NODE_EXTRA_CA_CERTS: marketplace?.ca ?? '' } }),
  });
  cleanUp.push(() => stage.dismantle());
  const controller = startJobController(stage.cluster, stage.logFolder);
  cleanUp.push(() => controller.stop(2_000));
  const log = { url: `https://127.0.0.1:${logPort}`, ca: identity.issued?.path ?? '' };
  const pods = await startPods(stage, log);
  cleanUp.push(() => pods.stop());
  await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
  return { stage, pods, folder };
}

/** Grants the permissions of the components that the stage uses, and starts the Pods' programs. */
async function startPods(
  { cluster, client, logFolder }: Stage,
  log: { readonly url: string; readonly ca: string },
): Promise<PodRunner> {
  for (const component of ['logs', 'job-relay']) {
    const file = join(REPOSITORY, 'deploy/components', component, 'rbac.yaml');
    const namespace = component === 'job-relay' ? ['--namespace', DEMO_NAMESPACE] : [];
    await cluster.kubectl(['apply', '--server-side', ...namespace, '--filename', file]);
  }
  const serviceAccount = { namespace: DEMO_NAMESPACE, name: 'gpu-rent-job' };
  const { kubeconfigPath } = await cluster.kubeconfigFor({ serviceAccount });
  const env = { KUBECONFIG: kubeconfigPath, GPU_RENTAL_LOG_URL: log.url, GPU_RENTAL_LOG_CA: log.ca };
  const pods = new PodRunner({ admin: cluster.admin, client, namespace: DEMO_NAMESPACE, logFolder, env });
  pods.start();
  return pods;
}
