import {
  request as httpRequest,
  type OutgoingHttpHeaders,
  validateHeaderName,
  validateHeaderValue,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { CONNECTION_HEADERS } from '../../../api/v1alpha1/core.ts';
import { type AddressPolicy, machineAddressProblem } from '../../../lib/networks.ts';
import type { Prober, ProbeTarget } from './probe.ts';

export interface ProberOptions extends AddressPolicy {
  /** Where to connect for an address: elsewhere only for simulated machines. */
  readonly mapAddress: (address: string) => string;
  /** Every address behind a name. Rejects where there is none. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/**
 * Probes over the network. The marketplace names where a machine is and the tenant what is asked there, and neither is
 * to be trusted: a name is resolved first, every address is judged by {@link machineAddressProblem}, and the address
 * that was judged is the one that is dialled, so that a name cannot lead elsewhere meanwhile.
 */
export function createProber(options: ProberOptions): Prober {
  return async (target) => {
    const found = await dialled(target, options);
    if ('problem' in found) return found.problem;
    const { host } = found;
    return target.http ? askHttp({ ...target, host }, target.http) : askTcp({ ...target, host });
  };
}

type Dialled = { readonly host: string } | { readonly problem: string };

/** The first address of the machine that may be connected to; an address that is mapped is a simulated machine. */
async function dialled(target: ProbeTarget, options: ProberOptions): Promise<Dialled> {
  const addresses = await addressesOf(target, options);
  let problem = 'The name of the machine leads to no address.';
  for (const address of addresses) {
    const host = options.mapAddress(address);
    if (host !== address) return { host };
    const refused = machineAddressProblem(address, options);
    if (refused === undefined) return { host };
    problem = `The machine is not probed: its address ${refused}.`;
  }
  return { problem };
}

async function addressesOf(
  { host, timeoutMs }: ProbeTarget,
  { resolve }: ProberOptions,
): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  const late = Promise.withResolvers<readonly string[]>();
  AbortSignal.timeout(timeoutMs).addEventListener('abort', () => late.resolve([]), { once: true });
  return Promise.race([resolve(host).catch(() => []), late.promise]);
}

/** Ready when a connection opens. */
function askTcp({ host, port, timeoutMs }: ProbeTarget): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const end = (problem: string | undefined) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end(undefined));
    socket.once('timeout', () => end('The connection did not open in time.'));
    socket.once('error', () => end('The connection was refused.'));
  });
}

/**
 * Ready when a GET answers 200 to 399; a certificate is not verified, as with the kubelet. Rejects, before anything is
 * sent, if Node refuses the path or a header.
 */
function askHttp(
  { host, port, timeoutMs }: ProbeTarget,
  { scheme, path, headers }: NonNullable<ProbeTarget['http']>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      host,
      port,
      path,
      headers: sendable(headers),
      signal: AbortSignal.timeout(timeoutMs),
      agent: false as const,
    };
    const request =
      scheme === 'HTTPS' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    const end = (problem: string | undefined) => {
      resolve(problem);
      request.destroy();
    };
    // What is destroyed may still fail: an error without a listener would be thrown at the process.
    request.on('error', () => end('The probe did not answer.'));
    request.once('close', () => end('The probe did not answer.'));
    request.once('response', ({ statusCode = 0 }) => end(judged(statusCode)));
    // Without a listener Node destroys the connection and tells nothing.
    request.once('upgrade', ({ statusCode = 101 }, socket) => {
      socket.destroy();
      end(judged(statusCode));
    });
    request.end();
  });
}

/** Throws if Node does not send one of them, or if it would change where the message ends. */
function sendable(
  headers: readonly { readonly name: string; readonly value: string }[],
): OutgoingHttpHeaders {
  for (const { name, value } of headers) {
    validateHeaderName(name);
    validateHeaderValue(name, value);
    if (CONNECTION_HEADERS.includes(name.toLowerCase()))
      throw new Error(`header ${name} belongs to the connection`);
  }
  return Object.fromEntries(headers.map(({ name, value }) => [name, value]));
}

function judged(statusCode: number): string | undefined {
  return statusCode >= 200 && statusCode < 400 ? undefined : `The probe answered ${statusCode}.`;
}
