import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { runningPorts } from '../../src/simulator/instances/machine-servers.ts';
import type { Simulator } from '../../src/simulator/simulator.ts';

/** Program that answers with its process ID and ends with its parent process. */
const WORKER = `
  const [host, port] = process.argv.slice(1);
  require('node:http').createServer((_request, reply) => reply.end('worker ' + process.pid)).listen(Number(port), host);
  process.stdin.resume().on('end', () => process.exit());
`;
const CHECK_EVERY_MS = 100;

/** A process for each machine of a simulated marketplace that runs. */
export interface WorkerProcesses {
  processIds(): readonly number[];
  close(): Promise<void>;
}

/**
 * Gives all machines of the marketplace an address of this machine. For each that runs a process listens there, at the
 * port that the market says leads to `containerPort`; it ends with the machine.
 */
export function startWorkerProcesses(
  simulator: Simulator,
  { address, containerPort }: { readonly address: string; readonly containerPort: `${number}/tcp` },
): WorkerProcesses {
  const { store } = simulator;
  for (const machine of Object.values(store.current().tables.machines))
    store.put('machines', { ...machine, publicAddress: address });
  const workers = new Map<number, ChildProcess>();
  const follow = (): void => {
    const ports = runningPorts(simulator.world()).filter((port) => port.containerPort === containerPort);
    const running = new Map(ports.map(({ contract, hostPort }) => [contract.id, hostPort]));
    for (const [id, worker] of workers) if (!running.has(id) && workers.delete(id)) worker.kill('SIGKILL');
    for (const [id, hostPort] of running) {
      if (workers.has(id)) continue;
      const args = ['--eval', WORKER, address, String(hostPort)];
      workers.set(id, spawn(process.execPath, args, { stdio: ['pipe', 'ignore', 'inherit'] }));
    }
  };
  const timer = setInterval(follow, CHECK_EVERY_MS);
  return {
    processIds: () => [...workers.values()].flatMap(({ pid }) => pid ?? []),
    async close() {
      clearInterval(timer);
      const left = [...workers.values()].filter(({ exitCode, signalCode }) => exitCode === signalCode);
      await Promise.all(
        left.map(async (worker) => {
          const ended = once(worker, 'exit');
          worker.kill('SIGKILL');
          await ended;
        }),
      );
    },
  };
}
