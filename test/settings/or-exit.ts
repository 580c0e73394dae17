import { SettingsError } from './reader.ts';

/** What `read` answers; settings that mean nothing are told on stderr without a stack, and the process ends with 2. */
export function settingsOrExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
