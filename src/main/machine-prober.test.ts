import { createServer } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createMachineProber } from './transports.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function door() {
  let came = 0;
  const server = createServer((socket) => {
    came++;
    socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, came: () => came };
}

/** Timeout of answers that do arrive: no test waits that long. */
const PATIENCE_MS = 60_000;
const simulated = { network: '203.0.113.0', prefix: 24, target: '127.0.0.1' };

test('the address map leads probes of simulated machines to this one', async () => {
  const { port, came } = await door();
  const ask = createMachineProber({ addressMap: [simulated], allowPrivateAddresses: false });
  expect(await ask({ host: '203.0.113.9', port, timeoutMs: PATIENCE_MS, http: undefined })).toBeUndefined();
  expect(came()).toBe(1);
});

test.each([false, true])(
  'a name that the system resolves to this machine is not connected to, private addresses allowed: %s',
  async (allowPrivateAddresses) => {
    const { port, came } = await door();
    const ask = createMachineProber({ addressMap: [], allowPrivateAddresses });
    const problem = await ask({ host: 'localhost', port, timeoutMs: PATIENCE_MS, http: undefined });
    expect(problem).toMatch(/^The machine is not probed: its address is a loopback/);
    expect(came()).toBe(0);
  },
);

test('a private address is refused unless the flag allows it', async () => {
  const ask = createMachineProber({ addressMap: [], allowPrivateAddresses: false });
  const problem = await ask({ host: '10.255.255.1', port: 9, timeoutMs: 50, http: undefined });
  expect(problem).toBe('The machine is not probed: its address is a private or cluster address.');
});
