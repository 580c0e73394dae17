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

/** Options of the transport to marketplaces. */
export interface MarketplaceTransportOptions {
  /** Networks (CIDR) outside loopback that may be connected to although they are not public. */
  readonly allowedNetworks?: readonly string[];
  /** Sockets per origin. Default 8. */
  readonly connections?: number;
  /** Default 10,000. */
  readonly connectTimeoutMs?: number;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string;
  /** Resolves names; by default like the system. */
  readonly lookup?: LookupFunction;
  /** Proxy of the connections; without it they are direct. */
  readonly proxy?: ProxySettings | undefined;
}

/** A transport that can be closed: running requests then fail. */
export type MarketplaceTransport = Transport & { close(): Promise<void> };

/**
 * Creates the transport to marketplaces. It allows https only outside loopback, no redirects, and no private or
 * link-local address unless configured (it checks the connected address itself). It verifies certificates and unpacks
 * gzip and deflate. It retries nothing. Deadline and byte limit belong to the caller. A proxy resolves names itself, so
 * the addresses behind a proxy are not checked.
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

/** Options of connections. */
export interface ConnectorOptions {
  readonly rules: AddressRules;
  readonly timeoutMs: number;
  /** PEM of the authorities to trust instead of the system's. */
  readonly ca?: string | undefined;
  /** Resolves names; by default like the system. */
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Connects only if the rules allow it. It checks every resolved address before use, so that a name cannot change
 * between check and use, and the peer of the socket again before the first byte.
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

/** Resolves a name to its allowed addresses; fails if there is none. */
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
 * Returns the body before `content-encoding`, if the encoding was requested; other encodings stay. It unpacks only as
 * fast as its reader reads, so a reader's limit also bounds the memory.
 */
export function unpackBody(body: Readable, contentEncoding: string | undefined): Readable {
  const unpacker = UNPACKERS.get(contentEncoding?.trim().toLowerCase() ?? '');
  if (!unpacker) return body;
  // The reader of the unpacked stream gets the error; the callback only prevents it from being thrown.
  return pipeline(body, unpacker(), () => {});
}

/** Networks that contain no public service. */
const NOT_PUBLIC = Object.values(NETWORKS).flat();

/** Rules for addresses. */
export interface AddressRules {
  /** Returns the reason why a request to this origin is refused, in a few words; undefined if it is allowed. */
  refuseOrigin(origin: URL): string | undefined;
  /**
   * Returns the reason why a connection to this resolved address of the host is refused; undefined if it is allowed.
   */
  refuseAddress(host: string, address: string): string | undefined;
}

/**
 * Creates the rules: https only outside loopback; loopback only if the origin itself names it; private, link-local and
 * other non-public ranges only if `allowedNetworks` (CIDR) contains them.
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
        return 'only http and https are supported';
      return isIP(host) === 0 ? undefined : refuseAddress(host, host);
    },
  };
}

/** Returns a host name in the form of `net`: an IPv6 address without brackets. */
export function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
}
