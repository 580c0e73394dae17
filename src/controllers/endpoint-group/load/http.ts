import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import { believable, believableIfGiven, FigureError, type LoadRecord, measuredPerf } from './state.ts';

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

/** Reads one reply into a record. Throws `FigureError` where it is none or a figure cannot be true. */
export type ReadReply = (text: string, plan: PullPlan, now: number) => LoadRecord;

/** Reads a worker's JSON: amounts since its last answer, found by path such as `load.current`. */
export const readJsonReply: ReadReply = (text, { figures }) => {
  const reply = parsedReply(text);
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

function parsedReply(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FigureError('the reply is not JSON');
  }
}

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
