import type { RequestOptions } from 'node:https';
import { rootCertificates } from 'node:tls';
import type { KubeConfig } from '@kubernetes/client-node';
import type { AdminTarget } from './admin-client.ts';
import type { Credential } from './connection.ts';

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}

function credentialOf(options: RequestOptions): Credential | undefined {
  const certificatePem = textOf(options.cert);
  const keyPem = textOf(options.key);
  if (certificatePem !== undefined && keyPem !== undefined) {
    return { type: 'certificate', certificatePem, keyPem };
  }
  const authorization = Object.entries(options.headers ?? {}).find(
    ([name]) => name.toLowerCase() === 'authorization',
  );
  const token = /^Bearer (.+)$/.exec(String(authorization?.[1]))?.[1];
  return token === undefined ? undefined : { type: 'token', token };
}

/** Address, authority and credential of the current context, with exec plugins and files resolved to plain values. */
export async function targetOf(kubeconfig: KubeConfig): Promise<AdminTarget> {
  const cluster = kubeconfig.getCurrentCluster();
  const context = kubeconfig.getCurrentContext();
  if (cluster === null) throw new Error('The kubeconfig has no current context.');
  if (cluster.skipTLSVerify) {
    throw new Error(
      `The context ${context} skips TLS verification; give its cluster a certificate authority.`,
    );
  }
  const options: RequestOptions = {};
  await kubeconfig.applyToHTTPSOptions(options);
  const credential = credentialOf(options);
  if (credential === undefined) {
    throw new Error(`The context ${context} has neither a token nor a client certificate.`);
  }
  return {
    url: cluster.server.replace(/\/$/, ''),
    caPem: textOf(options.ca) ?? rootCertificates.join('\n'),
    credential,
  };
}
