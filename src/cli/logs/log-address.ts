import { readFile } from 'node:fs/promises';
import type { Credentials } from '../../runtime/kube/credentials.ts';
import type { CommandContext, CommandOption, OptionValues } from '../command.ts';
import { usageError } from '../command-error.ts';
import { textOption } from '../option-values.ts';
import type { LogReader } from './run-log.ts';

/** Options of the address of the operator's logs. */
export const LOG_ADDRESS_OPTIONS: readonly CommandOption[] = [
  {
    flags: '--log-url <url>',
    description: "Address of the operator's logs, https only. Default: GPU_RENTAL_LOG_URL.",
  },
  {
    flags: '--log-ca <file>',
    description: "Certificates that sign that of the operator's logs. Default: GPU_RENTAL_LOG_CA.",
  },
];

/** Address of the operator's logs, and the authority of its certificate. */
export interface LogAddress {
  readonly url: URL;
  /** File with PEM certificates; undefined: the authorities of the system. */
  readonly authority: string | undefined;
}

/**
 * Returns the address of the operator's logs from an option or a variable of the Pod; undefined if neither is set. Throws
 * a usage error for an invalid one: the token of the relay is sent there.
 */
export function logAddress(options: OptionValues, env: CommandContext['env']): LogAddress | undefined {
  const text = textOption(options, '--log-url') ?? (env.GPU_RENTAL_LOG_URL || undefined);
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url?.protocol !== 'https:')
    throw usageError(
      `--log-url: "${text}" is not an address such as https://gpu-rental-operator-logs.gpu-rental-system.svc.`,
    );
  return { url, authority: textOption(options, '--log-ca') ?? (env.GPU_RENTAL_LOG_CA || undefined) };
}

/** Connections to the operator for logs. */
export interface OpenLogs extends Pick<LogReader, 'open'> {
  close(): Promise<void>;
}

/** Opens connections to the operator, which reviews the token of the relay. Rejects if the authority cannot be read. */
export async function openLogs({ url, authority }: LogAddress, credentials: Credentials): Promise<OpenLogs> {
  const { createTransport } = await import('../../runtime/kube/undici-transport.ts');
  const ca = authority === undefined ? undefined : await readFile(authority, 'utf8');
  const transport = createTransport({ connections: 1, ca });
  return {
    open: async (path, { accept, signal }) => {
      const headers = { accept, ...(await credentials.headers()) };
      const base = url.pathname.replace(/\/$/, '');
      return transport({ method: 'GET', origin: url.origin, path: `${base}${path}`, headers, signal });
    },
    close: () => transport.close(),
  };
}
