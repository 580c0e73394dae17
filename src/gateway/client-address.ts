import { isIPv6 } from 'node:net';

/** Groups of an IPv6 address that identify a client: each client has its own /64 network. */
const IPV6_NETWORK_GROUPS = 4;

/**
 * Returns the address of the client of a request from its `x-forwarded-for`: the address that the outermost trusted
 * proxy added, or without trusted proxies the address that the gateway's own proxy added. IPv6 addresses of one /64
 * network are one client. Empty without an address.
 */
export function clientAddress(forwardedFor: string | undefined, trustedHops: number): string {
  const addresses = (forwardedFor ?? '').split(',').map((address) => address.trim());
  const address = bare(addresses.at(-1 - trustedHops) ?? addresses[0] ?? '');
  return isIPv6(address) ? networkOf(address) : address;
}

/**
 * Returns the address without a port, since a port would make each connection a separate client, and mapped IPv4 as
 * IPv4.
 */
function bare(address: string): string {
  const host = /^\[([^\]]*)\]/.exec(address)?.[1] ?? address.replace(/^([^:]*):\d+$/, '$1');
  return host.replace(/^::ffff:(?=\d+\.)/i, '');
}

function networkOf(address: string): string {
  const [head = '', tail] = address.split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = tail?.split(':').filter((group) => group !== '') ?? [];
  const missing = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: Math.max(0, missing) }, () => '0'), ...after];
  const network = groups
    .slice(0, IPV6_NETWORK_GROUPS)
    .map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
