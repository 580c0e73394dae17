/**
 * `node test/containers/main.ts COMMAND...` runs a command that needs a Docker engine. If none answers and this is root
 * on Linux with Docker installed, one is started for the command: in namespaces of its own, with its images in memory,
 * so that nothing of it is left when the command or this process ends. Otherwise the command runs without one.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { findOnPath } from '../cluster/kubectl.ts';
import { forkApart, leaveTraces, removeTraces } from '../cluster/node/namespaces.ts';
import { probeNamespaces, searchPathOf } from '../cluster/node/programs.ts';
import { operatorImage } from '../image/operator-image.ts';
import { findEngine } from './engine.ts';

const PROGRAMS = ['dockerd', 'containerd', 'runc', 'unshare', 'ip', 'iptables', 'bash', 'mount'];
const KEEPER = `${import.meta.dirname}/keeper.ts`;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const searchPath = searchPathOf(process.env);

async function canStartEngine(): Promise<boolean> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  if (PROGRAMS.some((name) => findOnPath(name, searchPath) === undefined)) return false;
  return probeNamespaces(process.env).then(
    () => true,
    () => false,
  );
}

/**
 * Runs the command in its own network and returns its exit code. Downloads happen before, because that network has no
 * other access.
 */
async function runWithOwnEngine(command: readonly string[]): Promise<number> {
  await operatorImage();
  const traces = leaveTraces('gpu-rental-docker-');
  const programs = { searchPath, unshare: findOnPath('unshare', searchPath) ?? 'unshare' };
  const args = [KEEPER, traces.cgroup, ...command] as const;
  try {
    const keeper = forkApart(traces, { programs, args, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    for (const signal of SIGNALS) process.on(signal, () => keeper.connected && keeper.disconnect());
    const [code] = await once(keeper, 'exit');
    return code ?? 1;
  } finally {
    await removeTraces(traces);
  }
}

async function runHere([program = '', ...args]: readonly string[]): Promise<number> {
  const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  // A terminal sends Ctrl-C to the command itself.
  for (const signal of SIGNALS) process.on(signal, () => signal !== 'SIGINT' && child.kill(signal));
  const [code] = await once(child, 'exit');
  return code ?? 1;
}

const command = process.argv.slice(2);
if (command.length === 0) {
  process.stderr.write('usage: node test/containers/main.ts COMMAND...\n');
  process.exitCode = 2;
} else {
  const isOwn = (await findEngine()) === undefined && (await canStartEngine());
  process.exitCode = await (isOwn ? runWithOwnEngine : runHere)(command);
}
