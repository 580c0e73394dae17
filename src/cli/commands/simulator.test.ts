import { tmpdir } from 'node:os';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { readFlags, runSimulator, simulatorCommand } from './simulator.ts';

/** Runs the command until it has printed its line. */
async function ready(options: Record<string, unknown>) {
  const stop = new AbortController();
  const stdout = new PassThrough();
  const context = {
    stdout,
    stderr: new PassThrough(),
    stdin: new PassThrough(),
    env: {},
    signal: stop.signal,
  };
  const done = simulatorCommand.run({ args: [], options }, context);
  const line = String(await new Promise((resolve) => stdout.once('data', resolve)));
  const end = (): Promise<number> => {
    stop.abort();
    return done;
  };
  return { line, stop: end };
}

const quiet = () => ({
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  signal: new AbortController().signal,
});

describe('gpu-rent simulator', () => {
  test('prints one JSON line when ready, serves, and ends with 0', async () => {
    const { line, stop } = await ready({
      port: '0',
      apiKey: 'mine',
      control: true,
      offers: '5',
      rateLimits: false,
    });
    const { url, apiKey, control } = JSON.parse(line);
    expect(line.endsWith('\n')).toBe(true);
    expect({ apiKey, control }).toEqual({ apiKey: 'mine', control: `${url}/sim` });
    const reply = await fetch(`${url}/api/v0/users/current`, { headers: { authorization: 'Bearer mine' } });
    expect(reply.status).toBe(200);
    expect((await fetch(`${control}/ledger`)).status).toBe(200);
    expect(await stop()).toBe(0);
    await expect(fetch(url)).rejects.toThrow();
  });

  test('reports that there is no control', async () => {
    const { line, stop } = await ready({ offers: '1' });
    expect(JSON.parse(line).control).toBeNull();
    await stop();
  });

  test.each([
    [{ port: 'http' }, /--port: "http" is not a whole number from 0 to 65535/],
    [{ port: '70000' }, /--port: "70000"/],
    [{ timeScale: '-1' }, /--time-scale: "-1" is not a number from 0 to 1000000/],
    [{ timeScale: '0' }, /--time-scale: 0 stops the clock, and nothing would ever boot/],
    [{ timeScale: '1000001' }, /--time-scale: "1000001" is not a number from 0 to 1000000/],
    [{ offers: '100001' }, /--offers: "100001" is not a whole number from 1 to 100000/],
    [{ seed: '' }, /--seed/],
    [{ seed: '1.5' }, /--seed: "1.5"/],
    [{ offers: '0' }, /--offers: "0"/],
    [{ apiKey: '' }, /--api-key/],
    [{ profile: 'both' }, /--profile: "both"/],
  ])('%j is refused with the name of the flag', (options, reason) => {
    expect(() => readFlags(options)).toThrow(reason);
  });

  test('a port that is taken is named, with what to do', async () => {
    const { line, stop } = await ready({ offers: '1' });
    const { port } = new URL(JSON.parse(line).url);
    await expect(runSimulator(readFlags({ port, offers: '1' }), quiet())).rejects.toMatchObject({
      message: `--port: ${port} on 127.0.0.1 is in use.`,
      remedy: expect.stringContaining('another port'),
      exitCode: 1,
    });
    await stop();
  });

  test('a data file that cannot be used is named, with what to do', async () => {
    await expect(runSimulator(readFlags({ data: tmpdir() }), quiet())).rejects.toMatchObject({
      message: expect.stringContaining(`--data: cannot keep a world in ${tmpdir()}`),
      remedy: expect.stringContaining('Name a file'),
      exitCode: 1,
    });
  });
});
