import * as z from 'zod';
import type { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { EndpointClass } from '../../../market/pacing.ts';
import type { ErrorArea } from '../errors/error-codes.ts';
import { looseBoolean, looseText } from '../scalars.ts';
import type { RowsOf } from './reply-body.ts';

/** A value of a query: text as it is, anything else as JSON text; undefined is left out. */
export type QueryValues = Readonly<Record<string, unknown>>;

/** One call of the interface, as data. */
export interface Call<Schema extends z.ZodType> {
  /** Our own words for it, e.g. `rent an offer`: in errors and logs. */
  readonly operation: string;
  readonly endpointClass: EndpointClass;
  readonly area: ErrorArea;
  /** A read may be repeated; a write never is. */
  readonly effect: 'read' | 'write';
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base address, with its final slash if the service spells one. */
  readonly path: string;
  readonly query?: QueryValues;
  readonly body?: unknown;
  readonly reply: Schema;
  /** Another key than the client's own; null: none at all. */
  readonly credential?: Secret | null;
  /** Another base address than the client's own. */
  readonly base?: BaseUrl;
  readonly bounds?: CallOptions | undefined;
}

/** A reply that was understood. */
export interface Answer<T> {
  readonly value: T;
  /** Epoch milliseconds of the reply's `Date`, on the service's clock. */
  readonly answeredAt: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A reply that holds a list. */
export interface ListAnswer<T, Row> extends Answer<T> {
  readonly rows: readonly Row[];
}

/** Sends calls. Every failure is a MarketplaceError. */
export interface Requester {
  send<Schema extends z.ZodType>(call: Call<Schema>): Promise<Answer<z.infer<Schema>>>;
  /** As `send`, for a reply whose rows are many: they are read one by one, and `reply` sees the list empty. */
  sendList<Schema extends z.ZodType, Row>(
    call: Call<Schema>,
    of: RowsOf<Row>,
  ): Promise<ListAnswer<z.infer<Schema>, Row>>;
}

/**
 * Yields the key for one request at the moment of sending. Throws a TransportError with `sent: false` if no key may
 * be used for it.
 */
export type KeySource = (call: Pick<Call<z.ZodType>, 'effect' | 'endpointClass' | 'method'>) => Secret;

/** A good reply, as far as those who listen to all of them need it. */
export interface GoodReply {
  readonly area: ErrorArea;
  readonly effect: 'read' | 'write';
  readonly headers: Readonly<Record<string, string>>;
}

/** Reply of a change that says nothing but how it went. */
export const changeReply = z
  .object({ success: looseBoolean, msg: looseText })
  // Some services answer a bare string, a list or nothing.
  .catch({ success: undefined, msg: undefined });

/** What every change answers. */
export interface ChangeAnswer {
  /** Epoch milliseconds of the reply's `Date`, on the service's clock. */
  readonly answeredAt: number | undefined;
  /** The service's own text, for a person at the command line only. */
  readonly message: string | undefined;
}

/** A change as a call, without what is the same for all changes. */
export type Change = Omit<Call<z.ZodType>, 'effect' | 'reply'>;

/**
 * Sends a write whose reply says nothing but how it went. It leaves at most once. Rejects with a MarketplaceError,
 * whose `outcome` says whether it may have taken effect.
 */
export async function sendChange(requester: Requester, change: Change): Promise<ChangeAnswer> {
  const { value, answeredAt } = await requester.send({ ...change, effect: 'write', reply: changeReply });
  return { answeredAt, message: value.msg };
}

/** Where requests of a client go. */
export interface BaseUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path before every call's own, without a final slash; mostly empty. */
  readonly prefix: string;
}

/** Takes a base address apart. Rejects one with credentials, query or fragment, or that is no http address. */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.parse(text);
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:'))
    throw invalid('must be an http or https address');
  if (url.username || url.password) throw invalid('must not contain a user name or password');
  if (url.search || url.hash) throw invalid('must not contain a query or a fragment');
  return { origin: url.origin, prefix: url.pathname.replace(/\/+$/, '') };
}

function invalid(why: string): MarketplaceError {
  return new MarketplaceError(`the marketplace's base URL ${why}, e.g. https://console.example`, {
    kind: 'invalidRequest',
    outcome: 'refused',
  });
}
