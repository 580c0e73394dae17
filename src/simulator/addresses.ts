import { isIP } from 'node:net';
import type { NetworkInterfaceInfo, networkInterfaces } from 'node:os';

/** A socket to listen on. Port 0 is any free one. */
export interface SocketPlace {
  /** A local IP address; `0.0.0.0` and `::` are all of them. */
  readonly host: string;
  readonly port: number;
}

/** Requested address of the control endpoints. `controlPlace` fills in missing parts. */
export interface ControlRequest {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/**
 * Returns the address of `/sim/`: `shared` means on the marketplace's port. The control endpoints need no key, so
 * they listen on the loopback address unless another is requested, whatever the marketplace's address is.
 */
export function controlPlace(market: SocketPlace, requested: ControlRequest = {}): 'shared' | SocketPlace {
  const loopback = isIP(market.host) === 6 ? '::1' : '127.0.0.1';
  const host = requested.host ?? (isLoopback(market.host) ? market.host : loopback);
  const { port } = requested;
  const isSamePort = port === undefined || (port !== 0 && port === market.port);
  return host === market.host && isSamePort ? 'shared' : { host, port: port ?? 0 };
}

/** Returns true if only the local machine reaches a listen address. */
export function isLoopback(host: string): boolean {
  return host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

type Interfaces = ReturnType<typeof networkInterfaces>;

/**
 * Returns the address under which others reach a server on `host`: the host itself or, for all addresses, the first
 * external one of this machine, else loopback. IPv6 is in brackets, as in a URL.
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
    // A link-local IPv6 address is useless without the name of an interface, which no URL can contain.
    .filter(({ internal, address }) => !internal && !/^fe[89ab]/i.test(address));
  const found = families.map((family) => outer.find((address) => address.family === family));
  return found.find((address) => address !== undefined)?.address;
}
