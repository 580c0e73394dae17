import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { type AddressPolicy, machineAddressProblem } from '../../../lib/machine-address.ts';
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

/** Ready when a GET answers 200 to 399; a certificate is not verified, as with the kubelet. */
function askHttp(
  { host, port, timeoutMs }: ProbeTarget,
  { scheme, path, headers }: NonNullable<ProbeTarget['http']>,
): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = {
      host,
      port,
      path,
      headers: Object.fromEntries(headers.map(({ name, value }) => [name, value])),
      signal: AbortSignal.timeout(timeoutMs),
      agent: false as const,
    };
    const request =
      scheme === 'HTTPS' ? httpsRequest({ ...options, rejectUnauthorized: false }) : httpRequest(options);
    request.once('response', (response) => {
      const { statusCode = 0 } = response;
      response.destroy();
      resolve(statusCode >= 200 && statusCode < 400 ? undefined : `The probe answered ${statusCode}.`);
    });
    request.once('error', () => resolve('The probe did not answer.'));
    request.end();
  });
}
