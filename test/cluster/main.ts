/**
 * `node test/cluster/main.ts` starts a cluster, prints one JSON line about it on stdout and keeps it until Ctrl-C or
 * until its stdin closes. With `build` it only does what takes long the first time.
 */
import { prepareCluster, startCluster } from './cluster.ts';

/** The signals end the wait and not the process: stopping comes after. */
function waitForEnd(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve());
    process.stdin.on('end', resolve);
    process.stdin.on('error', () => resolve());
    process.stdin.resume();
  });
}

async function keepCluster(): Promise<void> {
  const ended = waitForEnd();
  const cluster = await startCluster();
  const { kubeconfigPath: kubeconfig, url, source, kubectlPath: kubectl } = cluster;
  process.stdout.write(`${JSON.stringify({ kubeconfig, url, source, kubectl })}\n`);
  await ended;
  await cluster.stop();
}

async function main(command: string | undefined): Promise<void> {
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
