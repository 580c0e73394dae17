import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
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

describe('a world on disk', () => {
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

  test('a key that was revoked in the kept world is good again when it is asked for', async () => {
    const file = openWorldFile(join(folder, 'world.db'));
    const first = simulatedService({ file, catalog: 3, apiKey: 'k' });
    const reset = await first.call('PUT /api/v0/commands/reset_apikey/', { client_id: 'me' });
    expect((await first.call('GET /api/v0/users/current')).status).toBe(401);
    expect(createSimulator({ file }).apiKey, 'the one that is good').toBe(reset.body.new_api_key);
    const again = simulatedService({ file, apiKey: 'k' });
    expect((await again.call('GET /api/v0/users/current')).status).toBe(200);
    file.close();
  });

  test('returns a key with full access: neither a scoped one nor a session', async () => {
    const file = openWorldFile(join(folder, 'world.db'));
    const first = simulatedService({ file, catalog: 3, apiKey: 'k' });
    const scoped = { name: 'narrow', permissions: { api: { misc: {} } } };
    await first.call('POST /api/v0/auth/apikeys/', scoped);
    const { body } = await first.call('PUT /api/v0/commands/reset_apikey/', { client_id: 'me' });
    expect(createSimulator({ file }).apiKey).toBe(body.new_api_key);
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

  test.each([
    ['the call', '429-json'],
    ['the reply', 'empty-list'],
  ])('a fault of %s that is used up does not strike again after a crash', async (_what, name) => {
    const file = openWorldFile(join(folder, 'world.db'));
    const service = simulatedService({ file, catalog: 3 });
    await service.call('POST /sim/faults', { name, endpoint: 'list', count: 1 });
    expect(Object.values(file.load()?.world.tables.faults ?? {})).toMatchObject([{ name }]);
    await service.call('GET /api/v0/instances/');
    expect(file.load()?.world.tables.faults).toEqual({});
    file.close();
  });

  test('what a full disk refused is written with the next change', async () => {
    const file = openWorldFile(join(folder, 'world.db'));
    const refusesOnce = vi.spyOn(file, 'save').mockImplementationOnce(() => {
      throw new Error('database or disk is full');
    });
    const service = simulatedService({ file, catalog: [{ id: 1 }, { id: 2 }], apiKey: 'k' });
    await service.call('PUT /api/v0/asks/1/', { image: 'x' }).catch(() => undefined);
    expect(refusesOnce).toHaveBeenCalledOnce();
    await service.call('PUT /api/v0/asks/2/', { image: 'x' });
    expect(file.load()?.world.tables.contracts).toEqual(service.simulator.world().tables.contracts);
    expect(Object.keys(service.simulator.world().tables.contracts)).toHaveLength(2);
    file.close();
  });

  test('a file that is no database is refused', () => {
    expect(() => openWorldFile(folder)).toThrow();
  });

  test('the database of another program is refused and left as it was', () => {
    const path = join(folder, 'other.db');
    const other = new DatabaseSync(path);
    other.exec('CREATE TABLE foreign_rows (id INTEGER)');
    other.close();
    expect(() => openWorldFile(path)).toThrow('another program');
    const after = new DatabaseSync(path);
    const names = after.prepare('SELECT name FROM sqlite_master').all();
    expect(names).toEqual([{ name: 'foreign_rows' }]);
    after.close();
  });
});
