import { lookup as systemLookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { pipeline, type Readable, type Transform } from 'node:stream';
import { createGunzip, createInflate } from 'node:zlib';
import { buildConnector, type Dispatcher, request as send } from 'undici';
import { createEgress, type ProxySettings } from '../../../lib/egress-proxy.ts';
import { NETWORKS, networkSet } from '../../../lib/networks.ts';
import {
  bodyOf,
  flatHeaders,
  marking,
  type Transport,
  TransportError,
  type TransportRequest,
  type TransportResponse,
} from '../../../lib/transport.ts';
import { BlockedAddress } from '../errors/classify-failure.ts';

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
  /** Connections are direct without it. */
  readonly proxy?: ProxySettings | undefined;
}

/** A transport that can be closed: requests under way end in an error. */
export type MarketplaceTransport = Transport & { close(): Promise<void> };

/**
 * The door to marketplaces: https only outside loopback, no redirects, no private or link-local address
 * unless allowed (checked on the address that is really connected to), certificates verified, gzip and
 * deflate unpacked as they are read. Nothing is retried. Deadline and byte cap are the caller's. A proxy resolves
 * names itself, so behind one the addresses of names are its own affair.
 */
export function createMarketplaceTransport(options: MarketplaceTransportOptions = {}): MarketplaceTransport {
  const rules = createAddressRules(options.allowedNetworks);
  const connectTimeoutMs = options.connectTimeoutMs ?? 10_000;
  const agent = {
    connections: options.connections ?? 8,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: guardedConnector({
      rules,
      timeoutMs: connectTimeoutMs,
      ca: options.ca,
      lookup: options.lookup,
    }),
  };
  const tls = { rejectUnauthorized: true, ...(options.ca !== undefined && { ca: options.ca }) };
  const egress = createEgress({ agent, tls, connectTimeoutMs, proxy: options.proxy });
  const transport: Transport = (request) => exchange({ dispatcher: egress.dispatcher, rules }, request);
  return Object.assign(transport, { close: () => egress.destroy() });
}

interface Connection {
  readonly dispatcher: Dispatcher;
  readonly rules: AddressRules;
}

async function exchange(
  { dispatcher, rules }: Connection,
  request: TransportRequest,
): Promise<TransportResponse> {
  const mark = { sent: false };
  try {
    request.signal?.throwIfAborted();
    const url = URL.parse(request.origin);
    const refusal = url ? rules.refuseOrigin(url) : 'it is no address';
    if (refusal !== undefined) throw new BlockedAddress(refusal);
    const reply = await send(request.origin + request.path, {
      dispatcher: dispatcher.compose(
        (dispatch) => (options, handler) => dispatch(options, marking(handler, mark)),
      ),
      method: request.method,
      headers: { 'accept-encoding': 'gzip, deflate', ...request.headers },
      ...(request.body === undefined ? {} : { body: request.body }),
      ...(request.signal ? { signal: request.signal } : {}),
    });
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
  } catch (cause) {
    throw new TransportError('no reply from the marketplace', { sent: mark.sent, cause });
  }
}

/** How connections are made. */
export interface ConnectorOptions {
  readonly rules: AddressRules;
  readonly timeoutMs: number;
  /** PEM of the authorities to trust instead of the machine's. */
  readonly ca?: string | undefined;
  /** How names are resolved; the machine's own way by default. */
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Connects only if the rules allow: every resolved address is checked before it is tried, so a name cannot
 * lead elsewhere between check and use, and the peer of the socket once more before a byte is written.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { rules, timeoutMs, ca } = options;
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    lookup: guardedLookup(rules, options.lookup ?? systemLookup),
    ...(ca === undefined ? {} : { ca }),
  });
  return (target, callback) => {
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error) return callback(error, null);
      const refusal = rules.refuseAddress(bareHost(target.hostname), socket.remoteAddress ?? '');
      if (refusal === undefined) return callback(null, socket);
      socket.destroy();
      callback(new BlockedAddress(refusal), null);
    });
  };
}

/** Resolves a name to those of its addresses that may be connected to; fails if none is left. */
function guardedLookup(rules: AddressRules, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = Array.isArray(found) ? found : [];
      const refusals = addresses.map(({ address }) => rules.refuseAddress(hostname, address));
      const open = addresses.filter((_, index) => refusals[index] === undefined);
      const first = open[0];
      if (!first) return callback(new BlockedAddress(refusals[0] ?? 'the name has no address'), []);
      return options.all ? callback(null, open) : callback(null, first.address, first.family);
    });
  };
}

const UNPACKERS: ReadonlyMap<string, () => Transform> = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['deflate', createInflate],
]);

/**
 * The body as it was before `content-encoding` (one that we asked for; any other is left as it is). It is
 * unpacked only as fast as it is read, so whoever stops reading at a cap bounds the memory too.
 */
export function unpackBody(body: Readable, contentEncoding: string | undefined): Readable {
  const unpacker = UNPACKERS.get(contentEncoding?.trim().toLowerCase() ?? '');
  if (!unpacker) return body;
  // The reader of the unpacked stream gets the error; the callback only keeps it from being thrown.
  return pipeline(body, unpacker(), () => {});
}

/** Networks behind which no public service stands. */
const NOT_PUBLIC = Object.values(NETWORKS).flat();

/** Which addresses may be connected to. */
export interface AddressRules {
  /** Why a request to this origin must not be made, in a few words; undefined if it may. */
  refuseOrigin(origin: URL): string | undefined;
  /** Why this resolved address of the host must not be connected to; undefined if it may. */
  refuseAddress(host: string, address: string): string | undefined;
}

/**
 * https only outside loopback; loopback only if the origin itself says so; private, link-local and other
 * non-public ranges only if `allowedNetworks` (CIDR) names them.
 */
export function createAddressRules(allowedNetworks: readonly string[] = []): AddressRules {
  const isLoopback = networkSet(NETWORKS.loopback);
  const isNotPublic = networkSet(NOT_PUBLIC);
  const isAllowed = networkSet(allowedNetworks);
  const isLoopbackHost = (host: string) => host === 'localhost' || isLoopback(host);

  const refuseAddress = (host: string, address: string): string | undefined => {
    if (isLoopbackHost(host)) {
      return isLoopback(address) ? undefined : 'a loopback name leads to another machine';
    }
    if (!isNotPublic(address) || isAllowed(address)) return undefined;
    return 'the address is private, link-local or otherwise not public';
  };

  return {
    refuseAddress,
    refuseOrigin(origin) {
      const host = bareHost(origin.hostname);
      if (origin.protocol === 'http:' && !isLoopbackHost(host)) return 'https is required outside loopback';
      if (origin.protocol !== 'http:' && origin.protocol !== 'https:')
        return 'only http and https are spoken';
      return isIP(host) === 0 ? undefined : refuseAddress(host, host);
    },
  };
}

/** A host name as `net` takes it: an IPv6 address without its brackets. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
