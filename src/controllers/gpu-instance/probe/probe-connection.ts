import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, isIP } from 'node:net';
import { isPublishable } from '../publish/children.ts';
import type { Prober, ProbeTarget } from './probe.ts';

/**
 * Probes over the network. `mapAddress` says where to connect for an address that the marketplace names; an
 * address that nobody mapped must be one that may be published, since the marketplace is not to be trusted.
 */
export function createProber(mapAddress: (address: string) => string): Prober {
  return async (target) => {
    const host = mapAddress(target.host);
    if (host === target.host && isIP(host) !== 0 && !isPublishable(host)) {
      return 'The marketplace names an address that must not be connected to.';
    }
    return target.http ? askHttp({ ...target, host }, target.http) : askTcp({ ...target, host });
  };
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
      timeout: timeoutMs,
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
    request.once('timeout', () => request.destroy());
    request.once('error', () => resolve('The probe did not answer.'));
    request.end();
  });
}
