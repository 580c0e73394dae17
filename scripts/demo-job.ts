/**
 * `make demo-job`: six Jobs whose programs run on rented machines. The Job controller of Kubernetes, the operator, the
 * simulated marketplace, its machines and the programs of the Pods are processes of this computer.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueIdentity } from '../src/cli/commands/simulator-certificate.ts';
import { findFreePort } from '../test/cluster/free-port.ts';
import type { ServerProcess } from '../test/cluster/server-process.ts';
import { endWith, interruption, reasonOf } from './demo/ending.ts';
import { startJobController } from './demo/job-controller.ts';
import { bidManifest, type JobOutcome, JobStory, PLANS } from './demo/job-story.ts';
import { plainView } from './demo/live-view.ts';
import { PodRunner } from './demo/pod-runner.ts';
import { openDeadmanMarket, type SecureMarketplace } from './demo/simulator.ts';
import { applySample, DEMO_NAMESPACE, type Stage, setStage } from './demo/stage.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const MAX_SECONDS_TO_DESTROY = 30;

const view = plainView({ write: (text) => process.stdout.write(text) });
const signal = interruption(view.heading);

interface Outcome extends JobOutcome {
  /** Absent after a success. */
  readonly result?: string;
}

const NOTHING: JobOutcome = {
  ...{ jobs: PLANS.length, asExpected: 0, machinesRented: 0, machinesBilling: 0, logLinesLost: 0 },
  ...{ dollarsEqualLedger: false, secondsFromExitToDestroyedP95: null },
};

/** Parts that end before the stage, in the opposite order. */
type CleanUp = (() => Promise<unknown>)[];

async function openStage(folder: string, logPort: number): Promise<Stage> {
  let marketplace: SecureMarketplace | undefined;
  return setStage({
    tell: view.say,
    ...{ signal, own: true },
    openMarketplace: async (logFolder) => (marketplace = await openDeadmanMarket(logFolder)),
    operatorFlags: [
      // An operator that was killed holds its lease for a while.
      '--leader-elect=false',
      ...['--log-bind-address', `127.0.0.1:${logPort}`, '--log-tls-directory', folder],
    ],
    operatorProcess: () => ({ env: { NODE_EXTRA_CA_CERTS: marketplace?.ca ?? '' } }),
  });
}

/** Grants the permissions of the components that the demo uses, and starts the Pods' programs. */
async function startPods(
  stage: Stage,
  log: { readonly url: string; readonly ca: string },
): Promise<PodRunner> {
  const { cluster, client, logFolder } = stage;
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

async function play(cleanUp: CleanUp): Promise<JobOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'gpu-rent-demo-job-'));
  cleanUp.push(async () => rmSync(folder, { recursive: true, force: true }));
  const identity = await issueIdentity(['127.0.0.1', 'localhost']);
  cleanUp.push(async () => identity.issued?.remove());
  writeFileSync(join(folder, 'tls.crt'), identity.certificate.cert);
  writeFileSync(join(folder, 'tls.key'), identity.certificate.key, { mode: 0o600 });
  const bidFile = join(folder, 'bid.yaml');
  writeFileSync(bidFile, bidManifest());
  const logPort = await findFreePort();
  const stage = await openStage(folder, logPort);
  cleanUp.push(() => stage.dismantle());
  const controller: ServerProcess = startJobController(stage.cluster, stage.logFolder);
  cleanUp.push(() => controller.stop(2_000));
  const log = { url: `https://127.0.0.1:${logPort}`, ca: identity.issued?.path ?? '' };
  const pods = await startPods(stage, log);
  cleanUp.push(() => pods.stop());
  view.say(`Logs: ${stage.logFolder}`);
  await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
  view.heading(
    'Six Jobs are applied; then one is outbid, one evicted, one deleted, and the operator is killed',
  );
  return new JobStory({ stage, pods, say: view.say, signal, bidFile }).play();
}

/** Returns why the outcome is no success; undefined for a success. */
function problemOf(outcome: JobOutcome): string | undefined {
  const { jobs, asExpected, machinesBilling, logLinesLost, secondsFromExitToDestroyedP95: late } = outcome;
  if (asExpected < jobs) return `${jobs - asExpected} Jobs ended otherwise than expected`;
  if (machinesBilling > 0) return `${machinesBilling} machines still bill`;
  if (logLinesLost > 0) return `${logLinesLost} lines of logs are lost or doubled`;
  if (!outcome.dollarsEqualLedger) return 'the dollars of the operator differ from those of the marketplace';
  return late === null || late > MAX_SECONDS_TO_DESTROY ? 'machines were destroyed late' : undefined;
}

async function main(): Promise<Outcome> {
  view.heading('Setting up: Kubernetes API with the Job controller, simulated marketplace, operator');
  const cleanUp: CleanUp = [];
  try {
    const outcome = await play(cleanUp);
    const result = problemOf(outcome);
    return result === undefined ? outcome : { ...outcome, result };
  } catch (error) {
    const result = reasonOf(error, signal);
    view.failed(result);
    return { ...NOTHING, result };
  } finally {
    for (const end of cleanUp.reverse()) await end();
  }
}

endWith(await main());
