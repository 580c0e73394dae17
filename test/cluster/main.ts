/**
 * `node test/cluster/main.ts` starts a cluster, prints one JSON line about it on stdout and keeps it until Ctrl-C or
 * until its stdin closes; with `node` one that runs Pods. With `build` it only does what takes long the first time, for
 * both.
 */
import { prepareCluster, startCluster, whyNoNode } from './cluster.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Exits on signals while there is nothing to stop: work in progress cleans up when the process exits. */
function exitOnSignal(): void {
  for (const signal of SIGNALS) process.on(signal, () => process.exit(1));
}

function waitForEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of SIGNALS) process.removeAllListeners(signal).on(signal, () => resolve());
    process.stdin.on('end', resolve).on('error', () => resolve());
    process.stdin.resume();
  });
}

async function keepCluster(node: boolean): Promise<void> {
  const cluster = await startCluster({ node });
  const ended = waitForEnd();
  const { kubeconfigPath: kubeconfig, url, source, kubectlPath: kubectl } = cluster;
  const processIds = cluster.processIds();
  process.stdout.write(`${JSON.stringify({ kubeconfig, url, source, kubectl, processIds })}\n`);
  await ended;
  await cluster.stop();
}

/** Prepares a node; without one, this machine still runs the other tests. */
async function prepareNode(): Promise<void> {
  const why = await whyNoNode(process.env);
  if (why !== undefined) process.stderr.write(`${why}\n`);
  else process.stderr.write(`Ready to run Pods: ${await prepareCluster({ node: true })}\n`);
}

async function main(command: string | undefined): Promise<void> {
  exitOnSignal();
  switch (command) {
    case undefined:
    case 'node':
      await keepCluster(command === 'node');
      return;
    case 'build':
      process.stderr.write(`Ready to start: ${await prepareCluster()}\n`);
      await prepareNode();
      return;
    default:
      process.stderr.write('usage: node test/cluster/main.ts [node | build]\n');
      process.exitCode = 2;
  }
}

try {
  await main(process.argv[2]);
  // A stdin that is still open would keep the process.
  process.exit();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
