import * as z from 'zod';
import type { Secret } from '../../../lib/secret.ts';
import type { CallOptions } from '../../../market/call-options.ts';
import { MarketplaceError } from '../../../market/errors.ts';
import type { EndpointClass } from '../../../market/pacing.ts';
import type { ErrorArea } from '../errors/error-codes.ts';
import { looseBoolean, looseText } from '../scalars.ts';
import type { RowsOf } from './reply-body.ts';

/** A value of a query: text unchanged, anything else as JSON text; undefined is left out. */
export type QueryValues = Readonly<Record<string, unknown>>;

/** A call of the interface, as data. */
export interface Call<Schema extends z.ZodType> {
  /** Name of the call in this program's words, e.g. `rent an offer`: for errors and logs. */
  readonly operation: string;
  readonly endpointClass: EndpointClass;
  readonly area: ErrorArea;
  /** A read may be repeated; a write never is. */
  readonly effect: 'read' | 'write';
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the base address, with its final slash if the service has one. */
  readonly path: string;
  readonly query?: QueryValues;
  readonly body?: unknown;
  readonly reply: Schema;
  /** Another key than the client's own; null: none. */
  readonly credential?: Secret | null;
  /** Another base address than the client's own. */
  readonly base?: BaseUrl;
  readonly bounds?: CallOptions | undefined;
}

/** A parsed reply. */
export interface Answer<T> {
  readonly value: T;
  /** Epoch milliseconds of the reply's `Date`, on the service's clock. */
  readonly answeredAt: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** A reply that contains a list. */
export interface ListAnswer<T, Row> extends Answer<T> {
  readonly rows: readonly Row[];
}

/** Sends calls. Every failure is a MarketplaceError. */
export interface Requester {
  send<Schema extends z.ZodType>(call: Call<Schema>): Promise<Answer<z.infer<Schema>>>;
  /**
   * Sends a call whose reply has many rows. They are parsed one by one; `reply` contains the empty list. Rejects like
   * `send`.
   */
  sendList<Schema extends z.ZodType, Row>(
    call: Call<Schema>,
    of: RowsOf<Row>,
  ): Promise<ListAnswer<z.infer<Schema>, Row>>;
}

/**
 * Returns the key for one request at the moment of sending. Throws a TransportError with `sent: false` if no key may be
 * used for it.
 */
export type KeySource = (call: Pick<Call<z.ZodType>, 'effect' | 'endpointClass' | 'method'>) => Secret;

/** The part of a good reply that common listeners need. */
export interface GoodReply {
  readonly area: ErrorArea;
  readonly effect: 'read' | 'write';
  readonly headers: Readonly<Record<string, string>>;
}

/** Reply of a change that only reports its result. */
export const changeReply = z
  .object({ success: looseBoolean, msg: looseText })
  // Some services answer a bare string, a list or nothing.
  .catch({ success: undefined, msg: undefined });

/** The answer to a change. */
export interface ChangeAnswer {
  /** Epoch milliseconds of the reply's `Date`, on the service's clock. */
  readonly answeredAt: number | undefined;
  /** Text of the service, only for a person at the command line. */
  readonly message: string | undefined;
}

/** A change as a call, without the parts that all changes share. */
export type Change = Omit<Call<z.ZodType>, 'effect' | 'reply'>;

/**
 * Sends a write whose reply only reports its result. It is sent at most once. Rejects with a MarketplaceError, whose
 * `outcome` tells if it may have taken effect.
 */
export async function sendChange(requester: Requester, change: Change): Promise<ChangeAnswer> {
  const { value, answeredAt } = await requester.send({ ...change, effect: 'write', reply: changeReply });
  return { answeredAt, message: value.msg };
}

/** Base address of a client's requests. */
export interface BaseUrl {
  /** Scheme, host and port. */
  readonly origin: string;
  /** Path before every call's own, without a final slash; usually empty. */
  readonly prefix: string;
}

/** Parses a base address. Throws for one with credentials, query or fragment, and for one that is no http address. */
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
