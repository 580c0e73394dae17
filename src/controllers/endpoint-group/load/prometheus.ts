import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Transport } from '../../../lib/transport.ts';
import { boundedGet, MAX_REPLY_BYTES } from './get.ts';
import { believable, FigureError, groupRecord, type LoadRecord, MAX_AHEAD_MS, SourceError } from './state.ts';

/** The Prometheus that is asked, and the way to it: its figures decide what is spent, so it proves who it is. */
export interface Prometheus {
  readonly url: string;
  readonly transport: Transport;
  /** What queries of groups may read: their authors see the number that comes of each. */
  readonly tenancy:
    | { readonly type: 'off' }
    | { readonly type: 'unrestricted' }
    | { readonly type: 'parameter'; readonly name: string };
}

const TIMEOUT_MS = 3000;
/** For how long a proxy that refused a query without a namespace is taken to do so. */
const PROVEN_MS = 600_000;
/** What `boundedGet` says of the answer by which a prom-label-proxy refuses. */
const REFUSED = 'it answered 400';

/** Reads the load of groups by their queries. */
export class PrometheusReader {
  readonly #prometheus: Prometheus | undefined;
  readonly #clock: Clock;
  #provenAt = Number.NEGATIVE_INFINITY;

  constructor(prometheus: Prometheus | undefined, clock: Clock) {
    this.#prometheus = prometheus;
    this.#clock = clock;
  }

  /** Rejects with `SourceError` if queries cannot be asked, and with `FigureError` if an answer is no load. */
  async read({ metadata, spec }: EndpointGroup): Promise<LoadRecord> {
    const prometheus = this.#prometheus;
    const queries = spec.load.prometheus;
    if (!prometheus || !queries) throw new SourceError('the operator runs without --prometheus-url');
    const { tenancy } = prometheus;
    if (tenancy.type === 'off')
      throw new SourceError(
        'queries of groups are off; an administrator turns them on with --prometheus-tenancy',
      );
    const scope = tenancy.type === 'parameter' ? { [tenancy.name]: metadata.namespace ?? '' } : undefined;
    if (tenancy.type === 'parameter') await this.#proveProxy(prometheus, tenancy.name);
    const ask = (query: string) => this.#sendQuery(prometheus, { query, ...scope });
    return prometheusRecord(queries, ask, this.#clock.now());
  }

  /**
   * A Prometheus would ignore the parameter and answer about every namespace: only what refuses a query without it is
   * asked. Rejects with `SourceError` otherwise.
   */
  async #proveProxy(prometheus: Prometheus, name: string): Promise<void> {
    const now = this.#clock.now();
    if (now >= this.#provenAt && now < this.#provenAt + PROVEN_MS) return;
    const answered = await this.#sendQuery(prometheus, { query: 'vector(1)' }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof SourceError && error.message === REFUSED) return false;
        throw error;
      },
    );
    if (answered)
      throw new SourceError(
        `it answers without the parameter ${name}; --prometheus-url has to name a prom-label-proxy`,
      );
    this.#provenAt = now;
  }

  #sendQuery({ transport, url }: Prometheus, parameters: Readonly<Record<string, string>>): Promise<string> {
    const { origin, pathname } = new URL(url);
    const pairs = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return boundedGet({
      transport,
      clock: this.#clock,
      origin,
      path: `${pathname.replace(/\/$/, '')}/api/v1/query?${pairs.join('&')}`,
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_REPLY_BYTES,
      explain: certificateProblem,
    });
  }
}

/** Gives the text of a reply of the query API. */
type AskPrometheus = (query: string) => Promise<string>;

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

/**
 * The one value of an instant query; undefined if it finds no series. Throws a {@link FigureError} for any other
 * answer.
 */
export function sampledValue(name: string, text: string, now: number): number | undefined {
  const sample = sampleOf(name, text);
  if (sample === undefined) return undefined;
  const [seconds, value] = sample;
  if (typeof seconds !== 'number' || seconds * 1000 > now + MAX_AHEAD_MS)
    throw new FigureError(`${name} answers with a time in the future`);
  return believable(name, typeof value === 'string' ? Number(value) : value);
}

function sampleOf(name: string, text: string): readonly [unknown, unknown] | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new FigureError(`${name} is not answered in JSON`);
  }
  const data = field(answer, 'data');
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

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** What Node's code of a refused certificate means, and what to do. */
const KNOWN: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet; look at the clocks of both sides',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate is for another name; write a name that the certificate carries into --prometheus-url',
};

const UNTRUSTED =
  'no authority that is trusted has signed its certificate; name the PEM of its authority with --prometheus-ca';

const UNTRUSTED_CODES: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
  'CERT_UNTRUSTED',
  'CERT_REJECTED',
  'CERT_REVOKED',
  'CERT_CHAIN_TOO_LONG',
  'PATH_LENGTH_EXCEEDED',
  'INVALID_CA',
  'INVALID_PURPOSE',
]);

/** Why the certificate of Prometheus was refused, with the remedy; undefined where something else went wrong. */
function certificateProblem(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (UNTRUSTED_CODES.has(code)) return UNTRUSTED;
    if (Object.hasOwn(KNOWN, code)) return KNOWN[code];
  }
  return undefined;
}
