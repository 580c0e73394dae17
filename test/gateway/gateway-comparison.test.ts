import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { type LoadGenerator, startLoadGenerator } from '../../bench/gateway/generator.ts';
import { failedOf } from '../../bench/gateway/load.ts';
import { type Contender, interleaved, type Outcome } from '../../bench/gateway/rounds.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close();
});

async function generator(): Promise<LoadGenerator> {
  const load = await startLoadGenerator();
  closing.push(() => load.stop());
  return load;
}

/** Returns a contender that serves in this process, measured by requests of a real load generator. */
function planted(name: string, load: LoadGenerator, answer: RequestListener): Contender {
  return {
    name,
    async start() {
      const server = createServer(answer);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const target = { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, prefix: '' };
      const arrivals = Array.from({ length: 20 }, (_, at) => ({ atMs: at, tokens: 1, stream: at % 2 === 0 }));
      return {
        async measure() {
          const result = await load.run({ type: 'open', target, arrivals });
          return { sent: result.sent, failed: failedOf(result), figures: { p50: result.latencyMs.p50 } };
        },
        async stop() {
          server.closeAllConnections();
          server.close();
        },
      };
    },
  };
}

const done: RequestListener = (request, response) => {
  request.resume().on('end', () => response.end('data: [DONE]\n\n'));
};

function measured(outcomes: readonly Outcome[], name: string): Extract<Outcome, { type: 'measured' }> {
  const found = outcomes.find((outcome) => outcome.name === name);
  if (found?.type !== 'measured') throw new Error(`${name} was not measured: ${JSON.stringify(found)}`);
  return found;
}

test('reports a contender that is slow as slower', async () => {
  const load = await generator();
  const slow: RequestListener = (request, response) => void setTimeout(() => done(request, response), 300);
  const outcomes = await interleaved([planted('slow', load, slow), planted('fast', load, done)], 2);
  const [slowP50, fastP50] = ['slow', 'fast'].map(
    (name) => measured(outcomes, name).figures['p50']?.median ?? Number.NaN,
  );
  expect(slowP50).toBeGreaterThan(fastP50 ?? Number.NaN);
});

test('counts requests that are refused, cut or given up as failed, in every round', async () => {
  const load = await generator();
  let asked = 0;
  const failing: RequestListener = (request, response) => {
    asked += 1;
    if (asked % 4 === 1) response.writeHead(503).end();
    else if (asked % 4 === 2) request.socket.destroy();
    else if (asked % 4 === 3) {
      response.writeHead(200, { 'content-length': 100 }).write('data: {}\n\n');
      setImmediate(() => response.destroy());
    } else done(request, response);
  };
  const [outcome] = await interleaved([planted('failing', load, failing)], 2);
  expect(outcome).toMatchObject({ type: 'measured', rounds: 2, sent: 60, failed: 45 });
});

test('a stream without its last event is cut, also where the answer ends in order', async () => {
  const load = await generator();
  const endless: RequestListener = (_request, response) => void response.end('data: {}\n\n');
  const [outcome] = await interleaved([planted('cut', load, endless)], 1);
  expect(outcome).toMatchObject({ type: 'measured', sent: 40, failed: 20 });
});

test('reports why a contender is absent, and goes on with the others', async () => {
  let rounds = 0;
  const stopped: string[] = [];
  const outcomes = await interleaved(
    [
      { name: 'missing', start: () => Promise.reject(new Error('there is no Go here')) },
      {
        name: 'dying',
        start: async () => ({
          async measure() {
            rounds += 1;
            if (rounds === 2) throw new Error('it ended');
            return { sent: 1, failed: 0, figures: {} };
          },
          stop: async () => void stopped.push('dying'),
        }),
      },
      {
        name: 'steady',
        start: async () => ({
          measure: async () => ({ sent: 10, failed: 1, figures: { ms: 2 } }),
          stop: async () => void stopped.push('steady'),
        }),
      },
    ],
    3,
  );
  expect(outcomes).toEqual([
    { type: 'absent', name: 'missing', why: 'there is no Go here' },
    { type: 'absent', name: 'dying', why: 'it ended' },
    {
      ...{ type: 'measured', name: 'steady', rounds: 3, sent: 40, failed: 4 },
      figures: { ms: { median: 2, least: 2, most: 2 } },
    },
  ]);
  expect(stopped.toSorted()).toEqual(['dying', 'steady']);
});

test('leaves the first round out of the figures', async () => {
  const values = [100, 3, 1, 2];
  const [outcome] = await interleaved(
    [
      {
        name: 'warm',
        start: async () => ({
          measure: async () => ({ sent: 1, failed: 0, figures: { ms: values.shift() ?? 0 } }),
          stop: async () => {},
        }),
      },
    ],
    3,
  );
  expect(outcome).toMatchObject({ figures: { ms: { median: 2, least: 1, most: 3 } } });
});
