import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../test/builders/until.ts';
import type { Backends } from './backends.ts';
import type { Envoy } from './envoys.ts';
import type { GatewayKube } from './gateway-kube.ts';
import type { LoadGenerator } from './generator.ts';
import { failedOf, type Kind, type LoadResult, type Target } from './load.ts';
import type { OwnGateway } from './own-gateway.ts';
import { residentMiB, withCpu } from './process-cost.ts';
import { type Spread, spreadOf } from './rounds.ts';

/** Participants when the gateway is measured alone. */
export interface Scene {
  readonly kube: GatewayKube;
  readonly backends: Backends;
  readonly gateway: OwnGateway;
  /** Envoy without a picker. */
  readonly alone: Envoy;
  readonly load: LoadGenerator;
  readonly rounds: number;
  readonly seconds: number;
  readonly report: (line: string) => void;
}

const AT_ONCE: Kind = { stream: false, tokens: 1 };
const STREAM: Kind = { stream: true, tokens: 1 };
/** Enough that a request always waits for each of the processes. */
const BUSY_CONNECTIONS = 32;
/** A picker that has just begun is compiled while it is measured. */
const WARM_UP_REQUESTS = 10_000;
const IDLE_SECONDS = 30;
/** Loopback is used up otherwise: each held request is a connection. */
const HELD_LIMIT_MS = 120_000;

/** Group names: with few workers, with a hundred, and for the other measurements. */
export const GROUPS = {
  ...{ few: 'few', many: 'many', held: 'held', idle: 'idle' },
  ...{ uploads: 'uploads', endless: 'endless' },
} as const;

export interface BusyFigures {
  readonly picksPerSecond: Spread;
  readonly pickerMsPerPick: Spread;
  readonly envoyMsPerPick: Spread;
  readonly latencyP99Ms: Spread;
}

/** Measures the maximum rate of picks with all processes on the same cores. */
export async function busy(scene: Scene, group: string, kind: Kind = AT_ONCE): Promise<BusyFigures> {
  const { gateway } = scene;
  const target = gateway.targetOf(group);
  for (let sent = 0; sent < WARM_UP_REQUESTS; )
    sent += (await closed(scene, target, { connections: BUSY_CONNECTIONS, kind })).sent;
  const rounds: { readonly result: LoadResult; readonly picker: number; readonly envoy: number }[] = [];
  for (let round = 0; round <= scene.rounds; round += 1) {
    const before = await gateway.metric('gpu_rental_gateway_picks_total');
    const { value: result, cpu } = await withCpu(
      { picker: gateway.picker.pid, envoy: gateway.envoy.pid },
      () => closed(scene, target, { connections: BUSY_CONNECTIONS, kind }),
    );
    const picks = (await gateway.metric('gpu_rental_gateway_picks_total')) - before;
    if (picks !== result.sent) throw new Error(`${result.sent} requests were sent, and ${picks} picked for`);
    rounds.push({ result, picker: (cpu['picker'] ?? 0) / picks, envoy: (cpu['envoy'] ?? 0) / picks });
  }
  rounds.shift();
  return {
    picksPerSecond: spreadOf(rounds.map(({ result }) => result.sent / result.seconds)),
    pickerMsPerPick: spreadOf(rounds.map(({ picker }) => picker)),
    envoyMsPerPick: spreadOf(rounds.map(({ envoy }) => envoy)),
    latencyP99Ms: spreadOf(rounds.map(({ result }) => result.latencyMs.p99)),
  };
}

export function busyStreams(scene: Scene): Promise<BusyFigures> {
  return busy(scene, GROUPS.few, STREAM);
}

export interface AddedLatency {
  readonly p50Ms: Spread;
  readonly p99Ms: Spread;
  readonly gatewayP50Ms: Spread;
  readonly aloneP50Ms: Spread;
}

/** Measures the latency of one connection through the gateway minus that through an Envoy without a picker, in turn. */
export async function addedLatency(scene: Scene): Promise<AddedLatency> {
  const through = scene.gateway.targetOf(GROUPS.few);
  const past = { origin: scene.alone.origin, prefix: '' };
  const rounds: { readonly gateway: LoadResult; readonly alone: LoadResult }[] = [];
  for (let round = 0; round <= scene.rounds; round += 1) {
    const one = { connections: 1, kind: AT_ONCE };
    rounds.push({ gateway: await closed(scene, through, one), alone: await closed(scene, past, one) });
  }
  rounds.shift();
  const added = (share: 'p50' | 'p99') =>
    spreadOf(rounds.map(({ gateway, alone }) => gateway.latencyMs[share] - alone.latencyMs[share]));
  return {
    p50Ms: added('p50'),
    p99Ms: added('p99'),
    gatewayP50Ms: spreadOf(rounds.map(({ gateway }) => gateway.latencyMs.p50)),
    aloneP50Ms: spreadOf(rounds.map(({ alone }) => alone.latencyMs.p50)),
  };
}

async function closed(
  scene: Scene,
  target: Target,
  { connections, kind }: { readonly connections: number; readonly kind: Kind },
): Promise<LoadResult> {
  const { seconds } = scene;
  const result = await scene.load.run({ type: 'closed', target, connections, seconds, kind });
  if (failedOf(result) > 0) throw new Error(`requests failed: ${JSON.stringify(result.failures)}`);
  return result;
}

export interface HeldFigures {
  readonly requests: number;
  readonly ok: number;
  readonly failures: LoadResult['failures'];
  readonly pickerMiB: { readonly before: number; readonly held: number };
  readonly envoyMiB: { readonly before: number; readonly held: number };
  /** From the first worker's publication to the end of the last request. */
  readonly servedSeconds: number;
}

/** Measures requests that wait in a group without a worker, until it has workers. */
export async function held({ kube, backends, gateway, load }: Scene, requests: number): Promise<HeldFigures> {
  await kube.createGroup(GROUPS.held, { maxHeld: requests, maxHeldBytes: '1Gi' });
  const target = gateway.targetOf(GROUPS.held);
  await until('the group is served', () => isHeld(target));
  await untilHeld(gateway, 0);
  const memory = () => ({ picker: residentMiB(gateway.picker.pid), envoy: residentMiB(gateway.envoy.pid) });
  const before = memory();
  const arrivals = Array.from({ length: requests }, () => ({ ...AT_ONCE, atMs: 0 }));
  const run = load.run({ type: 'open', target, arrivals });
  const failed = run.then(({ failures }) => {
    throw new Error(`requests ended before all were held: ${JSON.stringify(failures)}`);
  });
  failed.catch(() => {});
  await Promise.race([untilHeld(gateway, requests), failed]);
  const whileHeld = memory();
  const begun = performance.now();
  await kube.publish(GROUPS.held, backends.all.slice(0, FEW));
  const { ok, failures } = await run;
  return {
    ...{ requests, ok, failures },
    pickerMiB: { before: before.picker, held: whileHeld.picker },
    envoyMiB: { before: before.envoy, held: whileHeld.envoy },
    servedSeconds: (performance.now() - begun) / 1000,
  };
}

export interface UploadFigures {
  readonly requests: number;
  readonly pickerMiB: { readonly before: number; readonly held: number };
  readonly envoyMiB: { readonly before: number; readonly held: number };
}

const UPLOAD = Buffer.from(`{"max_tokens":1,"messages":"${'x'.repeat(1_048_544)}"}`);
/** Memory that does not grow for so long has taken in what it takes. */
const SETTLED_MS = 2_000;

/**
 * Measures uploads of 1 MiB that wait in a group without a worker. `endless`: their bodies never end, in a group that
 * counts tokens and therefore reads them.
 */
export async function uploads(
  { kube, gateway }: Pick<Scene, 'kube' | 'gateway'>,
  { requests, endless }: { readonly requests: number; readonly endless: boolean },
): Promise<UploadFigures> {
  const group = endless ? GROUPS.endless : GROUPS.uploads;
  await kube.createGroup(group, { maxHeld: requests, ...(endless && { work: 'OpenAITokens' }) });
  const target = gateway.targetOf(group);
  await until('the group is served', () => isHeld(target));
  await untilHeld(gateway, 0, group);
  const memory = () => ({ picker: residentMiB(gateway.picker.pid), envoy: residentMiB(gateway.envoy.pid) });
  const before = memory();
  const length = endless ? 'transfer-encoding: chunked' : `content-length: ${UPLOAD.length}`;
  const head = [
    `POST ${target.prefix}/v1/chat/completions HTTP/1.1`,
    ...['host: bench', 'content-type: application/json', length, '', ''],
  ].join('\r\n');
  const sockets: Socket[] = [];
  try {
    for (let sent = 0; sent < requests; sent += 1) {
      const socket = connect(Number(new URL(target.origin).port), '127.0.0.1');
      socket.on('error', () => {});
      sockets.push(socket);
      await once(socket, 'connect');
      socket.write(endless ? `${head}40000000\r\n` : head);
      socket.write(UPLOAD);
    }
    await untilHeld(gateway, requests, group);
    let held = memory();
    for (let since = performance.now(); performance.now() - since < SETTLED_MS; ) {
      await sleep(SETTLED_MS / 10);
      const now = memory();
      if (now.envoy + now.picker > held.envoy + held.picker + 1) since = performance.now();
      held = now;
    }
    return {
      requests,
      pickerMiB: { before: before.picker, held: held.picker },
      envoyMiB: { before: before.envoy, held: held.envoy },
    };
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

/** Returns true if a request is held, as in a known group. The request is then cancelled. */
async function isHeld({ origin, prefix }: Target): Promise<boolean> {
  const answered = fetch(`${origin}${prefix}/v1/models`, { signal: AbortSignal.timeout(HELD_AFTER_MS) });
  return answered.then(
    () => false,
    (error: Error) => error.name === 'TimeoutError',
  );
}

const HELD_AFTER_MS = 500;

/** Workers of the group with few. */
export const FEW = 8;

function untilHeld(gateway: OwnGateway, count: number, group: string = GROUPS.held): Promise<unknown> {
  const own = `name="${group}"`;
  const isSo = async (): Promise<boolean> => {
    const refused = await gateway.metric('gpu_rental_gateway_refusals_total', own);
    if (refused > 0) throw new Error(`${refused} of ${count} requests were refused: a gateway holds fewer`);
    return (await gateway.metric('gpu_rental_gateway_held_requests', own)) === count;
  };
  return until(`${count} requests are held`, isSo, HELD_LIMIT_MS);
}

export interface IdleFigures {
  readonly pickerPercent: number;
  readonly envoyPercent: number;
  readonly seconds: number;
}

/** Measures an idle gateway. It knows all published groups, one of them with a hundred workers. */
export async function idle({ gateway }: Scene): Promise<IdleFigures> {
  const seconds = IDLE_SECONDS;
  const rest = () => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const { cpu } = await withCpu({ picker: gateway.picker.pid, envoy: gateway.envoy.pid }, rest);
  const percentOf = (name: string): number => (cpu[name] ?? 0) / seconds / 10;
  return { pickerPercent: percentOf('picker'), envoyPercent: percentOf('envoy'), seconds };
}
