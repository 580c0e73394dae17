// A worker that knows nothing of TLS, as a process of its own: `plain-worker.js --host HOST --port PORT`.
import { createServer } from 'node:http';
import { parseArgs } from 'node:util';

const options = /** @type {const} */ ({ host: { type: 'string' }, port: { type: 'string' } });
const { values } = parseArgs({ options });
/** @type {(() => void)[]} */
const waiting = [];

const server = createServer((request, response) => {
  request.resume();
  switch (new URL(request.url ?? '', 'http://worker').searchParams.get('ask')) {
    // One event now, and another when somebody asks for it.
    case 'events':
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('data: 1\n\n');
      waiting.push(() => response.end('data: 2\n\n'));
      return;
    case 'next':
      for (const go of waiting.splice(0)) go();
  }
  response.end('served');
});
server.on('upgrade', (_, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
  socket.pipe(socket);
});
server.listen(Number(values.port), values.host);
