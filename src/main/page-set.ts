import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { GATEWAY_REPORTS_PATH, MAX_GATEWAY_REPORT_BYTES } from '../api/gateway-report.ts';
import type { Config, OptionName } from '../config/options.ts';
import type { PickerConfig } from '../config/picker-options.ts';
import type { BindAddress } from '../config/values.ts';
import { ConfigError, flagName } from '../config.ts';
import { LEASE_PATH } from '../instance/lease-report.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { InformerHealth } from '../runtime/list-watch/informer.ts';
import {
  type HealthCheck,
  healthPage,
  jsonPage,
  type Pages,
  type Posts,
  type RunningServer,
  servePages,
} from '../server/http-server.ts';
import { type ServerCertificate, serveLogs } from '../server/log-server.ts';
import type { MetricRegistry } from '../server/metric-registry.ts';
import { CallerAccess, PathAccess } from '../server/path-access.ts';
import { serveReports } from '../server/report-server.ts';
import type { Operator } from './operator.ts';

export interface PageSetOptions {
  readonly config: Config;
  readonly operator: Operator;
  readonly registry: MetricRegistry;
  readonly clock: Clock;
  readonly log: Logger;
}

export const METRICS_PATH = '/metrics';

/** The pages of one process. */
export interface PageSet {
  /** URLs of the servers by purpose. */
  readonly urls: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Serves health and metrics; both on one server if their addresses are the same. Rejects if an address cannot be used.
 */
export async function servePageSet(options: PageSetOptions): Promise<PageSet> {
  const { config } = options;
  const health: Pages = {
    '/healthz': () => healthPage(liveness(options)),
    '/readyz': () => healthPage(readiness(options)),
  };
  const metrics: Pages = { [METRICS_PATH]: metricsPage(options) };
  const posts = postsOf(options);
  const shared = sameAddress(config.metricsBindAddress, config.healthProbeBindAddress);
  const servers = new Map<string, RunningServer>();
  const open = async (option: OptionName, address: BindAddress, pages: Pages, taken: Posts = {}) => {
    if (address.type === 'on')
      servers.set(option, await listenOn(option, address, (at) => servePages(pages, at, taken)));
  };
  if (shared) {
    await open('healthProbeBindAddress', config.healthProbeBindAddress, { ...health, ...metrics }, posts);
  } else {
    await open('healthProbeBindAddress', config.healthProbeBindAddress, health);
    await open('metricsBindAddress', config.metricsBindAddress, metrics, posts);
  }
  await openReports(options, servers);
  await openLogs(options, servers);
  return {
    urls: Object.fromEntries([...servers].map(([name, server]) => [name, server.url])),
    close: async () => {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

/** Returns the exposition, open to every caller. */
export function openMetricsPage(registry: MetricRegistry) {
  return async () => ({ status: 200, contentType: registry.contentType, body: await registry.expose() });
}

/** Returns the exposition, open to every caller or to those that Kubernetes authorizes. */
function metricsPage({ config, operator, registry, clock, log }: PageSetOptions): Pages[string] {
  const expose = openMetricsPage(registry);
  if (config.metricsAuthentication === 'none') return expose;
  const access = new PathAccess({ client: operator.kube, clock, log, path: METRICS_PATH, verb: 'get' });
  return async (request) => (await access.refusal(request)) ?? expose();
}

/** Returns the handler for reports of pickers, if it is enabled. */
function postsOf({ config, operator, clock, log }: PageSetOptions): Posts {
  const { gatewayReports } = config;
  if (gatewayReports === 'off') return {};
  const path = GATEWAY_REPORTS_PATH;
  const access = new PathAccess({ client: operator.kube, clock, log, path, verb: 'post' });
  return {
    [path]: {
      maxBytes: MAX_GATEWAY_REPORT_BYTES,
      refusal: (request) => (gatewayReports === 'kubernetes' ? access.refusal(request) : undefined),
      take: (body) => {
        const answer = operator.gatewayIntake.take(body);
        return answer.status === 200
          ? jsonPage(200, answer.reply)
          : jsonPage(answer.status, { error: answer.message });
      },
    },
  };
}

interface SocketAddress {
  readonly host: string;
  readonly port: number;
}

/** Listens as `serve` does. Rejects with a ConfigError that names the flag if the port cannot be used. */
export async function listenOn<Listening>(
  option: OptionName | keyof PickerConfig,
  { host, port }: SocketAddress,
  serve: (address: SocketAddress) => Promise<Listening>,
): Promise<Listening> {
  try {
    return await serve({ host, port });
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const cause = error instanceof Error && 'code' in error ? String(error.code) : 'it failed';
    throw new ConfigError([
      `${flagName(option)}: cannot listen on ${host}:${port} (${cause}); choose another address`,
    ]);
  }
}

/** Opens the server for the reports of machines: loads of workers, and leases. Untrusted machines reach it, so it serves nothing else. */
async function openReports(
  { config, operator }: PageSetOptions,
  servers: Map<string, RunningServer>,
): Promise<void> {
  const address = config.workerReportBindAddress;
  if (address.type === 'off') return;
  const take = (path: string, body: unknown) =>
    path === LEASE_PATH ? operator.leaseReports.take(body) : operator.intake.take(path, body);
  const server = await listenOn('workerReportBindAddress', address, (at) => serveReports(take, at));
  servers.set('workerReports', server);
}

/** Opens the server for the logs of machines. */
async function openLogs(
  { config, operator, clock, log }: PageSetOptions,
  servers: Map<string, RunningServer>,
): Promise<void> {
  const { logBindAddress: address, logTlsDirectory: folder } = config;
  if (address.type === 'off' || folder === undefined) return;
  const access = new CallerAccess({ client: operator.kube, clock, log, maxAnswers: MAX_LOG_ANSWERS });
  const { open } = operator.logs;
  const certificate = () => certificateIn(folder);
  const options = { open, access, clock, certificate };
  servers.set('logs', await listenOn('logBindAddress', address, (at) => serveLogs(options, at)));
}

/** Cached permissions of callers: one for each token and object. */
const MAX_LOG_ANSWERS = 512;

/** Reads the certificate of a folder. Rejects with a ConfigError that names the flag and the file. */
async function certificateIn(folder: string): Promise<ServerCertificate> {
  try {
    const cert = await readFile(join(folder, 'tls.crt'));
    const key = await readFile(join(folder, 'tls.key'));
    createSecureContext({ cert, key });
    return { cert, key };
  } catch (error) {
    throw new ConfigError([
      `${flagName('logTlsDirectory')}: ${error instanceof Error ? error.message : String(error)}`,
    ]);
  }
}

function sameAddress(a: BindAddress, b: BindAddress): boolean {
  return a.type === 'on' && b.type === 'on' && a.host === b.host && a.port === b.port && a.port !== 0;
}

/** Returns the checks of faults that only a restart repairs. */
function liveness({ operator, clock }: PageSetOptions): readonly HealthCheck[] {
  return Object.entries(operator.caches).map(([name, cache]) => ({
    name: `watch-${name}`,
    problem: () => watchProblem(cache.health(), clock.now()),
  }));
}

/**
 * Returns the checks that must pass before this process counts as in service. A replica that waits for the lease is
 * ready too.
 */
function readiness({ operator }: PageSetOptions): readonly HealthCheck[] {
  const { manager, installation } = operator;
  return [
    {
      name: 'caches',
      problem: () => (manager.isReady() ? undefined : 'the first lists are not complete yet'),
    },
    {
      name: 'identity',
      problem: () => {
        const state = installation.state();
        return manager.isLeading() && state.type === 'lost' ? state.why.message : undefined;
      },
    },
  ];
}

/** A list-watch that is silent for longer is broken: bookmarks arrive every minute. */
const SILENCE_MS = 10 * 60_000;
/**
 * Lag of a replica of the API server that counts as a restore: a replica may lag for seconds, but not for this time.
 */
const REWOUND_MS = 2 * 60_000;

/** Returns the problem of a cache that only a restart repairs; undefined if waiting may help. */
export function watchProblem(
  { lastContactAt, failure, rewoundSince }: Omit<InformerHealth, 'divergences'>,
  now: number,
): string | undefined {
  if (rewoundSince !== undefined && now - rewoundSince >= REWOUND_MS)
    return 'the API server has returned an older state than before for two minutes: it was restored from a backup';
  const silentMs = lastContactAt === undefined ? 0 : now - lastContactAt;
  if (silentMs < SILENCE_MS || failure !== undefined) return undefined;
  return `the API server has been silent for ${Math.round(silentMs / 1000)} s`;
}
