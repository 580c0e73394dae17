/**
 * `node test/cluster/main.ts` starts a cluster, prints one JSON line about it on stdout and keeps it until Ctrl-C or
 * until its stdin closes. With `build` it only does what takes long the first time.
 */
import { prepareCluster, startCluster } from './cluster.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Before there is anything to stop: what is under way cleans up after itself when the process exits. */
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

async function keepCluster(): Promise<void> {
  const cluster = await startCluster();
  const ended = waitForEnd();
  const { kubeconfigPath: kubeconfig, url, source, kubectlPath: kubectl } = cluster;
  process.stdout.write(`${JSON.stringify({ kubeconfig, url, source, kubectl })}\n`);
  await ended;
  await cluster.stop();
}

async function main(command: string | undefined): Promise<void> {
  exitOnSignal();
  switch (command) {
    case undefined:
      await keepCluster();
      return;
    case 'build':
      process.stderr.write(`Ready to start: ${await prepareCluster()}\n`);
      return;
    default:
      process.stderr.write('usage: node test/cluster/main.ts [build]\n');
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
