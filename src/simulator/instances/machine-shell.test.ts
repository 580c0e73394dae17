import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { Listening } from '../http-server.ts';
import { createSimulator } from '../simulator.ts';

let listening: Listening | undefined;
afterEach(() => listening?.close());

test.each([
  ['with direct ports', { id: 1, columns: { direct_port_count: 4 } }],
  ['without direct ports', { id: 1, columns: { direct_port_count: 0 } }],
])('P8: answers SSH of a machine %s by the shell that is given', async (_, offer) => {
  const asked: number[] = [];
  const simulator = createSimulator({
    apiKey: 'k',
    catalog: [offer],
    machineServer: true,
    machineShell: ({ contract }, socket) => {
      asked.push(contract.id);
      socket.end('hello');
    },
    settings: { pauses: { scale: 0 }, boot: { scale: 0 } },
  });
  listening = await simulator.listen();
  const headers = { authorization: 'Bearer k' };
  const body = '{"image":"x","runtype":"ssh"}';
  const rented = await fetch(`${listening.url}/api/v0/asks/1/`, { method: 'PUT', headers, body });
  const { new_contract: id } = (await rented.json()) as { new_contract: number };
  await (await fetch(`${listening.url}/api/v0/instances/${id}/`, { headers })).arrayBuffer();
  const port = simulator.store.current().tables.contracts[id]?.sshPort ?? 0;
  const socket = connect(port, '127.0.0.1');
  const [said] = (await once(socket, 'data')) as [Buffer];
  expect([String(said), asked]).toEqual(['hello', [id]]);
  socket.destroy();
});
