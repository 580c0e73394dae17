import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import { hostAndPort } from '../../../lib/host-port.ts';
import { type SocketAddress, tcpPortAddress } from '../../../reach/machine-addresses.ts';
import {
  believable,
  believableIfGiven,
  FigureError,
  type LoadRecord,
  MAX_AHEAD_MS,
  measuredPerf,
  SourceError,
  seriesOf,
} from './state.ts';

type HttpPull = NonNullable<LoadSource['httpPull']>;
export type FigureName = keyof NonNullable<HttpPull['figures']>;
export type FigureNames = Readonly<Partial<Record<FigureName, string>>>;

/** Request to a worker and the format of its reply. */
export interface PullPlan {
  readonly path: string;
  readonly format: 'JSON' | 'Prometheus';
  readonly scheme: 'HTTP' | 'HTTPS';
  readonly figures: FigureNames;
  /**
   * Metric of finished requests since the start of the worker, if waiting counts in requests and work in other units.
   */
  readonly finishedRequests: string | undefined;
}

interface Preset {
  readonly path: string;
  readonly format: 'JSON' | 'Prometheus';
  readonly figures: FigureNames;
  readonly finishedRequests: string | undefined;
}

const PRESETS: Readonly<Record<HttpPull['preset'], Preset>> = {
  /** Field names of the public worker protocol. */
  Pyworker: {
    path: '/worker_status/',
    format: 'JSON',
    figures: {
      newLoad: 'new_load',
      rejectedLoad: 'rej_load',
      currentLoad: 'cur_load',
      maxPerf: 'max_perf',
      inFlight: 'num_requests_working',
      error: 'error_msg',
    },
    finishedRequests: undefined,
  },
  /** Work is generated tokens. A waiting request counts as the mean work of finished ones. */
  VLLM: {
    path: '/metrics',
    format: 'Prometheus',
    figures: {
      newLoad: 'vllm:generation_tokens_total',
      waitingLoad: 'vllm:num_requests_waiting',
      inFlight: 'vllm:num_requests_running',
    },
    finishedRequests: 'vllm:request_success_total',
  },
  Custom: { path: '/', format: 'JSON', figures: {}, finishedRequests: undefined },
};

/** Returns the preset with the changes of the spec. A spec without `httpPull` has its defaults. */
export function pullPlan(pull: HttpPull | undefined): PullPlan {
  const preset = PRESETS[pull?.preset ?? 'Pyworker'];
  const { path = preset.path, format = preset.format, scheme = 'HTTP' }: Partial<HttpPull> = pull ?? {};
  const given = Object.entries(pull?.figures ?? {}).filter(([, name]) => name !== undefined);
  return {
    ...{ path, format, scheme },
    figures: { ...preset.figures, ...Object.fromEntries(given) },
    finishedRequests: preset.finishedRequests,
  };
}

/** Address at which a worker reports its load, and the plan for the request. */
export interface PullTarget {
  readonly address: SocketAddress;
  readonly plan: PullPlan;
}

/** Returns the target for the load of a worker. Throws a {@link SourceError} if its machine does not map the port. */
export function pullTarget({ spec }: EndpointGroup, worker: GpuInstance): PullTarget {
  const pull = spec.load.httpPull;
  const address = tcpPortAddress(worker, pull?.port);
  if (!address)
    throw new SourceError('no public port for load reports; set minDirectPorts and name the port');
  return { address, plan: pullPlan(pull) };
}

/** Returns the origin to connect to on a host: scheme, host and port. */
export function originOf({ plan, address }: PullTarget, host: string, scheme = plan.scheme): string {
  return `${scheme === 'HTTPS' ? 'https' : 'http'}://${hostAndPort(host, address.port)}`;
}

/** Returns the record of a reply in the format of the plan. Throws a {@link FigureError}. */
export function readReply(text: string, plan: PullPlan, now: number): LoadRecord {
  return plan.format === 'JSON' ? readJsonReply(text, plan, now) : readPrometheusReply(text, plan, now);
}

/** Reads one reply. Throws a {@link FigureError} if the text is no reply or a figure cannot be true. */
export type ReadReply = (text: string, plan: PullPlan, now: number) => LoadRecord;

/** Reads a JSON reply: amounts since the last reply, at paths such as `load.current`. */
export const readJsonReply: ReadReply = (text, { figures }) => {
  let reply: unknown;
  try {
    reply = JSON.parse(text);
  } catch {
    throw new FigureError('the reply is not JSON');
  }
  const at = (figure: FigureName) => {
    const path = figures[figure];
    return path === undefined ? undefined : valueAt(reply, path);
  };
  const name = (figure: FigureName) => figures[figure] ?? figure;
  const error = at('error');
  return {
    arrived: {
      type: 'amount',
      newLoad: believable(name('newLoad'), at('newLoad')),
      rejectedLoad: believableIfGiven(name('rejectedLoad'), at('rejectedLoad')) ?? 0,
    },
    currentLoad: believableIfGiven(name('currentLoad'), at('currentLoad')) ?? 0,
    waitingLoad: believableIfGiven(name('waitingLoad'), at('waitingLoad')),
    maxPerf: measuredPerf(name('maxPerf'), at('maxPerf')),
    inFlight: believableIfGiven(name('inFlight'), at('inFlight')),
    error: typeof error === 'string' ? error.slice(0, 256) : '',
  };
};

/** Returns the value of a key, even with dots in its name, or else at the path. */
function valueAt(reply: unknown, path: string): unknown {
  if (!isRecord(reply)) throw new FigureError('the reply is not a JSON object');
  if (Object.hasOwn(reply, path)) return reply[path];
  let value: unknown = reply;
  for (const key of path.split('.')) {
    if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
    value = value[key];
  }
  return value;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Name, labels with any braces in their values, value and time of a sample. */
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)(?:\s+(-?\d+))?\s*$/;

/**
 * Reads a reply in Prometheus text. It sums the samples of a metric over their labels. Arrived work counts since the
 * start of the worker, for each set of labels. Throws a {@link FigureError} for missing or impossible figures.
 */
export const readPrometheusReply: ReadReply = (text, plan, now) => {
  const { newLoad: accepted, rejectedLoad } = plan.figures;
  const samples = samplesOf(text, new Set([...Object.values(plan.figures), plan.finishedRequests]), now);
  const sums = new Map<string, number>();
  for (const { name, value } of samples) sums.set(name, (sums.get(name) ?? 0) + value);
  const figure = (key: FigureName) => sums.get(plan.figures[key] ?? '');
  const newLoad = plan.figures.newLoad ?? 'newLoad';
  if (!sums.has(newLoad)) throw new FigureError(`the reply has no ${newLoad}`);
  const work = believable(newLoad, sums.get(newLoad));
  const finished = sums.get(plan.finishedRequests ?? '') ?? 0;
  // The mean work of finished requests; 1 if requests are the unit, or none is finished yet.
  const perRequest = finished > 0 ? Math.max(1, work / finished) : 1;
  const waiting = figure('waitingLoad');
  const running = figure('inFlight');
  const counters = samples.filter(({ name }) => name === accepted || name === rejectedLoad);
  return {
    arrived: {
      type: 'counter',
      series: seriesOf(counters.map(({ name, labels, value }) => [name + labels, value])),
    },
    currentLoad: figure('currentLoad') ?? 0,
    waitingLoad: waiting === undefined ? undefined : waiting * perRequest,
    maxPerf: measuredPerf('maxPerf', figure('maxPerf')),
    inFlight: running === undefined ? undefined : running + (waiting ?? 0),
    error: '',
  };
};

interface Sample {
  readonly name: string;
  /** Text of the labels with their braces. */
  readonly labels: string;
  readonly value: number;
}

/** Returns the samples of these metrics and ignores any other line. */
function samplesOf(text: string, names: ReadonlySet<string | undefined>, now: number): readonly Sample[] {
  return text.split('\n').flatMap((line): readonly Sample[] => {
    const [, name = '', labels = '', value = '', time] = SAMPLE.exec(line) ?? [];
    if (!names.has(name)) return [];
    if (Number(time) > now + MAX_AHEAD_MS) throw new FigureError(`${name} has a time in the future`);
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
    return [{ name, labels, value: believable(name, number) }];
  });
}
