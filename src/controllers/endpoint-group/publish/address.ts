import { BlockList, isIP } from 'node:net';

const NEVER: readonly (readonly [string, number])[] = [
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['224.0.0.0', 3],
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
];
/** Networks of clusters and of companies: a marketplace must not lead anybody into them. */
const PRIVATE: readonly (readonly [string, number])[] = [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['fc00::', 7],
];

function blockList(networks: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [network, prefix] of networks)
    list.addSubnet(network, prefix, isIP(network) === 6 ? 'ipv6' : 'ipv4');
  return list;
}

const never = blockList(NEVER);
const notPublic = blockList(PRIVATE);

/**
 * Why an address that the marketplace names may be neither published nor asked; undefined where it may. An IPv4
 * address in IPv6 clothes is judged as what it is.
 */
export function addressProblem(
  address: string,
  options: { readonly allowPrivate: boolean },
): string | undefined {
  const version = isIP(address);
  if (version === 0) return 'is no IP address';
  const family = version === 6 ? 'ipv6' : 'ipv4';
  if (family === 'ipv6' && /^::ffff:/i.test(address)) return 'is an IPv4 address written as IPv6';
  if (never.check(address, family)) return 'is a loopback, link-local or multicast address';
  if (!options.allowPrivate && notPublic.check(address, family)) return 'is a private or cluster address';
  return undefined;
}
