import type { Secret } from './secret.ts';

/** Certificates of a caller: its own, and the authorities of the only server that it accepts. */
export interface MutualTls {
  /** Certificate of the caller, as PEM. */
  readonly certificate: string;
  readonly key: Secret;
  /** Authorities of the server's certificate, as PEM. */
  readonly authorities: string;
  /** DNS name that the server's certificate must prove. */
  readonly serverName: string;
}

/** TLS settings to call a worker, or the reason why it cannot be called now, as a sentence. */
export type CallerTls =
  | { readonly type: 'tls'; readonly tls: MutualTls }
  | { readonly type: 'problem'; readonly detail: string };

/**
 * Returns the options of a TLS connection by their names in Node. The connection is refused unless the server proves
 * `serverName`.
 */
export function nodeTlsOptions({ certificate, key, authorities, serverName }: MutualTls) {
  return {
    ...{ cert: certificate, key: key.reveal(), ca: authorities, servername: serverName },
    rejectUnauthorized: true as const,
  };
}

/** OpenSSL's codes of errors of the server's certificate (`X509_V_ERR_*`, in Node's spelling). */
const UNPROVEN =
  /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_.*|CA_.*|.*_CERT_IN_CHAIN|.*_SELF_SIGNED_CERT|UNABLE_TO_.*|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)$/;
const REFUSED = /^ERR_SSL_(TLSV1|TLSV13|SSLV3)_ALERT_/;
const NO_TLS = /^(EPROTO|ERR_SSL_.*)$/;

/** Returns the reason of a failed TLS connection, as the end of a sentence; undefined if TLS is not the cause. */
export function tlsProblemOf(error: unknown): string | undefined {
  const code = codeOf(error);
  if (UNPROVEN.test(code)) return 'does not prove that it is this worker of the group';
  if (REFUSED.test(code)) return 'refuses the certificate of the gateway';
  if (NO_TLS.test(code)) return 'does not speak TLS';
  return undefined;
}

/** Returns the code of the first cause that has one. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as { readonly code?: unknown };
  const own = typeof code === 'string' ? code : '';
  return UNPROVEN.test(own) || NO_TLS.test(own) || error.cause === undefined ? own : codeOf(error.cause);
}
