import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../../../test/builders/until.ts';
import { openWorldFile } from './world-file.ts';

/* Simulators as processes of their own, which are killed without a chance to say goodbye. */

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'world-'));
});
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const headers = { authorization: 'Bearer k' };

const OFFERS = 200;

/** Starts the simulator as a process of its own; resolves when it is ready. */
async function start(file: string): Promise<{ url: string; child: ChildProcess }> {
  const script = `
    import { createSimulator } from ${JSON.stringify(new URL('../simulator.ts', import.meta.url).href)};
    import { openWorldFile } from ${JSON.stringify(new URL('./world-file.ts', import.meta.url).href)};
    const simulator = createSimulator({ apiKey: 'k', catalog: Array.from({ length: ${OFFERS} }, (_, at) => ({ id: at + 1 })), control: true,
      settings: { pauses: { scale: 0 } }, file: openWorldFile(${JSON.stringify(file)}) });
    console.log((await simulator.listen(0)).url);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const [line] = await once(child.stdout, 'data');
  return { url: String(line).trim(), child };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

interface Ledger {
  readonly billing: number;
  readonly contracts: readonly { id: number; end: number | null }[];
}

const ledgerOf = async (url: string): Promise<Ledger> =>
  (await (await fetch(`${url}/sim/ledger`)).json()) as Ledger;

/**
 * Returns the changes that a service acknowledged before it was killed: contracts by id, and whether they were
 * destroyed.
 */
async function rentUntilGone(url: string, offers: readonly number[]): Promise<ReadonlyMap<number, boolean>> {
  const acknowledged = new Map<number, boolean>();
  try {
    for (const offer of offers) {
      const body = '{"image":"x"}';
      const rented = await fetch(`${url}/api/v0/asks/${offer}/`, { method: 'PUT', headers, body });
      const { new_contract: id } = (await rented.json()) as { new_contract: number };
      acknowledged.set(id, false);
      if (offer % 2 === 0) continue;
      const gone = await fetch(`${url}/api/v0/instances/${id}/`, { method: 'DELETE', headers });
      if (gone.ok) acknowledged.set(id, true);
    }
  } catch {
    // The process was killed: unanswered calls were not acknowledged.
  }
  return acknowledged;
}

describe('a world on disk', () => {
  test('survives kill -9 right after an acknowledged effect, and the clock continues', async () => {
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

  test('killed in the middle of writes, it has lost nothing that was acknowledged', async () => {
    const file = join(folder, 'world.db');
    const acknowledged = new Map<number, boolean>();
    for (let life = 0; life < 3; life += 1) {
      const { url, child } = await start(file);
      const before = (await ledgerOf(url)).contracts.length;
      const offers = Array.from({ length: 60 }, (_, at) => life * 60 + at + 1);
      const lanes = [0, 1, 2].map((lane) => offers.filter((offer) => offer % 3 === lane));
      const busy = Promise.all(lanes.map((lane) => rentUntilGone(url, lane)));
      await until('ten are rented', async () => (await ledgerOf(url)).contracts.length > before + 10);
      await kill(child);
      for (const seen of await busy) for (const [id, gone] of seen) acknowledged.set(id, gone);
    }
    const { url, child } = await start(file);
    const kept = new Map((await ledgerOf(url)).contracts.map(({ id, end }) => [id, end !== null]));
    await kill(child);
    expect(acknowledged.size).toBeGreaterThan(20);
    for (const [id, gone] of acknowledged) expect(gone ? kept.get(id) : kept.has(id), String(id)).toBe(true);
  });

  test('a file that another process has open is refused, and free once that process is killed', async () => {
    const path = join(folder, 'world.db');
    const first = await start(path);
    expect(() => openWorldFile(path)).toThrow('another process has it open');
    await kill(first.child);
    openWorldFile(path).close();
  });
});
