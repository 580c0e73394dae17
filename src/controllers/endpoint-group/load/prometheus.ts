import type { EndpointGroup } from '../../../api/v1alpha1/endpoint-group.ts';
import type { LoadSource } from '../../../api/v1alpha1/load-source.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Transport } from '../../../lib/transport.ts';
import { boundedGet, MAX_REPLY_BYTES } from './get.ts';
import { believable, FigureError, groupRecord, type LoadRecord, MAX_AHEAD_MS, SourceError } from './state.ts';

/**
 * Prometheus for queries of groups. Its transport verifies its certificate, since its figures decide what the
 * operator spends.
 */
export interface Prometheus {
  readonly url: string;
  readonly transport: Transport;
  /** Scope of queries of groups, whose authors see the resulting number. */
  readonly tenancy:
    | { readonly type: 'off' }
    | { readonly type: 'unrestricted' }
    | { readonly type: 'parameter'; readonly name: string };
}

const TIMEOUT_MS = 3000;
/** Time for which a proxy counts as proven after it refused a query without a namespace. */
const PROVEN_MS = 600_000;
/** Message of `boundedGet` for the refusal of a prom-label-proxy. */
const REFUSED = 'HTTP 400';

export class PrometheusReader {
  readonly #prometheus: Prometheus | undefined;
  readonly #clock: Clock;
  #provenAt = Number.NEGATIVE_INFINITY;

  constructor(prometheus: Prometheus | undefined, clock: Clock) {
    this.#prometheus = prometheus;
    this.#clock = clock;
  }

  /**
   * Resolves with the load of a group. Rejects with a {@link SourceError} if it cannot send the queries, and with a
   * {@link FigureError} if a reply is no load.
   */
  async read({ metadata, spec }: EndpointGroup): Promise<LoadRecord> {
    const prometheus = this.#prometheus;
    const queries = spec.load.prometheus;
    if (!prometheus || !queries) throw new SourceError('the operator runs without --prometheus-url');
    const { tenancy } = prometheus;
    if (tenancy.type === 'off')
      throw new SourceError(
        'queries of groups are disabled; an administrator enables them with --prometheus-tenancy',
      );
    const scope = tenancy.type === 'parameter' ? { [tenancy.name]: metadata.namespace ?? '' } : undefined;
    if (tenancy.type === 'parameter') await this.#proveProxy(prometheus, tenancy.name);
    const send = (query: string) => this.#sendQuery(prometheus, { query, ...scope });
    return prometheusRecord(queries, send, this.#clock.now());
  }

  /**
   * Verifies that the server refuses a query without the namespace. Prometheus itself would ignore the parameter and
   * read every namespace. Rejects with a {@link SourceError} otherwise.
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
        `answered a query without the parameter ${name}; --prometheus-url must name a prom-label-proxy`,
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

/** Sends a query and resolves with the text of the reply. */
type SendQuery = (query: string) => Promise<string>;

type Queries = NonNullable<LoadSource['prometheus']>;

/** Sends the queries of a group in parallel. Rejects with a {@link SourceError} or a {@link FigureError}. */
export async function prometheusRecord(queries: Queries, send: SendQuery, now: number): Promise<LoadRecord> {
  const { loadQuery, queueQuery, rejectedQuery } = queries;
  const value = async (name: string, query: string | undefined): Promise<number | undefined> =>
    query === undefined ? 0 : sampledValue(name, await send(query), now);
  const [load, waiting, rejected] = await Promise.all([
    value('loadQuery', loadQuery),
    value('queueQuery', queueQuery),
    value('rejectedQuery', rejectedQuery),
  ]);
  // A gateway that has never queued has no series of its queue. Without a load series the query is wrong.
  if (load === undefined) throw new SourceError('loadQuery returns no series');
  return groupRecord(load + (rejected ?? 0), waiting ?? 0);
}

/**
 * Returns the value of an instant query; undefined without a series. Throws a {@link FigureError} for any other
 * reply.
 */
export function sampledValue(name: string, text: string, now: number): number | undefined {
  const sample = sampleOf(name, text);
  if (sample === undefined) return undefined;
  const [seconds, value] = sample;
  if (typeof seconds !== 'number' || seconds * 1000 > now + MAX_AHEAD_MS)
    throw new FigureError(`${name} returns a time in the future`);
  return believable(name, typeof value === 'string' ? Number(value) : value);
}

function sampleOf(name: string, text: string): readonly [unknown, unknown] | undefined {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new FigureError(`the reply to ${name} is not JSON`);
  }
  const data = field(answer, 'data');
  const result = field(data, 'result');
  if (!Array.isArray(result)) throw new FigureError(`${name} does not return a vector or a number`);
  if (field(data, 'resultType') === 'scalar') return [result[0], result[1]];
  if (field(data, 'resultType') !== 'vector')
    throw new FigureError(`${name} does not return a vector or a number`);
  if (result.length > 1)
    throw new FigureError(
      `${name} returns ${result.length} series; aggregate them to one, such as with sum(…)`,
    );
  const value = result.length === 0 ? undefined : field(result[0], 'value');
  return Array.isArray(value) ? [value[0], value[1]] : undefined;
}

function field(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined;
}

/** Messages with the fix, by Node's code of a refused certificate. */
const KNOWN: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'the certificate has expired; renew it',
  CERT_NOT_YET_VALID: 'the certificate is not valid yet; check the clocks on both sides',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'the certificate is for another name; set --prometheus-url to a name in the certificate',
};

const UNTRUSTED =
  'no trusted authority signed the certificate; pass the PEM of its authority with --prometheus-ca';

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

/** Returns the reason why the certificate was refused, with the fix; undefined for another failure. */
function certificateProblem(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (UNTRUSTED_CODES.has(code)) return UNTRUSTED;
    if (Object.hasOwn(KNOWN, code)) return KNOWN[code];
  }
  return undefined;
}
