import { SettingsError } from './reader.ts';

/** Returns the result of `read`. Prints invalid settings on stderr without a stack, and exits with 2. */
export function settingsOrExit<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  }
}
