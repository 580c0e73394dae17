import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import { believable, FigureError, type LoadRecord, SourceError } from './record.ts';
import { groupRecord } from './static.ts';

/** Gives the text of a reply of the query API. */
export type AskPrometheus = (query: string) => Promise<string>;

type Queries = NonNullable<LoadSource['prometheus']>;

/** Asks the queries of a group at one time. Rejects with `SourceError` or `FigureError`. */
export async function prometheusRecord(
  queries: Queries,
  ask: AskPrometheus,
  now: number,
): Promise<LoadRecord> {
  const { loadQuery, queueQuery, rejectedQuery } = queries;
  const value = async (name: string, query: string | undefined): Promise<number | undefined> =>
    query === undefined ? 0 : sampledValue(name, await ask(query), now);
  const [load, waiting, rejected] = await Promise.all([
    value('loadQuery', loadQuery),
    value('queueQuery', queueQuery),
    value('rejectedQuery', rejectedQuery),
  ]);
  // A gateway that has never queued has no such series; one without any load series is not the right one.
  if (load === undefined) throw new SourceError('loadQuery finds no series');
  return groupRecord(load + (rejected ?? 0), waiting ?? 0);
}

/** Samples with a time this far ahead of our clock are lies. */
const FUTURE_MS = 60_000;

/** The one value of an instant query; undefined where it finds no series. */
export function sampledValue(name: string, text: string, now: number): number | undefined {
  const sample = sampleOf(name, text);
  if (sample === undefined) return undefined;
  const [seconds, value] = sample;
  if (typeof seconds !== 'number' || seconds * 1000 > now + FUTURE_MS)
    throw new FigureError(`${name} answers with a time in the future`);
  return believable(name, typeof value === 'string' ? Number(value) : value);
}

function sampleOf(name: string, text: string): readonly [unknown, unknown] | undefined {
  const data = field(parsed(name, text), 'data');
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

function parsed(name: string, text: string): unknown {
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
