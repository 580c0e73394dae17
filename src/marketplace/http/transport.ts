import type { LookupFunction } from 'node:net';
import { Agent, type Dispatcher, request as send } from 'undici';
import {
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../lib/transport.ts';
import { bodyOf, flatHeaders, marking } from '../../lib/undici-reply.ts';
import { type AddressRules, createAddressRules } from './address-rules.ts';
import { guardedConnector } from './guarded-connector.ts';
import { BlockedAddress } from './lost-reply.ts';
import { unpackBody } from './unpack-body.ts';

/** How marketplaces are reached. */
export interface MarketplaceTransportOptions {
  /** Networks (CIDR) outside loopback that may be connected to although they are not public. */
  readonly allowedNetworks?: readonly string[];
  /** Sockets per origin. Default 8. */
  readonly connections?: number;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** PEM of the authorities to trust instead of the machine's. */
  readonly ca?: string;
  /** How names are resolved; the machine's own way by default. */
  readonly lookup?: LookupFunction;
}

/** A transport that can be closed: requests under way end in an error. */
export type MarketplaceTransport = Transport & { close(): Promise<void> };

/**
 * The door to marketplaces: https only outside loopback, no redirects, no private or link-local address
 * unless allowed (checked on the address that is really connected to), certificates verified, gzip and
 * deflate unpacked as they are read. Nothing is retried. Deadline and byte cap are the caller's.
 */
export function createMarketplaceTransport(options: MarketplaceTransportOptions = {}): MarketplaceTransport {
  const rules = createAddressRules(options.allowedNetworks);
  const agent = new Agent({
    connections: options.connections ?? 8,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector({
      rules,
      timeoutMs: options.connectTimeoutMs ?? 10_000,
      ca: options.ca,
      lookup: options.lookup,
    }),
  });
  const transport: Transport = (request) => exchange({ agent, rules }, request);
  return Object.assign(transport, { close: () => agent.destroy() });
}

interface Door {
  readonly agent: Agent;
  readonly rules: AddressRules;
}

async function exchange({ agent, rules }: Door, request: TransportRequest): Promise<TransportResponse> {
  const mark = { sent: false };
  try {
    request.signal?.throwIfAborted();
    refuseForbidden(rules, request.origin);
    const reply = await send(request.origin + request.path, {
      dispatcher: agent.compose(
        (dispatch) => (options, handler) => dispatch(options, marking(handler, mark)),
      ),
      method: request.method,
      headers: { 'accept-encoding': 'gzip, deflate', ...request.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
      ...(request.signal ? { signal: request.signal } : {}),
    });
    return responseOf(reply);
  } catch (cause) {
    throw new TransportError('no reply from the marketplace', { sent: mark.sent, cause });
  }
}

function refuseForbidden(rules: AddressRules, origin: string): void {
  const url = URL.parse(origin);
  const refusal = url ? rules.refuseOrigin(url) : 'it is no address';
  if (refusal !== undefined) throw new BlockedAddress(refusal);
}

function responseOf(reply: Dispatcher.ResponseData): TransportResponse {
  const headers = flatHeaders(reply.headers);
  const body = unpackBody(reply.body, headers['content-encoding']);
  return {
    status: reply.statusCode,
    headers,
    body: bodyOf(body, () => 'the reply broke off'),
    destroy() {
      body.on('error', () => {}).destroy();
      reply.body.on('error', () => {}).destroy();
    },
  };
}
