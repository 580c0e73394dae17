/**
 * A process of `make playground`: the simulated marketplace, whose machines answer. HTTP ports answer any path and chat
 * requests; SSH is a real server. Its argument is a folder with the public key of the playground; everything else that
 * it makes goes there, too.
 */
import { readFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { MachinePort } from '../../src/simulator/instances/machine-servers.ts';
import { loginKeys } from '../../src/simulator/machines/start-command.ts';
import { createSimulator, type Simulator } from '../../src/simulator/simulator.ts';
import { chatWorker, TOKEN_MS } from './chat-worker.ts';
import { machineShells } from './machine-shell.ts';
import { SSHD } from './ssh-server.ts';

const BOOT_SCALE = 0.02;
const folder = process.argv[2] ?? '';
const chat = chatWorker({ tokenMs: TOKEN_MS });

/** A chat request gets a completion; anything else, such as a probe, 200 and who answers. */
const answers =
  ({ contract, containerPort }: MachinePort): RequestListener =>
  (request, response) => {
    if (request.method === 'POST' && request.url?.endsWith('/chat/completions'))
      return chat(request, response);
    request.resume();
    const body = { machine: contract.id, image: contract.image, port: containerPort, path: request.url };
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${JSON.stringify(body)}\n`);
  };

/** Returns the present keys that may log in to a machine. */
function keysOf(machine: number): readonly string[] {
  const world = simulator.store.current();
  const contract = world.tables.contracts[machine];
  return contract ? loginKeys(world, contract) : [];
}

const shells = SSHD === undefined ? undefined : machineShells({ folder, sshd: SSHD, keysOf });
const simulator: Simulator = createSimulator({
  control: true,
  seed: 42,
  settings: { boot: { scale: BOOT_SCALE }, pauses: { scale: 0 } },
  machineServer: answers,
  ...(shells && { machineShell: shells.shell }),
});
const { url, close } = await simulator.listen(0);
if (shells) await registerKey(readFileSync(join(folder, 'login.pub'), 'utf8').trim());
process.once('SIGTERM', () => void end());
process.stdout.write(`${JSON.stringify({ url, apiKey: simulator.apiKey, control: `${url}/sim` })}\n`);

async function registerKey(key: string): Promise<void> {
  const reply = await fetch(`${url}/api/v0/ssh/`, {
    method: 'POST',
    headers: { authorization: `Bearer ${simulator.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ ssh_key: key }),
  });
  if (!reply.ok)
    throw new Error(`the key of the playground was refused: ${reply.status} ${await reply.text()}`);
}

async function end(): Promise<void> {
  await shells?.close();
  await close();
  process.exit(0);
}
