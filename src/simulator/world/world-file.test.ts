import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { simulatedService } from '../../../test/builders/simulated-service.ts';
import { addMethod } from '../../../test/builders/tfa-account.ts';
import { createSimulator } from '../simulator.ts';
import { openWorldFile } from './world-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'world-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const headers = { authorization: 'Bearer k' };

/** The simulator as a process of its own; resolves when it is ready. */
async function start(file: string): Promise<{ url: string; child: ChildProcess }> {
  const script = `
    import { createSimulator } from ${JSON.stringify(new URL('../simulator.ts', import.meta.url).href)};
    import { openWorldFile } from ${JSON.stringify(new URL('./world-file.ts', import.meta.url).href)};
    const simulator = createSimulator({ apiKey: 'k', catalog: [{ id: 1 }, { id: 2 }], control: true,
      settings: { pauses: { scale: 0 } }, file: openWorldFile(${JSON.stringify(file)}) });
    console.log((await simulator.listen(0)).url);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), child };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('a world on disk', () => {
  test('survives kill -9 right after an acknowledged effect, and time goes on', async () => {
    const file = join(folder, 'world.db');
    const first = await start(file);
    const rented = await fetch(`${first.url}/api/v0/asks/1/`, {
      method: 'PUT',
      headers,
      body: '{"image":"x","label":"kept"}',
    });
    const { new_contract, instance_api_key } = (await rented.json()) as Record<string, string>;
    await kill(first.child);

    const second = await start(file);
    const list = (await (await fetch(`${second.url}/api/v0/instances/`, { headers })).json()) as {
      instances: object[];
    };
    expect(list.instances).toMatchObject([{ id: new_contract, label: 'kept' }]);
    const gone = await fetch(`${second.url}/api/v0/instances/${new_contract}/`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${instance_api_key}` },
    });
    expect(gone.status).toBe(200);
    await kill(second.child);

    const third = await start(file);
    const ledger = (await (await fetch(`${third.url}/sim/ledger`)).json()) as {
      billing: number;
      contracts: object[];
    };
    expect(ledger).toMatchObject({ billing: 0, contracts: [{ id: new_contract, end: expect.any(Number) }] });
    const again = await fetch(`${third.url}/api/v0/asks/1/`, {
      method: 'PUT',
      headers,
      body: '{"image":"x"}',
    });
    expect((await again.json()) as object).toMatchObject({
      success: true,
      new_contract: Number(new_contract) + 1,
    });
    await kill(third.child);
  });

  test('keeps what the clock was pushed ahead, and settings that were put', async () => {
    const file = openWorldFile(join(folder, 'world.db'));
    const first = createSimulator({ file, catalog: 3, apiKey: 'k', control: true });
    const call = (method: string, path: string, body: object) =>
      first.handle({ method, origin: 'x', path, headers, body: JSON.stringify(body) });
    await call('POST', '/sim/clock', { advanceSeconds: 1e6 });
    await call('PUT', '/sim/world', { settings: { lists: { lagSeconds: 9 } } });
    const ahead = first.now();
    const second = createSimulator({ file });
    expect(second.apiKey).toBe('k');
    expect(second.now()).toBeGreaterThanOrEqual(ahead);
    expect(second.world().settings.lists.lagSeconds).toBe(9);
    file.close();
  });

  test('a key asked for at a later start is added', () => {
    const file = openWorldFile(join(folder, 'world.db'));
    createSimulator({ file, catalog: 3, apiKey: 'first' });
    const second = createSimulator({ file, apiKey: 'second' });
    expect(Object.values(second.world().tables.apiKeys).map(({ secret }) => secret)).toEqual([
      'first',
      'second',
    ]);
    file.close();
  });

  test('what a refused call changed survives as well: a wrong code counts', async () => {
    const path = join(folder, 'world.db');
    const file = openWorldFile(path);
    const service = simulatedService({ file });
    await addMethod(service, 'totp');
    const wrong = await service.call('POST /api/v0/tfa/', { tfa_method: 'totp', code: '000000' });
    expect(wrong.body).toMatchObject({ error: '2fa_verification_failed', fail_count: 1 });
    file.close();
    const again = openWorldFile(path);
    expect(again.load()?.world.tables.tfaAccounts).toEqual(service.simulator.world().tables.tfaAccounts);
    again.close();
  });

  test('a file that is no database is refused', () => {
    expect(() => openWorldFile(folder)).toThrow();
  });

  test('the database of another program is refused and left as it was', () => {
    const path = join(folder, 'other.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE theirs (id INTEGER)');
    other.close();
    expect(() => openWorldFile(path)).toThrow('another program');
    const after = new DatabaseSync(path);
    const names = after.prepare('SELECT name FROM sqlite_master').all();
    expect(names).toEqual([{ name: 'theirs' }]);
    after.close();
  });

  test('a file that another process has open is refused, and free once that process is killed', async () => {
    const path = join(folder, 'world.db');
    const first = await start(path);
    expect(() => openWorldFile(path)).toThrow('another process has it open');
    await kill(first.child);
    openWorldFile(path).close();
  });
});
