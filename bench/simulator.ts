/**
 * Measures the simulator on one core, each figure next to a bare node:http server that sends the same bytes: lists of
 * 25 rows with fresh figures, and offer searches with six filters over 2,000 offers. Rates are per second of the
 * server's own CPU time, so that a busy machine changes little; the wall-clock rate is next to them.
 * node bench/simulator.ts [seconds per figure, 3 unless given]
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Client } from 'undici';
import { createSimulator } from '../src/simulator/simulator.ts';

const SEARCH = {
  verified: { eq: true },
  external: { eq: false },
  rentable: { eq: true },
  num_gpus: { gte: '1' },
  gpu_ram: { gte: 8000 },
  dph_total: { lt: '50' },
  order: [['dph_total', 'asc']],
  type: 'on-demand',
  limit: 64,
  allocated_storage: 5,
};

interface Work {
  readonly name: string;
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  readonly goal: number;
}

const WORKS: readonly Work[] = [
  { name: 'list of 25', method: 'GET', path: '/api/v0/instances/', goal: 1000 },
  {
    name: 'search, 64 of 2,000',
    method: 'POST',
    path: '/api/v0/bundles/',
    body: JSON.stringify(SEARCH),
    goal: 300,
  },
];

const seconds = Number(process.argv[2] ?? 3);
if (process.argv[2] === '--serve') await serve();
else await measureAll();

/** Runs the servers in a separate process, so that the client's work does not count. */
async function serve(): Promise<void> {
  const simulator = createSimulator({
    seed: 1,
    apiKey: 'bench',
    catalog: 2000,
    settings: { pauses: { scale: 0 }, boot: { scale: 0.001 } },
  });
  const { url } = await simulator.listen(0);
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' };
  const found = await fetch(`${url}/api/v0/bundles/`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ ...SEARCH, limit: 25 }),
  });
  const { offers } = (await found.json()) as { offers: { id: number }[] };
  for (const { id } of offers) {
    await fetch(`${url}/api/v0/asks/${id}/`, {
      method: 'PUT',
      headers,
      body: '{"image":"bench:1","label":"bench"}',
    });
  }
  simulator.advance(60);
  const bodies = new Map<string, Buffer>();
  for (const { method, path, body } of WORKS) {
    const reply = await fetch(url + path, { method, headers, ...(body ? { body } : {}) });
    bodies.set(path, Buffer.from(await reply.arrayBuffer()));
  }
  const bare = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      const body = bodies.get(request.url ?? '') ?? Buffer.alloc(0);
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length });
      response.end(body);
    });
  });
  bare.listen(0, '127.0.0.1', () => {
    const { port } = bare.address() as AddressInfo;
    const sizes = Object.fromEntries([...bodies].map(([path, body]) => [path, body.length]));
    process.on('message', () => process.send?.(process.cpuUsage()));
    process.send?.({ simulator: url, bare: `http://127.0.0.1:${port}`, sizes });
  });
}

interface Servers {
  readonly simulator: string;
  readonly bare: string;
  readonly sizes: Record<string, number>;
}

async function measureAll(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['--serve']);
  const servers = await heard<Servers>(child);
  for (const work of WORKS) {
    await measure(child, servers.simulator, { ...work, seconds: 0.5 });
    const simulated = await measure(child, servers.simulator, { ...work, seconds });
    const bare = await measure(child, servers.bare, { ...work, seconds });
    const share = Math.round((simulated.perCore / bare.perCore) * 100);
    const kilobytes = Math.round((servers.sizes[work.path] ?? 0) / 1000);
    console.log(
      `${work.name}: ${Math.round(simulated.perCore)} requests per core and second (goal ${work.goal}), ` +
        `${share} % of a bare server's ${Math.round(bare.perCore)}, ${kilobytes} kB each; ` +
        `by the clock ${Math.round(simulated.perSecond)} and ${Math.round(bare.perSecond)}`,
    );
  }
  child.kill();
}

function heard<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve) => child.once('message', (message) => resolve(message as T)));
}

/** Seconds of processor time that the server process has used. */
async function processorSeconds(child: ChildProcess): Promise<number> {
  const answer = heard<NodeJS.CpuUsage>(child);
  child.send('cpu');
  const { user, system } = await answer;
  return (user + system) / 1e6;
}

interface Rate {
  readonly perCore: number;
  readonly perSecond: number;
}

async function measure(child: ChildProcess, origin: string, work: Work & { seconds: number }): Promise<Rate> {
  const before = await processorSeconds(child);
  const begun = performance.now();
  const done = await request(origin, work, work.seconds);
  const elapsed = (performance.now() - begun) / 1000;
  return { perCore: done / ((await processorSeconds(child)) - before), perSecond: done / elapsed };
}

/** Returns the number of requests that eight keep-alive connections complete. */
async function request(origin: string, work: Work, duration: number): Promise<number> {
  const client = Array.from({ length: 8 }, () => new Client(origin));
  const end = performance.now() + duration * 1000;
  let done = 0;
  await Promise.all(
    client.map(async (connection) => {
      while (performance.now() < end) {
        const { body, statusCode } = await connection.request({
          method: work.method,
          path: work.path,
          headers: { authorization: 'Bearer bench', 'content-type': 'application/json' },
          ...(work.body ? { body: work.body } : {}),
        });
        if (statusCode !== 200) throw new Error(`${work.name}: status ${statusCode}`);
        await body.dump({ limit: 10_000_000 });
        done += 1;
      }
    }),
  );
  await Promise.all(client.map((connection) => connection.close()));
  return done;
}
