import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import type { Listening, ListenOptions } from '../http-server.ts';
import { createSimulator, type Simulator, type SimulatorOptions } from '../simulator.ts';

let listening: Listening | undefined;
afterEach(() => listening?.close());

const PORT_BASE = 20_000 + ((process.pid * 37) % 8000);

/** Returns a running machine with port 8000, and a function that reads it from the market. */
async function runningMachine(
  machineServer: NonNullable<SimulatorOptions['machineServer']>,
  where: ListenOptions = {},
) {
  const simulator: Simulator = createSimulator({
    apiKey: 'k',
    catalog: [{ id: 1 }],
    machineServer,
    settings: { pauses: { scale: 0 }, boot: { scale: 0 }, addresses: { portBase: PORT_BASE } },
  });
  listening = await simulator.listen(where);
  const { url } = listening;
  const headers = { authorization: 'Bearer k' };
  const rented = await fetch(`${url}/api/v0/asks/1/`, {
    method: 'PUT',
    headers,
    body: '{"image":"x","env":{"-p 8000:8000":"1"}}',
  });
  const { new_contract } = (await rented.json()) as { new_contract: number };
  const path = `${url}/api/v0/instances/${new_contract}/`;
  const port = async (inside: string): Promise<number> => {
    const row = (await (await fetch(path, { headers })).json()) as {
      instances: { ports?: Record<string, { HostPort: string }[]> };
    };
    return Number(row.instances.ports?.[inside]?.[0]?.HostPort);
  };
  const stop = () => fetch(path, { method: 'PUT', headers, body: '{"state":"stopped"}' });
  return { port, stop, id: new_contract };
}

/** Retries until it does not throw; listeners follow the market within a tenth of a second. */
async function eventually<T>(attempt: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (tries > 40) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

describe('machines that answer', () => {
  test('HTTP on the mapped port and a greeting on the one of ssh, until the machine stops', async () => {
    const machine = await runningMachine(true);
    const port = await machine.port('8000/tcp');
    const reply = await eventually(() => fetch(`http://127.0.0.1:${port}/health`));
    expect(await reply.json()).toEqual({ instance: machine.id, port: '8000/tcp', path: '/health' });
    const ssh = connect(await machine.port('22/tcp'), '127.0.0.1');
    expect(String((await once(ssh, 'data'))[0])).toMatch(/^SSH-2\.0-/);
    await machine.stop();
    await once(ssh, 'close');
    await eventually(async () => {
      await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    });
  });

  test('SSH without a shell by a reason that a client shows, and an end', async () => {
    const machine = await runningMachine(true);
    const ssh = await eventually(async () => connect(await machine.port('22/tcp'), '127.0.0.1'));
    await once(ssh, 'data');
    ssh.write('SSH-2.0-OpenSSH_9.9\r\n');
    const [packet] = (await once(ssh, 'data')) as [Buffer];
    await once(ssh, 'end');
    // RFC 4253, section 6: length, padding, message 1 (disconnect), reason, text.
    expect(packet.readUInt32BE(0)).toBe(packet.length - 4);
    expect(packet.length % 8).toBe(0);
    expect(packet[4]).toBeGreaterThanOrEqual(4);
    expect(packet[5]).toBe(1);
    expect(packet.subarray(14, 14 + packet.readUInt32BE(10)).toString()).toBe(
      'this simulated machine has no SSH server',
    );
  });

  test('by the time that a reply shows that they run', async () => {
    const machine = await runningMachine(true);
    const port = await machine.port('8000/tcp');
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
  });

  test('with the listener that a test gives', async () => {
    const machine = await runningMachine(({ containerPort }) =>
      containerPort === '8000/tcp' ? (_request, response) => response.end('load 7') : undefined,
    );
    const port = await machine.port('8000/tcp');
    expect(await (await eventually(() => fetch(`http://127.0.0.1:${port}/`))).text()).toBe('load 7');
  });

  // All of 127.0.0.0/8 is the local machine there.
  test.skipIf(process.platform !== 'linux')('on the address of the marketplace alone', async () => {
    const machine = await runningMachine(true, { host: '127.0.0.2' });
    const port = await machine.port('8000/tcp');
    expect((await eventually(() => fetch(`http://127.0.0.2:${port}/`))).status).toBe(200);
    await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
  });

  test('chooses another port when one is in use, and shows it in the port map', async () => {
    const { createServer } = await import('node:net');
    const blocker = createServer().listen(PORT_BASE + 8, '127.0.0.1');
    await once(blocker, 'listening');
    const machine = await runningMachine(true);
    const port = await eventually(async () => {
      const shown = await machine.port('8000/tcp');
      expect(shown).not.toBe(PORT_BASE + 8);
      return shown;
    });
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(200);
    blocker.close();
  });
});
