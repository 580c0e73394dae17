/**
 * A process of `make demo-deadman`: the simulated marketplace. Its machines are processes of this computer, as with
 * `gpu-rent simulator --run-machines`; their SSH ports lead to the servers that their start scripts run.
 */
import { connect, type Socket } from 'node:net';
import { rootCertificates } from 'node:tls';
import { issueIdentity } from '../../src/cli/commands/simulator-certificate.ts';
import type { MachinePort } from '../../src/simulator/instances/machine-servers.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { SSHD_PORT } from './ssh-server.ts';

/** Maximum number of running machines, from the first argument. */
const MAX_MACHINES = Number(process.argv[2] ?? 16);
const BOOT_SCALE = 0.02;

function toOwnServer({ contract }: MachinePort, socket: Socket): void {
  const own = connect({ host: '127.0.0.1', port: Number(contract.env[SSHD_PORT] ?? 0) });
  for (const [from, to] of [
    [socket, own],
    [own, socket],
  ] as const) {
    from.on('error', () => to.destroy());
    from.pipe(to);
  }
}

const identity = await issueIdentity(['127.0.0.1', 'localhost']);
const simulator = createSimulator({
  ...{ control: true, seed: 42 },
  settings: { boot: { scale: BOOT_SCALE }, pauses: { scale: 0 } },
  ...{ machineServer: true, machineShell: toOwnServer },
  runMachines: {
    max: MAX_MACHINES,
    certificates: [identity.authorities, ...rootCertificates].join('\n'),
    report: (text) => process.stderr.write(`${text}\n`),
  },
});
// Control without TLS needs a port of its own.
const listening = await simulator.listen({ certificate: identity.certificate, control: { port: 0 } });
const { url, controlUrl: control } = listening;
const ca = identity.issued?.path;
process.stdout.write(`${JSON.stringify({ url, apiKey: simulator.apiKey, control, ca })}\n`);
process.once('SIGTERM', () => {
  void listening.close().then(() => {
    identity.issued?.remove();
    process.exit(0);
  });
});
