import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CLI } from '../../../scripts/demo/processes.ts';
import { readFlags } from './simulator.ts';

let temporary: string;
let child: ReturnType<typeof spawn> | undefined;
beforeEach(() => {
  temporary = mkdtempSync(join(tmpdir(), 'simulator-machines-'));
});
afterEach(() => {
  child?.kill('SIGKILL');
  rmSync(temporary, { recursive: true, force: true });
});

/** Starts the simulator as a process whose temporary folder is this test's own. */
async function start() {
  const args = ['simulator', '--run-machines', '--control', '--boot-scale', '0', '--no-rate-limits'];
  const started = spawn(process.execPath, [CLI, ...args, '--offers', '50'], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child = started;
  const [line] = (await once(createInterface({ input: started.stdout }), 'line')) as [string];
  const { url, apiKey, ca, control } = JSON.parse(line) as Record<
    'url' | 'apiKey' | 'ca' | 'control',
    string
  >;
  const authority = readFileSync(ca, 'utf8');
  const call = async (method: string, address: string, body?: object) => {
    const sent = request(address.startsWith('https:') ? address : url + address, {
      method,
      ca: authority,
      agent: false,
      headers: { authorization: `Bearer ${apiKey}` },
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
    const [reply] = await once(sent, 'response');
    return text(reply);
  };
  const rent = async (body: object) => {
    const { offers } = JSON.parse(await call('POST', '/api/v0/bundles/', { rentable: { eq: true } }));
    const reply = await call('PUT', `/api/v0/asks/${offers[0].id}/`, { image: 'x', disk: 10, ...body });
    return JSON.parse(reply).new_contract as number;
  };
  const log = async (id: number) => {
    const reply = JSON.parse(await call('PUT', `/api/v0/instances/request_logs/${id}/`, {}));
    return call('GET', reply.result_url);
  };
  return { started, url, control, call, rent, log };
}

const processesWith = (mark: string): readonly string[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(mark);
      } catch {
        return false;
      }
    });

const WAIT = { timeout: 15_000, interval: 100 };
const has = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;

const HTTP_CALLS: Readonly<Record<string, string>> = {
  curl: 'curl -fsX DELETE -H "Authorization: Bearer $CONTAINER_API_KEY" https://$HOST_PORT/api/v0/instances/$CONTAINER_ID/',
  python3: `python3 -c 'import os,http.client as c
c=c.HTTPSConnection(os.environ["HOST_PORT"])
c.request("DELETE","/api/v0/instances/"+os.environ["CONTAINER_ID"]+"/","{}",{"Authorization":"Bearer "+os.environ["CONTAINER_API_KEY"]})
print(c.getresponse().status)'`,
  openssl: `printf '%s\\r\\n' "DELETE /api/v0/instances/$CONTAINER_ID/ HTTP/1.0" "Host: $HOST_PORT" "Authorization: Bearer $CONTAINER_API_KEY" '' | timeout 30 openssl s_client -quiet -verify_return_error -connect $HOST_PORT`,
};

describe('gpu-rent simulator --run-machines', () => {
  test.each(Object.keys(HTTP_CALLS).filter(has))(
    'lets a machine verify the simulator and end itself by %s',
    async (client) => {
      const { url, control, call, rent } = await start();
      expect(url).toMatch(/^https:\/\/127\.0\.0\.1:/);
      await rent({ onstart: HTTP_CALLS[client], env: { HOST_PORT: new URL(url).host } });
      const billing = async () => JSON.parse(await call('GET', `${control}/ledger`)).billing;
      const before = await billing();
      expect(before).toBeGreaterThan(0);
      await expect.poll(billing, WAIT).toBe(before - 1);
    },
    30_000,
  );

  test.runIf(existsSync('/proc/self/stat')).each([
    ['SIGINT', 0],
    ['SIGTERM', 0],
    ['SIGKILL', null],
  ] as const)(
    'leaves no process and no disk after %s',
    async (signal, code) => {
      const { started, rent, log } = await start();
      const mark = `48${process.pid}`;
      const id = await rent({ onstart: `sleep ${mark} & echo up` });
      await expect.poll(() => log(id), WAIT).toContain('up');
      await expect.poll(() => processesWith(mark), WAIT).not.toEqual([]);
      started.kill(signal);
      const [exitCode] = await once(started, 'exit');
      expect(exitCode).toBe(code);
      await expect.poll(() => processesWith(mark), WAIT).toEqual([]);
      const disks = () => readdirSync(temporary).filter((name) => name.startsWith('gpu-rent-machines'));
      await expect.poll(disks, WAIT).toEqual([]);
    },
    30_000,
  );

  test.each([
    [{ runMachines: true, bindAddress: '0.0.0.0' }, /--run-machines: on 0.0.0.0 other computers/],
    [{ runMachines: true, maxMachines: '0' }, /--max-machines: "0"/],
  ])('refuses %j', (options, reason) => {
    expect(() => readFlags(options)).toThrow(reason);
  });
});
