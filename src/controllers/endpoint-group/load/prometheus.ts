import type { FigureName, ReadReply } from './http.ts';
import {
  believable,
  type CounterSeries,
  FigureError,
  type LoadRecord,
  measuredPerf,
  seriesOf,
} from './state.ts';

/** Samples with a time this far ahead of our clock are lies. */
const FUTURE_MS = 60_000;
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
  const sums = sumsOf(samples);
  const figure = (key: FigureName) => sums.get(plan.figures[key] ?? '');
  const newLoad = plan.figures.newLoad ?? 'newLoad';
  if (!sums.has(newLoad)) throw new FigureError(`the reply has no ${newLoad}`);
  const arrived = believable(newLoad, sums.get(newLoad));
  const perRequest = workPerRequest(arrived, sums.get(plan.finishedRequests ?? ''));
  const counters = samples.filter(({ name }) => name === accepted || name === rejectedLoad);
  const series = seriesOf(counters.map(({ name, labels, value }) => [name + labels, value]));
  return recordOf({ figure, series, perRequest });
};

interface Sums {
  readonly figure: (key: FigureName) => number | undefined;
  readonly series: CounterSeries;
  readonly perRequest: number;
}

function recordOf({ figure, series, perRequest }: Sums): LoadRecord {
  const waiting = figure('waitingLoad');
  const running = figure('inFlight');
  return {
    arrived: { type: 'counter', series },
    currentLoad: figure('currentLoad') ?? 0,
    waitingLoad: waiting === undefined ? undefined : waiting * perRequest,
    maxPerf: measuredPerf('maxPerf', figure('maxPerf')),
    inFlight: running === undefined ? undefined : running + (waiting ?? 0),
    error: '',
  };
}

/** The mean work of the requests that were finished; 1 where requests are the unit, or none is finished yet. */
function workPerRequest(work: number, finished = 0): number {
  return finished > 0 ? Math.max(1, work / finished) : 1;
}

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
    if (Number(time) > now + FUTURE_MS) throw new FigureError(`${name} carries a time in the future`);
    return [{ name, labels, value: believable(name, numberOf(value)) }];
  });
}

function sumsOf(samples: readonly Sample[]): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { name, value } of samples) sums.set(name, (sums.get(name) ?? 0) + value);
  return sums;
}

function numberOf(text: string): number {
  return text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text);
}

/**
 * The one value of an instant query; undefined if it finds no series. Throws a {@link FigureError} for any other
 * answer.
 */
export function sampledValue(name: string, text: string, now: number): number | undefined {
  const sample = sampleOf(name, text);
  if (sample === undefined) return undefined;
  const [seconds, value] = sample;
  if (typeof seconds !== 'number' || seconds * 1000 > now + FUTURE_MS)
    throw new FigureError(`${name} answers with a time in the future`);
  return believable(name, typeof value === 'string' ? Number(value) : value);
}

function sampleOf(name: string, text: string): readonly [unknown, unknown] | undefined {
  const data = field(parsedAnswer(name, text), 'data');
  const result = field(data, 'result');
  if (!Array.isArray(result)) throw new FigureError(`${name} does not answer with a vector or a number`);
  if (field(data, 'resultType') === 'scalar') return [result[0], result[1]];
  if (field(data, 'resultType') !== 'vector')
    throw new FigureError(`${name} does not answer with a vector or a number`);
  if (result.length > 1)
    throw new FigureError(
      `${name} answers with ${result.length} series; write a query of one, such as sum(…)`,
    );
  const value = result.length === 0 ? undefined : field(result[0], 'value');
  return Array.isArray(value) ? [value[0], value[1]] : undefined;
}

function parsedAnswer(name: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new FigureError(`${name} is not answered in JSON`);
  }
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}
