import { once } from 'node:events';
import { connect } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import type { Burst } from './burst-client.ts';

/** The client of a burst: in a thread of its own, since thousands of connections would keep the picker of a bench waiting. */
const { port, path, localAddress, connections, resets } = workerData as Burst;

function openAll() {
  return Array.from({ length: connections }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => {});
    socket.on('data', (data) => parentPort?.postMessage(String(data)));
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
    return socket;
  });
}

for (let reset = 0; reset < resets; reset += 1) {
  const sockets = openAll();
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  for (const socket of sockets) socket.resetAndDestroy();
}
if (resets === 0) openAll();
