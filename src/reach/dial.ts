import { type AddressPolicy, machineAddressProblem } from '../lib/networks.ts';

/** Rules for connections to machines, from the settings of a process. */
export interface DialPolicy extends AddressPolicy {
  /** Connection address for a published one. The two differ for simulated machines only. */
  readonly mapAddress: (address: string) => string;
}

/** Address to connect to, or the reason why a process does not connect. */
export type Dialed = { readonly host: string } | { readonly problem: string };

/**
 * Returns the address to connect to for an address from a marketplace. A mapped address belongs to a simulated
 * machine. {@link machineAddressProblem} must allow any other, since a marketplace could name a host of the
 * operator's own network.
 */
export function dial(address: string, policy: DialPolicy): Dialed {
  const host = policy.mapAddress(address);
  const problem = host === address ? machineAddressProblem(address, policy) : undefined;
  return problem === undefined ? { host } : { problem };
}
