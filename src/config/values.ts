import { BlockList, isIP } from 'node:net';
import * as z from 'zod';
import { type MicroDollars, parseDollars } from '../lib/money.ts';
import { parseQuantity } from '../lib/quantity.ts';
import { formatDuration, parseDuration } from '../lib/time.ts';
import type { DialPolicy } from '../reach/dial.ts';

/** An address to listen on. `0` disables the server, as in controller-runtime. */
export type BindAddress =
  | { readonly type: 'off' }
  | { readonly type: 'on'; readonly host: string; readonly port: number };

/** A network whose addresses are dialled elsewhere; for simulated marketplaces only. */
export interface AddressMapping {
  readonly network: string;
  readonly prefix: number;
  readonly target: string;
}

/** Returns a schema of durations within bounds, in milliseconds. */
export function durationValue(minMs: number, maxMs: number) {
  return z.string().transform((text, context) => {
    const milliseconds = parseDuration(text);
    if (milliseconds !== undefined && milliseconds >= minMs && milliseconds <= maxMs) return milliseconds;
    const bounds = `between ${formatDuration(minMs)} and ${formatDuration(maxMs)}`;
    context.addIssue({ code: 'custom', message: `write a duration ${bounds}, such as 30s or 1m30s` });
    return z.NEVER;
  });
}

/** Returns a schema of whole numbers within bounds. */
export function wholeNumber(min: number, max: number) {
  return z.string().transform((text, context) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    context.addIssue({ code: 'custom', message: `write a whole number from ${min} to ${max}` });
    return z.NEVER;
  });
}

/** Returns a schema of sizes in MiB within bounds, in bytes. */
export function memoryValue(minMiB: number, maxMiB: number) {
  return z.string().transform((text, context) => {
    const bytes = parseQuantity(text) ?? Number.NaN;
    if (bytes >= minMiB * 2 ** 20 && bytes <= maxMiB * 2 ** 20) return Math.floor(bytes);
    const message = `write a size between ${minMiB}Mi and ${maxMiB}Mi, such as 384Mi`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  });
}

/** A decimal amount in dollars, as micro-dollars. */
export const dollarsValue = z.string().transform((text, context): MicroDollars => {
  const amount = parseDollars(text);
  if (amount !== undefined) return amount;
  context.addIssue({ code: 'custom', message: 'write an amount in dollars such as 25 or 2.50' });
  return z.NEVER;
});

/** `true` or `false`; the bare flag means true. */
export const booleanValue = z.string().transform((text, context) => {
  if (text === 'true' || text === 'false') return text === 'true';
  context.addIssue({ code: 'custom', message: 'write true or false' });
  return z.NEVER;
});

/** The name of a namespace. */
export const namespaceValue = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/,
    'write the name of a namespace: lowercase letters, digits and -',
  );

/** The key of a label. */
export const labelName = z
  .string()
  .max(317)
  .regex(
    /^([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
    'write the key of a label, such as team or example.com/team',
  );

/** `namespace/name` of an EndpointGroup. */
export const groupValue = z
  .string()
  .regex(
    /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\/[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
    'write NAMESPACE/NAME of an EndpointGroup',
  );

function hostAndPort(text: string): { readonly host: string; readonly port: number } | undefined {
  const match = /^(?:\[([0-9a-fA-F:]+)\]|([^:\s[\]]*)):(\d{1,5})$/.exec(text);
  const port = Number(match?.[3]);
  return match && port <= 65_535 ? { host: match[1] ?? match[2] ?? '', port } : undefined;
}

/** `host:port`, `:port`, or `0` to disable. IPv6 hosts are in brackets. */
export const bindAddress = z.string().transform((text, context): BindAddress => {
  if (text === '0') return { type: 'off' };
  const place = hostAndPort(text);
  if (place) return { type: 'on', ...place };
  context.addIssue({ code: 'custom', message: 'write host:port, :port for every address, or 0 for none' });
  return z.NEVER;
});

/** `host:port`, or `:port` for every address. */
export const socketAddress = z.string().transform((text, context) => {
  const place = hostAndPort(text);
  if (place) return place;
  context.addIssue({ code: 'custom', message: 'write host:port, or :port for every address' });
  return z.NEVER;
});

/** Returns true if a URL's host is the local machine, for which plain http is allowed. */
export function isLoopbackHost(hostname: string): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (bare === 'localhost' || bare === '::1') return true;
  return isIP(bare) === 4 && bare.startsWith('127.');
}

/** The origin of a marketplace: https, or http on loopback; no path, query or user. */
export const marketplaceUrl = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const problem = url ? urlProblem(url) : 'write an address such as https://console.vast.ai';
  if (url && problem === undefined) return url.origin;
  context.addIssue({ code: 'custom', message: problem ?? '' });
  return z.NEVER;
});

function urlProblem(url: URL): string | undefined {
  if (url.username || url.password) return 'leave user and password out: keys belong in a Secret';
  if (url.pathname !== '/' || url.search || url.hash)
    return 'write scheme, host and port only, without a path';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol === 'http:' && isLoopbackHost(url.hostname)) return undefined;
  return 'write an https address; plain http is for loopback only';
}

/** The http or https URL of a service; it may have a path, but no query and no user. */
export const httpUrl = z.string().transform((text, context) => {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash;
  if (isPlain && (url.protocol === 'http:' || url.protocol === 'https:')) return url.href;
  context.addIssue({
    code: 'custom',
    message:
      'write an http or https address without user and query, such as http://prometheus.monitoring:9090',
  });
  return z.NEVER;
});

/** An address that machines verify by its certificate; http only on loopback, for machines of a simulator. */
export const machineUrl = httpUrl.refine(
  (text) => text.startsWith('https:') || isLoopbackHost(new URL(text).hostname),
  { error: 'write an https address, such as https://reports.example.com' },
);

/** `203.0.113.0/24=127.0.0.1`: a network and the host to dial instead. */
export const addressMapping = z.string().transform((text, context): AddressMapping => {
  const match = /^([0-9a-fA-F.:]+)\/(\d{1,3})=([0-9a-fA-F.:]+)$/.exec(text);
  const [, network = '', prefixText = '', target = ''] = match ?? [];
  const prefix = Number(prefixText);
  const family = isIP(network);
  if (family !== 0 && isIP(target) !== 0 && prefix <= (family === 4 ? 32 : 128)) {
    return { network, prefix, target };
  }
  context.addIssue({
    code: 'custom',
    message: 'write network/prefix=address, such as 203.0.113.0/24=127.0.0.1',
  });
  return z.NEVER;
});

/** Returns the host to dial for an address: that of the first mapping that covers it, else the address itself. */
export function mapAddress(mappings: readonly AddressMapping[], address: string): string {
  const family = isIP(address);
  if (family === 0) return address;
  for (const { network, prefix, target } of mappings) {
    if (isIP(network) !== family) continue;
    const block = new BlockList();
    block.addSubnet(network, prefix, family === 4 ? 'ipv4' : 'ipv6');
    if (block.check(address, family === 4 ? 'ipv4' : 'ipv6')) return target;
  }
  return address;
}

/** Returns the rules for connections to machines, from the settings of a process. */
export function dialPolicyOf({
  addressMap,
  allowPrivateAddresses,
}: {
  readonly addressMap: readonly AddressMapping[];
  readonly allowPrivateAddresses: boolean;
}): DialPolicy {
  return {
    allowPrivate: allowPrivateAddresses,
    mapAddress: (address) => mapAddress(addressMap, address),
  };
}

/** The way in which queries by authors of objects are limited to their namespace. */
type PrometheusTenancy =
  | { readonly type: 'off' }
  | { readonly type: 'unrestricted' }
  | { readonly type: 'parameter'; readonly name: string };

/** `parameter=namespace`: the query parameter that carries the namespace. */
export const prometheusTenancy = z.string().transform((text, context): PrometheusTenancy => {
  if (text === 'off' || text === 'unrestricted') return { type: text };
  const [, name] = /^parameter=([A-Za-z_][A-Za-z0-9_]{0,62})$/.exec(text) ?? [];
  if (name !== undefined && name !== 'query') return { type: 'parameter', name };
  context.addIssue({
    code: 'custom',
    message: 'write off, unrestricted or parameter=NAME, such as parameter=namespace',
  });
  return z.NEVER;
});
