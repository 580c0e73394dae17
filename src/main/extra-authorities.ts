import { readFile } from 'node:fs/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { inBackground } from '../lib/background.ts';
import { type Clock, sleep } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import { isCertificate } from '../runtime/kube/undici-transport.ts';

/** The certificates in a text in PEM, or why it is no such text, as the end of a sentence about its file. */
export type Authorities = { readonly certificates: readonly string[] } | { readonly problem: string };

const NO_CERTIFICATE = 'holds no certificate: name a file in PEM, with -----BEGIN CERTIFICATE-----';

/** TLS takes any text for authorities and then trusts nobody, so the text is looked at here. */
export function authoritiesIn(text: string): Authorities {
  const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0) return { problem: NO_CERTIFICATE };
  const damaged = certificates.findIndex((certificate) => !isCertificate(certificate));
  if (damaged >= 0) return { problem: `is damaged: its certificate ${damaged + 1} cannot be parsed` };
  return { certificates };
}

/** As often as this the file is read: it is small, and a mounted Secret changes by a link that no watcher sees. */
const READ_EVERY_MS = 10_000;

export interface ExtraAuthoritiesOptions {
  /** The value of NODE_EXTRA_CA_CERTS. */
  readonly path: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** Makes these the certificates that this process trusts beside Node's own; for all new connections unless given. */
  readonly trust?: (certificates: readonly string[]) => void;
  readonly read?: (path: string) => Promise<string>;
}

/**
 * Node reads the file of NODE_EXTRA_CA_CERTS once. Until the returned function is called this reads it again, and new
 * connections trust what it has then; those that are open, or resume a session, are not judged again. A file that
 * cannot be used is logged once, and what was trusted before stays.
 */
export function followExtraAuthorities(options: ExtraAuthoritiesOptions): () => void {
  const { path, clock, log, trust = trustBesideNode, read = (file) => readFile(file, 'utf8') } = options;
  if (path === undefined || path === '') return () => {};
  const ending = new AbortController();
  let inUse: string | undefined;
  let reported: string | undefined;
  const use = (text: string): string | undefined => {
    const found = authoritiesIn(text);
    if ('problem' in found) return found.problem;
    // The first is what Node has read itself.
    if (inUse !== undefined) {
      trust(found.certificates);
      log.info('Authorities read again', { path, certificates: found.certificates.length });
    }
    inUse = text;
    return undefined;
  };
  const readAgain = async (): Promise<void> => {
    const problem = await read(path).then(
      (text) => (ending.signal.aborted || text === inUse ? undefined : use(text)),
      (error: unknown) => `cannot be read: ${String(error)}`,
    );
    if (problem !== undefined && problem !== reported)
      log.warn('Authorities cannot be used', { path, problem });
    reported = problem;
  };
  const follow = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await readAgain();
      await sleep(clock, READ_EVERY_MS, ending.signal).catch(() => {});
    }
  };
  inBackground({ task: 'authorities' }, follow, (error) =>
    log.error('Authorities are not followed', { error }),
  );
  return () => ending.abort();
}

/** Once set, the default ones hold ours, too: what is Node's own is found before. */
let nodeOwn: readonly string[] | undefined;

function trustBesideNode(certificates: readonly string[]): void {
  const extra = new Set(getCACertificates('extra'));
  nodeOwn ??= getCACertificates('default').filter((certificate) => !extra.has(certificate));
  setDefaultCACertificates([...nodeOwn, ...certificates]);
}
