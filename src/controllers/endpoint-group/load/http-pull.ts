import { isIP } from 'node:net';
import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { GpuInstance } from '../../../api/v1alpha1/gpu-instance.ts';
import { mappingOf } from '../../../api/v1alpha1/identity-port.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
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

/** How a worker is asked and its answer read. */
export interface PullPlan {
  readonly path: string;
  readonly format: 'JSON' | 'Prometheus';
  readonly scheme: 'HTTP' | 'HTTPS';
  readonly figures: FigureNames;
  /** Requests finished since the worker began, where waiting is told in requests and work in other units. */
  readonly finishedRequests: string | undefined;
}

interface Preset {
  readonly path: string;
  readonly format: 'JSON' | 'Prometheus';
  readonly figures: FigureNames;
  readonly finishedRequests: string | undefined;
}

const PRESETS: Readonly<Record<HttpPull['preset'], Preset>> = {
  /** The field names of the public worker protocol. */
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
  /** Work is generated tokens; waiting requests are counted at the mean tokens of finished ones. */
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

/** The preset with what the spec sets itself; a spec without `httpPull` means its defaults. */
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

/** Where a worker is asked for its load. */
export interface PullTarget {
  readonly address: string;
  readonly port: number;
  readonly plan: PullPlan;
}

/** Where the load of a worker is read; rejects with `SourceError` where it has no such port. */
export function pullTarget({ spec }: EndpointGroup, worker: GpuInstance): PullTarget {
  const pull = spec.load.httpPull;
  const { publicAddress: address, ports = [] } = worker.status ?? {};
  const { ports: declared = [] } = worker.spec;
  const port = loadPort(declared, pull?.port);
  const mapped = port && mappingOf(port, declared, ports);
  if (address === undefined || !mapped) {
    throw new SourceError('it has no public port for its load; set minDirectPorts and name the port');
  }
  return { address, port: mapped.publicPort, plan: pullPlan(pull) };
}

type PortName = NonNullable<LoadSource['httpPull']>['port'];

type LoadPort = Pick<NonNullable<GpuInstance['spec']['ports']>[number], 'containerPort' | 'protocol'>;

/** The port of that name or number, else the first declared one of TCP. A number need not be declared. */
function loadPort(declared: NonNullable<GpuInstance['spec']['ports']>, port: PortName): LoadPort | undefined {
  if (typeof port === 'number') return { containerPort: port, protocol: 'TCP' };
  return declared.find(({ name, protocol }) => protocol === 'TCP' && (port === undefined || name === port));
}

/** Scheme, host and port to connect to. */
export function originOf({ plan, port }: PullTarget, host: string, scheme = plan.scheme): string {
  return `${scheme === 'HTTPS' ? 'https' : 'http'}://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** Reads the reply as the plan says. Throws `FigureError`. */
export function readReply(text: string, plan: PullPlan, now: number): LoadRecord {
  return plan.format === 'JSON' ? readJsonReply(text, plan, now) : readPrometheusReply(text, plan, now);
}

/** Reads one reply into a record. Throws `FigureError` where it is none or a figure cannot be true. */
export type ReadReply = (text: string, plan: PullPlan, now: number) => LoadRecord;

/** Reads a worker's JSON: amounts since its last answer, found by path such as `load.current`. */
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

/** A key with dots in it is found before a path of that spelling. */
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

/** A name, its labels, whose texts may hold any brace, a value and a time. */
const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[^"}]|"(?:[^"\\]|\\.)*")*\})?\s+(\S+)(?:\s+(-?\d+))?\s*$/;

/**
 * Reads a worker's Prometheus text. Samples of one name are added up over their labels; work that arrived is counted
 * since the worker began, for each set of labels. Throws a {@link FigureError} for figures that cannot be true or are
 * missing.
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
  /** As they are written, with their braces. */
  readonly labels: string;
  readonly value: number;
}

/** Of these names. Comments, empty lines and what is no sample are passed over. */
function samplesOf(text: string, names: ReadonlySet<string | undefined>, now: number): readonly Sample[] {
  return text.split('\n').flatMap((line): readonly Sample[] => {
    const [, name = '', labels = '', value = '', time] = SAMPLE.exec(line) ?? [];
    if (!names.has(name)) return [];
    if (Number(time) > now + MAX_AHEAD_MS) throw new FigureError(`${name} carries a time in the future`);
    const number = value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value);
    return [{ name, labels, value: believable(name, number) }];
  });
}
