import { lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { type AddressRules, bareHost } from './address-rules.ts';
import { BlockedAddress } from './lost-reply.ts';

/** How connections are made. */
export interface ConnectorOptions {
  readonly rules: AddressRules;
  readonly timeoutMs: number;
  /** PEM of the authorities to trust instead of the machine's. */
  readonly ca?: string | undefined;
  /** How names are resolved; the machine's own way by default. */
  readonly lookup?: LookupFunction | undefined;
}

/**
 * Connects only where the rules allow: every resolved address is checked before it is tried, so a name cannot
 * lead elsewhere between check and use, and the peer of the socket once more before a byte is written.
 */
export function guardedConnector(options: ConnectorOptions): buildConnector.connector {
  const { rules, timeoutMs, ca } = options;
  const connect = buildConnector({
    timeout: timeoutMs,
    allowH2: false,
    rejectUnauthorized: true,
    lookup: guardedLookup(rules, options.lookup ?? systemLookup),
    ...(ca === undefined ? {} : { ca }),
  });
  return (target, callback) => {
    connect(target, (...result) => {
      const [error, socket] = result;
      if (error) return callback(error, null);
      const refusal = rules.refuseAddress(bareHost(target.hostname), socket.remoteAddress ?? '');
      if (refusal === undefined) return callback(null, socket);
      socket.destroy();
      callback(new BlockedAddress(refusal), null);
    });
  };
}

/** Resolves a name to those of its addresses that may be connected to; fails where none is left. */
function guardedLookup(rules: AddressRules, lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return callback(error, []);
      const addresses = Array.isArray(found) ? found : [];
      const refusals = addresses.map(({ address }) => rules.refuseAddress(hostname, address));
      const open = addresses.filter((_, index) => refusals[index] === undefined);
      const first = open[0];
      if (!first) return callback(new BlockedAddress(refusals[0] ?? 'the name has no address'), []);
      return options.all ? callback(null, open) : callback(null, first.address, first.family);
    });
  };
}
