import { BlockList, isIP } from 'node:net';

/** Networks with a special purpose, as CIDR (IANA special-purpose registries, and RFC 3879 for `fec0::/10`). */
export const NETWORKS = {
  /** Addresses of the local machine. */
  loopback: ['127.0.0.0/8', '::1/128'],
  /** Networks without a machine to rent: this network, link-local with its metadata services, multicast, reserved. */
  unusable: [
    '0.0.0.0/8',
    '169.254.0.0/16',
    '192.0.0.0/24',
    '198.18.0.0/15',
    '224.0.0.0/4',
    '240.0.0.0/4',
    '::/128',
    '100::/64',
    'fe80::/10',
    'fec0::/10',
    'ff00::/8',
    // Azure's metadata service uses this one address, which is otherwise public.
    '168.63.129.16/32',
  ],
  /** IPv6 networks that embed an IPv4 address: compatible, NAT64, Teredo, 6to4. */
  embedding: ['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '2001::/32', '2002::/16'],
  /** Private networks of clusters and companies. */
  private: ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
  /** Networks for documentation, also used by simulators; no machine has such an address. */
  documentation: ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.0/24', '2001:db8::/32', '3fff::/20'],
} as const satisfies Record<string, readonly string[]>;

/** True if an address is in one of the networks; an invalid address is in none. */
export type NetworkSet = (address: string) => boolean;

/**
 * Returns the set of the addresses of these networks (CIDR). A mapped IPv4 address (`::ffff:10.0.0.1`) counts as IPv4.
 * Throws a `TypeError` that names a malformed network.
 */
export function networkSet(networks: readonly string[]): NetworkSet {
  const set = new BlockList();
  for (const network of networks) {
    const slash = network.lastIndexOf('/');
    const address = network.slice(0, slash);
    const bits = network.slice(slash + 1);
    const family = familyOf(address);
    if (!family || !/^\d{1,3}$/.test(bits)) {
      throw new TypeError(`"${network}" is no network: write it as address/bits, e.g. 10.0.0.0/8`);
    }
    set.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    const family = familyOf(address);
    return family !== undefined && set.check(address, family);
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 6 ? 'ipv6' : 'ipv4';
}

/** Settings of the operator for addresses of machines. */
export interface AddressPolicy {
  /** Value of `--allow-private-addresses`. */
  readonly allowPrivate: boolean;
}

/** Contains every plain IPv4 address as well: a set does not distinguish the two forms. */
const mapped = networkSet(['::ffff:0:0/96']);

const NEVER: readonly { readonly has: NetworkSet; readonly problem: string }[] = [
  { has: (address) => isIP(address) === 0 || address.includes('%'), problem: 'is no IP address' },
  { has: (address) => isIP(address) === 6 && mapped(address), problem: 'is an IPv4 address written as IPv6' },
  {
    has: networkSet([...NETWORKS.loopback, ...NETWORKS.unusable]),
    problem: 'is a loopback, link-local, multicast or reserved address',
  },
  { has: networkSet(NETWORKS.embedding), problem: 'is an IPv6 address that leads to an IPv4 address' },
];

const isPrivate = networkSet(NETWORKS.private);

/**
 * Returns the reason why a machine's address may not be published, called or probed; undefined if it may. The
 * operator does not trust a marketplace with addresses of the operator's own network. Networks for documentation are
 * allowed: only simulated machines have such addresses.
 */
export function machineAddressProblem(address: string, { allowPrivate }: AddressPolicy): string | undefined {
  const refused = NEVER.find(({ has }) => has(address));
  if (refused) return refused.problem;
  if (allowPrivate || !isPrivate(address)) return undefined;
  return 'is a private or cluster address';
}
