import { lookup } from 'node:dns/promises';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { AddressMapping } from '../config-values.ts';
import { mapAddress } from '../config-values.ts';
import type { Prober, ProbeTarget } from '../controllers/gpu-instance/probe.ts';
import { createAddressRules } from '../marketplace/address-rules.ts';

export interface ProberOptions {
  /** Where to dial for addresses of simulated machines. */
  readonly addressMap: readonly AddressMapping[];
  /** Networks that may be called although they are not public. */
  readonly allowedNetworks: readonly string[];
}

/**
 * Asks machines as the kubelet would: a TCP connection, or an HTTP answer from 200 to 399 whatever the
 * certificate. Addresses come from a marketplace, so those that are not public are refused unless mapped.
 */
export function createMachineProber({ addressMap, allowedNetworks }: ProberOptions): Prober {
  const rules = createAddressRules(allowedNetworks);
  const dialled = async (host: string): Promise<string> => {
    const { address } = await lookup(host);
    const mapped = mapAddress(addressMap, address);
    if (mapped !== address) return mapped;
    // A name of this machine is no licence here: the marketplace chose it.
    const refusal =
      rules.refuseAddress(address, address) ?? (isLoopback(address) ? 'it is this machine' : undefined);
    if (refusal !== undefined) throw new Error(`the address may not be called: ${refusal}`);
    return address;
  };
  return async (target) => {
    try {
      const address = await dialled(target.host);
      await (target.http ? askHttp(address, target, target.http) : askTcp(address, target));
      return undefined;
    } catch (error) {
      return error instanceof Error ? reasonOf(error) : 'it failed';
    }
  };
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1';
}

/** Our own words for the errors that people meet; no text of the other side. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was reset',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ENOTFOUND: 'the name has no address',
  ETIMEDOUT: 'it timed out',
};

function reasonOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code === undefined ? error.message : (REASONS[code] ?? `it failed with ${code}`);
}

function askTcp(host: string, { port, timeoutMs }: ProbeTarget): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port });
    const end = (finish: () => void) => {
      socket.destroy();
      finish();
    };
    socket.setTimeout(timeoutMs, () => end(() => reject(timedOut(timeoutMs))));
    socket.once('error', (error) => end(() => reject(error)));
    socket.once('connect', () => end(resolve));
  });
}

function askHttp(
  host: string,
  { port, timeoutMs, host: named }: ProbeTarget,
  http: NonNullable<ProbeTarget['http']>,
): Promise<void> {
  const headers = Object.fromEntries(http.headers.map(({ name, value }) => [name.toLowerCase(), value]));
  const options = {
    host,
    port,
    path: http.path,
    headers: { host: `${named}:${port}`, 'user-agent': 'gpu-rental-operator-probe', ...headers },
    agent: false,
  };
  const secure = { ...options, rejectUnauthorized: false, servername: '' };
  return new Promise((resolve, reject) => {
    const request: ClientRequest = http.scheme === 'HTTPS' ? httpsRequest(secure) : httpRequest(options);
    const deadline = setTimeout(() => request.destroy(timedOut(timeoutMs)), timeoutMs);
    request.once('close', () => clearTimeout(deadline));
    request.once('error', reject);
    request.once('response', (response) => {
      response.destroy();
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 400) resolve();
      else reject(new Error(`it answered ${status}`));
    });
    request.end();
  });
}

function timedOut(timeoutMs: number): Error {
  return new Error(`it did not answer within ${timeoutMs} ms`);
}
