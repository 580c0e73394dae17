import { expect, test } from 'vitest';
import { createVirtualClock } from '../../test/builders/virtual-clock.ts';
import type { GatewayGroupReport, GatewayReply, GatewayReport } from '../api/gateway-report.ts';
import { type LogFields, silentLogger } from '../lib/logger.ts';
import type { Transport } from '../lib/transport.ts';
import { ReportClient } from './report-client.ts';

type Outcome = { readonly status: number; readonly body: string } | 'refused';

const REPLY: GatewayReply = { pickers: 1, groups: [] };
const ACCEPTED: Outcome = { status: 200, body: JSON.stringify(REPLY) };
const FOLLOWER: Outcome = { status: 503, body: '{"error":"another replica leads"}' };

/** Returns a picker with one group, and an operator that answers by `outcomes` and then accepts. */
function scene(...outcomes: readonly Outcome[]) {
  const clock = createVirtualClock();
  const left = [...outcomes];
  const sent: { readonly atMs: number; readonly path: string; readonly report: GatewayReport }[] = [];
  const replies: GatewayReply[] = [];
  const group: GatewayGroupReport = {
    ...{ namespace: 'default', name: 'llm', arrivedWork: 0, overestimatedWork: 0, refusedWork: 0 },
    ...{ heldRequests: 0, heldWork: 0, workers: [] },
  };
  const transport: Transport = async ({ path, body }) => {
    sent.push({ atMs: clock.monotonic(), path, report: JSON.parse(body ?? '') });
    const outcome = left.shift() ?? ACCEPTED;
    if (outcome === 'refused') throw new Error('connect ECONNREFUSED');
    const chunks = async function* () {
      yield Buffer.from(outcome.body);
    };
    return { status: outcome.status, headers: {}, body: chunks(), destroy: () => {} };
  };
  const state = { group };
  const lines: string[] = [];
  const line =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const client = new ReportClient({
    operatorUrl: new URL('http://operator:8080/behind/'),
    picker: 'picker-1',
    transport,
    credentials: async () => ({ authorization: 'Bearer token' }),
    clock,
    log: { ...silentLogger, info: line('info'), warn: line('warn'), error: line('error') },
    groups: () => [state.group],
    onReply: (reply) => replies.push(reply),
  });
  const arrive = (): void => {
    state.group = { ...state.group, arrivedWork: state.group.arrivedWork + 1 };
  };
  return { clock, client, sent, replies, lines, arrive };
}

test('reports each second while anything changes, and every 5 s otherwise', async () => {
  const { clock, client, sent, arrive, replies } = scene();
  client.start();
  for (let second = 0; second < 3; second += 1) {
    arrive();
    await clock.advance(1_000);
  }
  await clock.advance(10_000);
  expect(sent.map(({ atMs }) => atMs)).toEqual([1_000, 2_000, 3_000, 8_000, 13_000]);
  expect(sent[0]?.path).toBe('/behind/gateway/reports');
  expect(replies).toHaveLength(5);
});

test('reports at once when a request waits for a worker that has to be started', async () => {
  const { clock, client, sent, arrive } = scene();
  client.start();
  await clock.advance(300);
  arrive();
  client.reportNow();
  await clock.settle();
  expect(sent.map(({ atMs }) => atMs)).toEqual([300]);
});

test('is the first report of its process until one was accepted', async () => {
  const { clock, client, sent } = scene('refused', { status: 401, body: 'who?' });
  client.start();
  await clock.advance(8_000);
  expect(sent.map(({ report }) => report.first)).toEqual([true, true, true, undefined]);
});

test('tries other connections at once where it reaches a replica that does not lead', async () => {
  const { clock, client, sent } = scene(FOLLOWER, FOLLOWER);
  client.start();
  await clock.advance(1_000);
  expect(sent.map(({ atMs }) => atMs)).toEqual([1_000, 1_000, 1_000]);
});

test('scenario 124: logs the absence of the operator once with its cause, and its return with the duration (P3)', async () => {
  const refused = Array.from({ length: 12 }, () => 'refused' as const);
  const { clock, client, lines } = scene(...refused);
  client.start();
  await clock.advance(6_500);
  expect(client.unreachableSeconds).toBe(6);
  await clock.advance(14_500);
  expect(client.unreachableSeconds).toBe(0);
  expect(lines).toEqual([
    'warn Reports do not reach the operator: groups that follow their gateway keep their workers {"operatorUrl":"http://operator:8080/behind/","cause":"connect ECONNREFUSED"}',
    'info Reports reach the operator again {"cause":"connect ECONNREFUSED","seconds":12}',
  ]);
});

test('takes no reply that is none, and reports again', async () => {
  const { clock, client, sent, replies } = scene({ status: 200, body: '{"pickers":0}' });
  client.start();
  await clock.advance(2_000);
  expect(sent).toHaveLength(2);
  expect(replies).toEqual([REPLY]);
});

test('says last what is left when it ends, and nothing after that', async () => {
  const { clock, client, sent, arrive } = scene();
  client.start();
  arrive();
  await client.end();
  client.reportNow();
  await clock.advance(20_000);
  expect(sent.map(({ report }) => report.groups[0]?.arrivedWork)).toEqual([1]);
});
