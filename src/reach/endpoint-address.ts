import { isIP } from 'node:net';
import { type AddressPolicy, machineAddressProblem } from '../lib/networks.ts';

/** Address of an EndpointSlice, or the reason why no slice may contain it. */
type EndpointAddress =
  | { readonly address: string; readonly addressType: 'IPv4' | 'IPv6' }
  | { readonly problem: string };

/**
 * Returns the address of a machine for an EndpointSlice. A slice contains no host name, since the API server rejects
 * it, and no address that {@link machineAddressProblem} refuses.
 */
export function endpointAddress(address: string, policy: AddressPolicy): EndpointAddress {
  const problem = machineAddressProblem(address, policy);
  return problem === undefined
    ? { address, addressType: isIP(address) === 6 ? 'IPv6' : 'IPv4' }
    : { problem };
}
