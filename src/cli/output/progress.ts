import type { CommandContext } from '../command.ts';
import { printableLine } from './printable.ts';

/** One line on stderr that is replaced as things go on; nothing at all where stderr is no terminal. */
export interface Progress {
  say(text: string): void;
  /** Takes the line away, before a result is shown. */
  clear(): void;
}

/** Progress of one command. */
export function createProgress({ stderr }: CommandContext): Progress {
  if (!stderr.isTTY) return { say() {}, clear() {} };
  return {
    say: (text) => {
      stderr.write(`\r\u001b[2K${printableLine(text)}`);
    },
    clear: () => {
      stderr.write('\r\u001b[2K');
    },
  };
}
