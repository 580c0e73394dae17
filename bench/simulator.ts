/**
 * How fast the simulator answers on one core, each figure beside a bare node:http server that sends the
 * same bytes: lists of 25 rows with fresh figures, and offer searches of six filters over 2,000 offers.
 *
 *   node bench/simulator.ts [seconds per figure, 3 unless given]
 */
import { fork } from 'node:child_process';
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

/** The servers run in a process of their own, so that the client's work is not counted as theirs. */
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
  const servers = await new Promise<Servers>((resolve) =>
    child.once('message', (message) => resolve(message as Servers)),
  );
  for (const work of WORKS) {
    await rate(servers.simulator, work, 0.5);
    const simulated = await rate(servers.simulator, work, seconds);
    const bare = await rate(servers.bare, work, seconds);
    const share = Math.round((simulated / bare) * 100);
    const kilobytes = Math.round((servers.sizes[work.path] ?? 0) / 1000);
    console.log(
      `${work.name}: ${Math.round(simulated)} requests/s (goal ${work.goal}), ${share} % of a bare server's ${Math.round(bare)}/s, ${kilobytes} kB each`,
    );
  }
  child.kill();
}

/** Requests a second over eight keep-alive connections. */
async function rate(origin: string, work: Work, duration: number): Promise<number> {
  const client = Array.from({ length: 8 }, () => new Client(origin));
  const end = performance.now() + duration * 1000;
  let done = 0;
  const begun = performance.now();
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
  const elapsed = (performance.now() - begun) / 1000;
  await Promise.all(client.map((connection) => connection.close()));
  return done / elapsed;
}
