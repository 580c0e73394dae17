import type { Secret } from './secret.ts';

/** How a caller proves itself by TLS, and whom alone it takes for the other end. */
export interface MutualTls {
  /** Of the caller, as PEM. */
  readonly certificate: string;
  readonly key: Secret;
  /** Who signs for the other end, as PEM. */
  readonly authorities: string;
  /** The DNS name that the other end has to prove. */
  readonly serverName: string;
}

/** How a worker that is reached by TLS is called, or why nobody can call it now: a sentence for people. */
export type CallerTls =
  | { readonly type: 'tls'; readonly tls: MutualTls }
  | { readonly type: 'problem'; readonly detail: string };

/** The options of a TLS connection by Node's names. It is refused unless the other end proves `serverName`. */
export function nodeTlsOptions({ certificate, key, authorities, serverName }: MutualTls) {
  return {
    ...{ cert: certificate, key: key.reveal(), ca: authorities, servername: serverName },
    rejectUnauthorized: true as const,
  };
}

/** OpenSSL's names of what is wrong with the certificate of the other end (`X509_V_ERR_*`, as Node words them). */
const UNPROVEN =
  /^(ERR_TLS_CERT_ALTNAME_INVALID|CERT_.*|CA_.*|.*_CERT_IN_CHAIN|.*_SELF_SIGNED_CERT|UNABLE_TO_.*|INVALID_(CA|PURPOSE)|HOSTNAME_MISMATCH)$/;
const REFUSED = /^ERR_SSL_(TLSV1|TLSV13|SSLV3)_ALERT_/;
const NO_TLS = /^(EPROTO|ERR_SSL_.*)$/;

/** Why a connection by TLS failed, as the end of a sentence; undefined where TLS is not the cause. */
export function tlsProblemOf(error: unknown): string | undefined {
  const code = codeOf(error);
  if (UNPROVEN.test(code)) return 'does not prove that it is this worker of the group';
  if (REFUSED.test(code)) return 'refuses the certificate of the gateway';
  if (NO_TLS.test(code)) return 'does not speak TLS';
  return undefined;
}

/** Of the first cause that has one. */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const { code } = error as { readonly code?: unknown };
  const own = typeof code === 'string' ? code : '';
  return UNPROVEN.test(own) || NO_TLS.test(own) || error.cause === undefined ? own : codeOf(error.cause);
}
