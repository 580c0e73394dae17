import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import { REPOSITORY } from '../../scripts/generate/artifact.ts';
import { createProber } from '../../src/controllers/gpu-instance/probe.ts';
import { until } from '../builders/until.ts';
import { groupAuthority } from '../builders/worker-identities.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { codeBlocks } from '../docs/code-blocks.ts';
import { pythonWith } from '../tools/python.ts';
import { stunnelProblem } from '../tools/stunnel.ts';
import { type TlsBench, tlsBench } from './tls-bench.ts';

const UID = 'u1';
const group = groupAuthority();
const noStunnel = await stunnelProblem();
if (noStunnel !== undefined) console.info(noStunnel);

/** The blocks of the page: what makes the files, and one for each server. */
const blocks = codeBlocks('docs/how-to/gateway.md')
  .filter(({ heading, language }) => heading === 'Encryption to the worker' && language === 'sh')
  .map(({ text }) => text);
const blockOf = (command: string) => blocks.find((text) => text.includes(command)) ?? '';
const files = blockOf('mktemp');

let bench: TlsBench;
/** The command, as a script. */
let uvicorn: string;
beforeAll(async () => {
  const [opened, python] = await Promise.all([tlsBench(), pythonWith(['uvicorn==0.54.0'])]);
  bench = opened;
  if ('missing' in python) throw new Error(python.missing);
  uvicorn = `#!/bin/sh\nexec '${python.path}' -m uvicorn "$@"\n`;
}, 15 * 60_000);
afterAll(() => bench?.close());

const ask = createProber({ allowPrivate: false, mapAddress: () => '127.0.0.1', resolve: async () => [] });

/** Probes as the operator does; undefined if the worker serves. */
function probed(port: number, tls = group.callerOf(UID)): Promise<string | undefined> {
  const http = { scheme: 'HTTP', path: '/', headers: [] } as const;
  return ask({ host: '203.0.113.5', port, timeoutMs: 10_000, http, tls });
}

const ports = async () => ({ own: await findFreePort(), plain: await findFreePort() });

/** Starts the script in a folder that holds these files, with what a machine is given; resolves when it serves. */
async function started(
  script: string,
  { own, plain }: { readonly own: number; readonly plain: number },
  contents: Readonly<Record<string, string>>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'recipe-'));
  for (const [name, text] of Object.entries(contents)) {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  const { certificate, key } = group.worker(UID);
  const encoded = (text: string) => Buffer.from(text).toString('base64');
  const here = script
    .replaceAll('0.0.0.0', '127.0.0.1')
    .replaceAll('8000', `${own}`)
    .replaceAll('8001', `${plain}`);
  let said = '';
  const child = spawn('sh', ['-c', here], {
    cwd: folder,
    detached: true,
    env: {
      PATH: [folder, process.env['PATH']].filter(Boolean).join(':'),
      TMPDIR: folder,
      GPURENTAL_TLS_CERT: encoded(certificate),
      GPURENTAL_TLS_KEY: encoded(key.reveal()),
      GPURENTAL_TLS_CA: encoded(group.certificate),
    },
  });
  child.stderr.on('data', (data) => {
    said += String(data);
  });
  child.stdout.resume();
  onTestFinished(async () => {
    await ended(child);
    rmSync(folder, { recursive: true, force: true });
  });
  await until(
    'it serves',
    async () => {
      if (child.exitCode !== null) throw new Error(`It ended with ${child.exitCode}: ${said}`);
      return (await probed(own)) === undefined;
    },
    30_000,
  );
}

/** Waits until the process and all its children have ended. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const exit = once(child, 'exit');
  process.kill(-child.pid, 'SIGKILL');
  await exit;
}

async function replyOf(query = ''): Promise<string> {
  const reply = await fetch(`${bench.url}${query}`);
  return `${reply.status} ${await reply.text()}`;
}

const identity = {
  certificate: group.gateway.certificate,
  key: group.gateway.key,
  authorities: group.certificate,
};
const foreign = groupAuthority('other').gateway;

/** Checks that foreign callers, who trust the worker's certificate, are refused by the worker. */
async function refusesForeigners(port: number): Promise<void> {
  const caller = { ...group.callerOf(UID), certificate: foreign.certificate, key: foreign.key };
  // The alert is lost where the connection is reset before it is read.
  expect(await probed(port, caller)).toMatch(/refuses the certificate of the gateway|did not answer/);
  await expect(fetch(`http://127.0.0.1:${port}/`)).rejects.toThrow();
}

describe('uvicorn, started by the script of the page', () => {
  const app = `
async def app(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"served"})
`;

  test('serves the gateway and probes of the operator, and refuses foreign callers', async () => {
    const at = await ports();
    await started(files + blockOf('exec uvicorn'), at, { 'app.py': app, uvicorn });
    await bench.leadTo(at.own, UID, identity);
    expect(await replyOf()).toBe('200 served');
    expect(await probed(at.own)).toBeUndefined();
    await refusesForeigners(at.own);
  }, 60_000);

  test('is given the options that vLLM is given, in the page and in the sample', () => {
    const tlsOptions = (text: string) => text.match(/--ssl-\S+ \S+/g);
    const sample = parse(
      readFileSync(join(REPOSITORY, 'deploy/samples/endpoint-group-gateway-tls.yaml'), 'utf8'),
    );
    const { onStart } = sample.spec.template.spec;
    expect(tlsOptions(blockOf('exec uvicorn'))).toHaveLength(4);
    expect(tlsOptions(blockOf('vllm serve'))).toEqual(tlsOptions(blockOf('exec uvicorn')));
    expect(onStart).toBe(files + blockOf('vllm serve').replace('MODEL', '"$MODEL"'));
  });
});

describe.skipIf(noStunnel !== undefined)('stunnel, started by the script of the page', () => {
  const server = `#!/bin/sh\nexec "${process.execPath}" "${join(import.meta.dirname, 'plain-worker.js')}" "$@"\n`;

  test('puts TLS, streams and websockets in front of a server that knows no TLS', async () => {
    const at = await ports();
    await started(files + blockOf('exec stunnel'), at, { 'my-server': server });
    await bench.leadTo(at.own, UID, identity);
    expect(await replyOf()).toBe('200 served');
    expect(addressesOf(at.plain)).toEqual(['127.0.0.1']);

    const events = await fetch(`${bench.url}?ask=events`);
    const reader = events.body?.getReader();
    const decoded = async () => new TextDecoder().decode((await reader?.read())?.value);
    expect(await decoded()).toBe('data: 1\n\n');
    await replyOf('?ask=next');
    expect(await decoded()).toBe('data: 2\n\n');

    expect(await echoed('over a websocket')).toBe('over a websocket');

    await refusesForeigners(at.own);
  }, 60_000);
});

/**
 * Returns the addresses on which processes of this machine listen on a port, by IPv4 and IPv6 (proc(5),
 * /proc/net/tcp).
 */
function addressesOf(port: number): readonly string[] {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const LISTEN = '0A';
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(end) && state === LISTEN)
      .map(([, local = '']) => (local.startsWith('0100007F') ? '127.0.0.1' : local)),
  );
}

/** Returns the echo of a text over an upgraded connection. */
async function echoed(text: string): Promise<string> {
  const upgrade = request(bench.url, { headers: { connection: 'Upgrade', upgrade: 'websocket' } }).end();
  const [, socket] = await once(upgrade, 'upgrade');
  socket.write(text);
  const [back] = await once(socket, 'data');
  socket.destroy();
  return String(back);
}
