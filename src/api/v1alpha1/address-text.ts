import { hostAndPort, readHostAndPort } from '../../lib/host-port.ts';

/** A port of a container and its public address. */
export interface ReachedPort {
  readonly containerPort: number;
  readonly protocol: 'TCP' | 'UDP';
  readonly publicPort: number;
  readonly name?: string | undefined;
}

/** Returns `22=203.0.113.7:40022`, `http:8080=203.0.113.7:40080`, `53/UDP=203.0.113.7:40053`. */
export function portText(
  { containerPort, protocol, publicPort, name }: ReachedPort,
  address: string,
): string {
  const inside = `${containerPort}${protocol === 'UDP' ? '/UDP' : ''}`;
  return `${name === undefined ? '' : `${name}:`}${inside}=${hostAndPort(address, publicPort)}`;
}

/** Returns the port of a text from {@link portText}; undefined for any other text. */
export function readPortText(
  text: unknown,
): { readonly port: ReachedPort; readonly address: string } | undefined {
  const match = typeof text === 'string' ? /^(?:([^:=]+):)?(\d{1,5})(\/UDP)?=(.+)$/.exec(text) : null;
  const at = readHostAndPort(match?.[4]);
  if (!match || !at) return undefined;
  const port = {
    containerPort: Number(match[2]),
    protocol: match[3] === undefined ? ('TCP' as const) : ('UDP' as const),
    publicPort: at.port,
    ...(match[1] !== undefined && { name: match[1] }),
  };
  return { port, address: at.host };
}
