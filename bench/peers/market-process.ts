/**
 * The program behind {@link startMarket}: one simulator after the other in one process, so that none of those who are
 * compared meets a colder one than the others. It counts what comes, and lets each request wait for the round trip.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { createSimulator, type Simulator } from '../../src/simulator.ts';
import type { MarketCommand, MarketOptions, MarketReply, MarketState } from './market.ts';

/** Kind of a request to the marketplace, by method and path. */
const KINDS: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['list', /^GET \/api\/v\d\/instances\/?(\?|$)/],
  ['get', /^GET \/api\/v0\/instances\/\d+/],
  ['search', /^(POST|PUT|GET) \/api\/v0\/(bundles|search\/asks)\/?(\?|$)/],
  ['rent', /^PUT \/api\/v0\/asks\/\d+/],
  ['destroy', /^DELETE \/api\/v0\/instances\/\d+/],
];

const kindOf = (method: string, path: string): string =>
  KINDS.find(([, pattern]) => pattern.test(`${method} ${path}`))?.[0] ?? 'other';

interface Open {
  readonly simulator: Simulator;
  readonly server: Server;
  readonly requests: Record<string, number>;
  tooManyRequests: number;
  rentsInFlight: number;
  maxRentsInFlight: number;
  lastDestroyAt: number | undefined;
}

let open: Open | undefined;

async function openMarket(options: MarketOptions): Promise<{ url: string; apiKey: string }> {
  await closeMarket();
  const simulator = createSimulator({
    seed: 7,
    catalog: options.offers,
    control: true,
    settings: {
      boot: { scale: options.bootScale },
      billing: { initialCredit: 1_000_000 },
      ...(options.rateLimits ? {} : { pauses: { scale: 0 } }),
    },
  });
  const market: Open = {
    simulator,
    server: createServer((request, response) => {
      serve(market, options, request, response).catch(() => response.destroy());
    }),
    requests: {},
    tooManyRequests: 0,
    rentsInFlight: 0,
    maxRentsInFlight: 0,
    lastDestroyAt: undefined,
  };
  market.server.keepAliveTimeout = 60_000;
  market.server.listen(0, '127.0.0.1');
  await once(market.server, 'listening');
  open = market;
  const { port } = market.server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, apiKey: simulator.apiKey };
}

async function serve(
  market: Open,
  { roundTripMs }: MarketOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { method = 'GET', url: path = '/' } = request;
  const kind = kindOf(method, path);
  market.requests[kind] = (market.requests[kind] ?? 0) + 1;
  if (kind === 'rent') {
    market.rentsInFlight += 1;
    market.maxRentsInFlight = Math.max(market.maxRentsInFlight, market.rentsInFlight);
  }
  if (kind === 'destroy') market.lastDestroyAt = Date.now();
  try {
    const body = await textOf(request);
    if (roundTripMs > 0) await delay(roundTripMs / 2);
    const reply = await market.simulator.handle({
      method,
      path,
      origin: `http://${request.headers.host}`,
      headers: flat(request.headers),
      ...(body === '' ? {} : { body }),
    });
    if (reply.status === 429) market.tooManyRequests += 1;
    const chunks: Uint8Array[] = [];
    for await (const chunk of reply.body) chunks.push(chunk);
    if (roundTripMs > 0) await delay(roundTripMs / 2);
    response.writeHead(reply.status, { ...reply.headers });
    response.end(Buffer.concat(chunks));
  } finally {
    if (kind === 'rent') market.rentsInFlight -= 1;
  }
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk as Uint8Array);
  return Buffer.concat(chunks).toString('utf8');
}

function flat(headers: IncomingMessage['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]])),
  );
}

function stateOf(market: Open): MarketState {
  const { tables } = market.simulator.world();
  const live = Object.values(tables.contracts);
  return {
    requests: { ...market.requests },
    tooManyRequests: market.tooManyRequests,
    maxRentsInFlight: market.maxRentsInFlight,
    lastDestroyAt: market.lastDestroyAt,
    live: live.map(({ id, label, createdAt }) => ({ id, label: label ?? '', createdAt })),
    ended: Object.keys(tables.endedContracts).length,
  };
}

async function closeMarket(): Promise<void> {
  if (!open) return;
  const { server } = open;
  open = undefined;
  server.closeAllConnections();
  await new Promise((done) => server.close(done));
}

async function answer(command: MarketCommand): Promise<unknown> {
  switch (command.type) {
    case 'open':
      return openMarket(command.options);
    case 'state':
      return open ? stateOf(open) : undefined;
    case 'requests':
      return { ...open?.requests };
    case 'fault':
      return setFault(command.fault);
    case 'close':
      return closeMarket();
    default:
      return command satisfies never;
  }
}

async function setFault(fault: unknown): Promise<unknown> {
  const reply = await open?.simulator.handle({
    ...{ method: 'POST', path: '/sim/faults', origin: 'http://127.0.0.1', headers: {} },
    body: JSON.stringify(fault),
  });
  if (reply?.status !== 200) throw new Error(`the simulator refused the fault: ${reply?.status}`);
  return undefined;
}

process.on('message', ({ id, command }: { id: number; command: MarketCommand }) => {
  answer(command).then(
    (value) => process.send?.({ id, value } satisfies MarketReply),
    (error: unknown) => process.send?.({ id, error: String(error) } satisfies MarketReply),
  );
});
process.on('disconnect', () => process.exit());
