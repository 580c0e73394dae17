import { type LogMark, markOf, textAfter } from '../../reach/log-lines.ts';

/** End of the log of a machine. */
export interface ReadLog {
  readonly id: string;
  readonly text: string;
}

export interface LogPollOptions {
  /** Reads the log of the present machine; undefined if there is none to read. */
  readonly read: () => Promise<ReadLog | undefined>;
  /** Returns the part of the first text of each machine to write. */
  readonly first: (text: string) => string;
  /** Writes text of the log, unchanged. */
  readonly write: (text: string) => void;
  /** Prints a line for people. */
  readonly print: (line: string) => void;
}

/**
 * Returns a function that reads the log once, and writes the text that the reads before did not contain. It rejects if
 * the read fails; a later call goes on from the last text.
 */
export function logPoll({ read, first, write, print }: LogPollOptions): () => Promise<void> {
  let seen: { readonly id: string; readonly mark: LogMark } | undefined;
  return async () => {
    const log = await read();
    if (log === undefined) return;
    const { id, text } = log;
    const isSame = seen?.id === id;
    if (seen && !isSame) print(`Machine ${id} runs now.`);
    const { added, isCut } =
      seen && isSame ? textAfter(seen.mark, text) : { added: first(text), isCut: false };
    if (isCut) print('More lines were written than could be read; some are missing here.');
    if (added !== '') write(added);
    seen = { id, mark: markOf(text) };
  };
}
