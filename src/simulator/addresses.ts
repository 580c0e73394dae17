import { isIP } from 'node:net';
import type { NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** Where to listen. Port 0 is any free one. */
export interface SocketPlace {
  /** An IP address of this machine; `0.0.0.0` and `::` are all of them. */
  readonly host: string;
  readonly port: number;
}

/** Where the control endpoints are asked for. What is left out is decided by `controlPlace`. */
export interface ControlRequest {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/**
 * Where `/sim/` is served: `shared` is beside the marketplace, on the same port. They take no key, so whatever
 * address the marketplace has, they stay on the loopback address unless another is asked for.
 */
export function controlPlace(market: SocketPlace, requested: ControlRequest = {}): 'shared' | SocketPlace {
  const loopback = isIP(market.host) === 6 ? '::1' : '127.0.0.1';
  const host = requested.host ?? (isLoopback(market.host) ? market.host : loopback);
  const { port } = requested;
  const isSamePort = port === undefined || (port !== 0 && port === market.port);
  return host === market.host && isSamePort ? 'shared' : { host, port: port ?? 0 };
}

/** Whether only this machine reaches an address to listen on. */
export function isLoopback(host: string): boolean {
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * The address under which others reach what listens on `host`: itself, or for all addresses the first that leads to
 * this machine from outside, or else loopback. In the form that a URL has: IPv6 in brackets.
 */
export function reachableHost(host: string, interfaces: Interfaces): string {
  if (host === '0.0.0.0') return outerAddress(interfaces, ['IPv4']) ?? '127.0.0.1';
  if (host === '::') return inUrl(outerAddress(interfaces, ['IPv4', 'IPv6']) ?? '::1');
  return inUrl(host);
}

const inUrl = (host: string): string => (isIP(host) === 6 ? `[${host}]` : host);

function outerAddress(
  interfaces: Interfaces,
  families: readonly NetworkInterfaceInfo['family'][],
): string | undefined {
  const outer = Object.values(interfaces)
    .flatMap((addresses) => addresses ?? [])
    // A link-local IPv6 address leads nowhere without the name of an interface, which no URL can hold.
    .filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address));
  const found = families.map((family) => outer.find((address) => address.family === family));
  return found.find((address) => address !== undefined)?.address;
}
