import { describe, expect, test } from 'vitest';
import { type Instance, instanceRow, toInstance } from '../markets/vast/instances/instance.ts';
import type { InstancesResource, PageQuery } from '../markets/vast/instances/instances.ts';
import { machineReads } from '../markets/vast/machine-reads.ts';
import { toMachineRow } from '../markets/vast/machine-row.ts';
import { MarketplaceError } from './errors.ts';

const instance = (id: number, status: string | null): Instance =>
  toInstance(instanceRow.parse({ id, actual_status: status }));

/** Polls a service that shows `listed` for any filter, and each of `single` in a single read. */
async function look(given: { known: Instance[]; listed?: Instance[]; single?: Instance[] }) {
  const asked: { query?: PageQuery | undefined; read: string[]; signals: unknown[] } = {
    read: [],
    signals: [],
  };
  const instances = {
    page: async (query: PageQuery = {}, options: { signal?: AbortSignal }) => {
      asked.query = query;
      asked.signals.push(options.signal);
      const rows = given.listed ?? [];
      return { instances: rows, found: rows.length, total: rows.length, nextToken: null };
    },
    get: async (id: string, options: { signal?: AbortSignal }) => {
      asked.read.push(id);
      asked.signals.push(options.signal);
      return given.single?.find((row) => row.id === id) ?? null;
    },
  };
  const { signal } = new AbortController();
  const list = async () => {
    throw new MarketplaceError('the whole list is gone', { kind: 'gone', outcome: 'refused' });
  };
  const reads = machineReads({ ...instances, list } as unknown as InstancesResource);
  await reads.machines({ signal });
  const known = new Map(given.known.map((row) => [row.id, toMachineRow(row)]));
  const rows = await reads.unsettled?.(known, { signal });
  return { rows: rows ?? [], ...asked, areSignalled: asked.signals.every((one) => one === signal) };
}

describe('a look at what is unsettled', () => {
  test('asks for every state but running, in one list that ends with its caller', async () => {
    const { query, areSignalled } = await look({ known: [] });
    const some = [null, 'loading', 'stopped', 'exited', 'offline', 'unknown'];
    expect(query?.filters).toEqual({ actual_status: { in: expect.arrayContaining(some) } });
    expect(query?.filters).not.toEqual({ actual_status: { in: expect.arrayContaining(['running']) } });
    expect(areSignalled).toBe(true);
  });

  test('reads a machine that left the filter by itself, and takes over what it became', async () => {
    const booting = instance(1, 'loading');
    const running = instance(1, 'running');
    const { rows, read, areSignalled } = await look({ known: [booting], single: [running] });
    expect(read).toEqual(['1']);
    expect(rows).toEqual([toMachineRow(running)]);
    expect(areSignalled).toBe(true);
  });

  test('believes no machine gone that a read does not find: only whole lists count absences', async () => {
    const { rows, read } = await look({ known: [instance(1, 'stopped')], listed: [instance(2, 'loading')] });
    expect(read).toEqual(['1']);
    expect(rows.map(({ id }) => id)).toEqual(['2']);
  });

  test('reads neither machines that ran nor those that the list named', async () => {
    const listed = [instance(2, 'loading')];
    const { rows, read } = await look({ known: [instance(1, 'running'), instance(2, 'loading')], listed });
    expect(read).toEqual([]);
    expect(rows).toEqual(listed.map(toMachineRow));
  });

  test('reads five at most: more of them wait for the whole list', async () => {
    const known = [1, 2, 3, 4, 5, 6, 7].map((id) => instance(id, 'loading'));
    expect((await look({ known })).read).toEqual(['1', '2', '3', '4', '5']);
  });
});
