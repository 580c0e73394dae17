import { isIP } from 'node:net';
import { shellQuoted } from '../lib/shell.ts';

/* Addresses that the shell of a machine calls. PURE. */

/** An address in parts, as shell text uses it: `$h` is {@link Place.host} there. */
export interface Place {
  readonly isSecure: boolean;
  readonly hostname: string;
  /** Host, with the port if it is not the default. */
  readonly host: string;
  /** Path in front of all paths, quoted for a shell. */
  readonly prefix: string;
}

const LOOPBACK: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/** Returns the parts of an address that a certificate proves, or that no packet leaves the machine for. */
export function placeOf(url: string): Place | undefined {
  if (!URL.canParse(url)) return undefined;
  const { protocol, hostname, host, pathname } = new URL(url);
  const isSecure = protocol === 'https:';
  if (!isSecure && (protocol !== 'http:' || !LOOPBACK.has(hostname))) return undefined;
  const prefix = pathname.replace(/\/+$/, '');
  return { isSecure, hostname, host, prefix: prefix === '' ? '' : shellQuoted(prefix) };
}

/**
 * Returns the command that sends its input to `$h` by openssl and prints the reply. By itself, openssl verifies neither
 * chain nor name.
 */
export function opensslTo({ hostname, host }: Place): string {
  const hasPort = host !== hostname;
  const address = hostname.replace(/^\[|\]$/g, '');
  const name = hasPort || address !== hostname ? shellQuoted(address) : '$h';
  const verify = `-verify 9 -verify_return_error -verify_${isIP(address) === 0 ? 'hostname' : 'ip'} ${name}`;
  return `timeout 30 openssl s_client -quiet ${verify} -connect $h${hasPort ? '' : ':443'}`;
}
