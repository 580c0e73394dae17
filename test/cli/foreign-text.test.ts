import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';
import { refused, type ScriptedCluster, scriptedCluster } from './scripted-cluster.ts';

/* Text of the marketplace and of the cluster never steers the terminal that shows it. */

const STEERING = 'RTX\u001b]52;c;cm0gLXJmIH4=\u0007\u001b[2A\r\u009b2J4090';
const row = {
  id: 4711,
  gpu_name: `${STEERING}\nDestroy nothing?`,
  actual_status: STEERING,
  image_uuid: STEERING,
  geolocation: STEERING,
  ssh_host: STEERING,
  ssh_port: 22,
};

let marketplace: Server;
let cli: CommandLine;
let cluster: ScriptedCluster;
beforeAll(async () => {
  marketplace = createServer((_, response) => {
    response
      .setHeader('content-type', 'application/json')
      .end(JSON.stringify({ instances: [row], instances_found: 1 }));
  });
  await new Promise<void>((resolve) => marketplace.listen(0, '127.0.0.1', resolve));
  const { port } = marketplace.address() as AddressInfo;
  cli = commandLine({ GPU_RENT_URL: `http://127.0.0.1:${port}`, GPU_RENT_API_KEY: 'key' });
  cluster = await scriptedCluster();
});
afterAll(() => {
  marketplace.close();
  cluster.close();
  cli.leave();
});

/** Returns the control characters of a text, except line ends. */
const controls = (text: string) => text.match(/(?!\n)\p{Cc}/gu) ?? [];

describe('machines of the marketplace', () => {
  test.each([['wide'], ['name']])('are listed with -o %s', async (format) => {
    const { exitCode, stdout } = await cli.run(['list', 'instances', '-o', format]);
    expect({ exitCode, controls: controls(stdout) }).toEqual({ exitCode: 0, controls: [] });
    expect(stdout).toContain('4711');
  });

  test('are asked about in one line before they are destroyed', async () => {
    const terminal = cli.atTerminal(['destroy', 'instance', '4711', '--no-color']);
    await terminal.until('[y/N]');
    terminal.type('n');
    expect(await terminal.ended).toBe(1);
    const [question = ''] = terminal.shown().split('[y/N]');
    expect(question).toMatch(/^Destroy 4711 \(RTX *4090 Destroy nothing\?\) with everything on it\? $/);
  });
});

describe('objects of the cluster', () => {
  test('are printed in failures', async () => {
    cluster.answer = () => ({
      status: 200,
      body: { metadata: { name: 'x', namespace: 'team' }, spec: {}, status: { phase: STEERING } },
    });
    const { exitCode, stderr } = await cluster.cli.run(['ssh', 'gpui/x']);
    expect({ exitCode, controls: controls(stderr) }).toEqual({ exitCode: 1, controls: [] });
    expect(stderr).toContain('gpui/x has no machine (RTX');
  });

  test('are printed in refusals of the API server', async () => {
    cluster.answer = () => refused(403, 'Forbidden', STEERING);
    const { exitCode, stderr } = await cluster.cli.run(['pause', 'gpui/x']);
    expect({ exitCode, controls: controls(stderr) }).toEqual({ exitCode: 1, controls: [] });
  });
});
