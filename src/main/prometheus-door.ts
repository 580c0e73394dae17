import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Config } from '../config/options.ts';
import { ConfigError } from '../config.ts';
import { type ClosableTransport, createTransport } from '../runtime/kube/undici-transport.ts';

/**
 * The way to the Prometheus whose figures decide what is spent: its certificate is verified, against the
 * authorities of `--prometheus-ca` where that is given, else against those that Node knows (with
 * `NODE_EXTRA_CA_CERTS`). The file is read once. Rejects with {@link ConfigError} where it holds no certificate.
 */
export async function openPrometheusDoor({
  prometheusCa,
}: Pick<Config, 'prometheusCa'>): Promise<ClosableTransport> {
  const ca = prometheusCa === undefined ? undefined : await authoritiesIn(prometheusCa);
  return createTransport({ ca, connections: 4, connectTimeoutMs: 3000 });
}

const NO_CERTIFICATE = 'holds no certificate: name a file in PEM, with -----BEGIN CERTIFICATE-----';

/** TLS takes any text for authorities and then trusts nobody, so the text is looked at here. */
async function authoritiesIn(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown error';
    throw refused(path, `cannot be read (${code}): name a file that the operator may read`);
  });
  const blocks = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw refused(path, NO_CERTIFICATE);
  for (const [at, block] of blocks.entries()) {
    if (!isCertificate(block)) throw refused(path, `is damaged: its certificate ${at + 1} cannot be parsed`);
  }
  return text;
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.byteLength > 0;
  } catch {
    return false;
  }
}

function refused(path: string, problem: string): ConfigError {
  return new ConfigError([`--prometheus-ca: ${path} ${problem}`]);
}
