import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GATEWAY_REPORTS_PATH, type GatewayReport } from '../../src/api/gateway-report.ts';
import {
  API_VERSION,
  endpointGroupResource,
  labels,
  marketplaceAccountResource,
} from '../../src/api/v1alpha1/names.ts';
import { endpointSliceResource, secretResource } from '../../src/runtime/kube/core-resources.ts';
import type { KubeObject } from '../../src/runtime/kube/kube-object.ts';
import { createSimulator } from '../../src/simulator/simulator.ts';
import { until } from '../../test/builders/until.ts';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { imageEnvironment } from '../operator/image-environment.ts';
import { startChild } from './child.ts';
import { type GatewayKube, MAPPED, NAMESPACE, openGatewayKube } from './gateway-kube.ts';
import { startLoadGenerator } from './generator.ts';
import { failedOf, type LoadResult } from './load.ts';
import { BUNDLE, startOwnGateway } from './own-gateway.ts';
import { burstyTrace } from './trace-load.ts';

export interface TraceOptions {
  readonly folder: string;
  readonly seconds: number;
  readonly requests: number;
  readonly report: (line: string) => void;
}

export interface TraceResult {
  readonly requests: LoadResult;
  readonly failed: number;
  /** Units of work: what the clients sent, and what the picker told the operator that it was. */
  readonly sentWork: number;
  readonly reportedWork: number;
  /** Machines that served requests, and those of them that were drained and ended while others went on. */
  readonly machines: number;
  readonly drained: number;
  /** Requests that a machine had begun and could not finish. */
  readonly interrupted: number;
}

const GROUP = 'trace';
const API_KEY = 'bench';
const WORK_HEADER = 'x-gpurental-work';
/** Every so often all workers are replaced, beside those that the load lets go. */
const ROLLOUT_SECONDS = 60;
const SEED = 20;

/**
 * Bursts of requests through picker and Envoy to simulated machines that the operator rents, drains, replaces and gives up
 * meanwhile: is the work that it hears of exactly what was sent, and is no request interrupted?
 */
export async function replayTrace({ folder, seconds, requests, report }: TraceOptions): Promise<TraceResult> {
  const closing: (() => unknown)[] = [];
  try {
    const machines = new Machines();
    const simulator = createSimulator({
      apiKey: API_KEY,
      catalog: 200,
      machineServer: ({ contract }) => machines.answerOf(contract.id),
      settings: { boot: { scale: 0.005 }, pauses: { scale: 0 } },
    });
    const market = await simulator.listen(0);
    closing.push(() => market.close());
    const kube = await openGatewayKube(folder);
    closing.push(() => kube.close());
    await writeObjects(kube);
    const operatorPort = await findFreePort();
    const operator = startOperator({ kube, folder, marketplace: market.url, port: operatorPort });
    closing.push(() => operator.stop());
    const tap = await tapReports(operatorPort);
    closing.push(() => tap.close());
    const gateway = await startOwnGateway({ kube, folder, operatorUrl: tap.url });
    closing.push(() => gateway.stop());
    const load = await startLoadGenerator();
    closing.push(() => load.stop());

    const target = { ...gateway.targetOf(GROUP), workHeader: WORK_HEADER };
    const arrivals = burstyTrace({ seed: SEED, requests, seconds, tokens: [20, 400] });
    report(`${requests} requests in ${seconds} s`);
    const drains = followDrains(kube);
    closing.push(() => drains.stop());
    const rollouts = rollOut(kube, (count) => {
      operator.check();
      report(
        `rollout ${count}; ${drains.seen.size} workers were drained, ${tap.reportedWork()} units of work reported`,
      );
    });
    closing.push(() => rollouts.stop());
    const result = await load.run({ type: 'open', target, arrivals });
    rollouts.stop();
    await until('all work is reported', () => tap.reportedWork() === result.tokens, 30_000).catch(() => {});
    return {
      requests: result,
      failed: failedOf(result),
      sentWork: result.tokens,
      reportedWork: tap.reportedWork(),
      machines: machines.served.size,
      drained: drains.seen.size,
      interrupted: machines.interrupted,
    };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** Simulated machines: each answers after as many milliseconds as a request has tokens. */
class Machines {
  readonly served = new Set<number>();
  interrupted = 0;

  answerOf(machine: number): RequestListener {
    return (request, response) => {
      let text = '';
      request.setEncoding('utf8');
      request.on('data', (chunk: string) => {
        text += chunk;
      });
      request.on('end', () => {
        this.served.add(machine);
        const { max_tokens: tokens = 1, stream } = JSON.parse(text || '{}') as {
          readonly max_tokens?: number;
          readonly stream?: boolean;
        };
        response.once('close', () => {
          if (!response.writableFinished) this.interrupted += 1;
        });
        if (stream) {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.write('data: {}\n\n');
        }
        setTimeout(() => response.end(stream ? 'data: [DONE]\n\n' : '{}'), tokens);
      });
    };
  }
}

async function writeObjects({ client }: GatewayKube): Promise<void> {
  const metadata = { namespace: NAMESPACE };
  await client.create(secretResource, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { ...metadata, name: 'marketplace-key' },
    data: { 'api-key': Buffer.from(API_KEY).toString('base64') },
  } as KubeObject);
  await client.create(marketplaceAccountResource, {
    apiVersion: API_VERSION,
    kind: 'MarketplaceAccount',
    metadata: { ...metadata, name: 'default' },
    spec: { apiKeySecretRef: { name: 'marketplace-key' }, pollInterval: '1s' },
  } as KubeObject);
  const ports = [{ name: 'http', containerPort: 8000 }];
  const template = { spec: { image: 'example/worker:1', offers: [{ maxPricePerHour: '100' }], ports } };
  await client.create(endpointGroupResource, {
    apiVersion: API_VERSION,
    kind: 'EndpointGroup',
    metadata: { ...metadata, name: GROUP },
    spec: {
      gateway: { work: 'Header', trustedCallers: ['*'], maxHeld: 10_000 },
      ...{ coldWorkers: 0, coldMultiplier: '1', expectedPerf: '1000', maxWorkers: 12 },
      template,
    },
  } as KubeObject);
}

interface OperatorOptions {
  readonly kube: GatewayKube;
  readonly folder: string;
  readonly marketplace: string;
  readonly port: number;
}

function startOperator({ kube, folder, marketplace, port }: OperatorOptions) {
  return startChild({
    name: 'operator',
    command: process.execPath,
    args: [
      ...[BUNDLE, 'operator', '--kubeconfig', kube.kubeconfig],
      ...['--namespace', NAMESPACE, '--watch-namespace', NAMESPACE],
      ...['--marketplace-url', marketplace, '--pacing', 'off', '--address-map', MAPPED],
      ...['--late-call', '2s', '--list-lag', '1s', '--gone-spacing', '200ms', '--min-poll-interval', '300ms'],
      ...['--metrics-bind-address', `127.0.0.1:${port}`, '--gateway-reports', 'unauthenticated'],
      ...['--health-probe-bind-address', '0', '--leader-elect', 'false'],
      ...[
        '--max-rentals-per-hour',
        '10000',
        '--max-live-machines',
        '1000',
        '--max-dollars-per-hour',
        '100000',
      ],
    ],
    env: imageEnvironment(),
    logFolder: folder,
  });
}

/** Stands between picker and operator, and notes what is reported. */
async function tapReports(operatorPort: number) {
  let last = 0;
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      const headers = { 'content-type': 'application/json' };
      void fetch(`http://127.0.0.1:${operatorPort}${request.url}`, { method: 'POST', headers, body }).then(
        async (reply) => {
          if (reply.ok && request.url === GATEWAY_REPORTS_PATH) last = workOf(JSON.parse(String(body)));
          response.writeHead(reply.status, headers).end(await reply.text());
        },
        () => response.writeHead(502).end(),
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    reportedWork: () => last,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

function workOf({ groups }: GatewayReport): number {
  return groups.reduce((sum, { arrivedWork, overestimatedWork }) => sum + arrivedWork - overestimatedWork, 0);
}

const LOOK_MS = 200;

/** Workers that were published as leaving: they keep what they have. */
function followDrains({ client }: GatewayKube) {
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    const { items } = await client.list<
      KubeObject & { endpoints?: { conditions?: { terminating?: boolean } }[] }
    >(endpointSliceResource, { namespace: NAMESPACE });
    for (const { metadata, endpoints } of items)
      if (endpoints?.some(({ conditions }) => conditions?.terminating))
        seen.add(metadata.labels?.[labels.instance] ?? metadata.name);
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  return { seen, stop: () => clearInterval(timer) };
}

/** Changes the template at an interval, which replaces all workers. */
function rollOut({ client }: GatewayKube, told: (count: number) => void) {
  let count = 0;
  const timer = setInterval(() => {
    count += 1;
    told(count);
    const body = { spec: { template: { spec: { env: [{ name: 'ROLLOUT', value: String(count) }] } } } };
    const ref = { namespace: NAMESPACE, name: GROUP };
    void client.patch(endpointGroupResource, ref, { type: 'merge', body });
  }, ROLLOUT_SECONDS * 1000);
  return { stop: () => clearInterval(timer) };
}

/** Returns one line per result, and whether it meets its target. */
export function traceRows(result: TraceResult): readonly { readonly line: string; readonly met: boolean }[] {
  const { requests, failed, sentWork, reportedWork, drained, interrupted, machines } = result;
  return [
    { line: `${requests.ok} of ${requests.sent} requests served`, met: failed === 0 },
    { line: `work sent ${sentWork}, reported ${reportedWork}`, met: sentWork === reportedWork },
    {
      line: `${interrupted} requests interrupted, ${drained} workers drained meanwhile of ${machines} that served`,
      met: interrupted === 0 && drained > 0,
    },
  ];
}
