import { usageError } from '../failures/command-error.ts';
import { parseTrace, type Trace, TraceError } from '../replay/trace.ts';

/** The trace of a file. One that cannot be replayed is a usage error that names the line. */
export function readTrace(text: string, file: string): Trace {
  try {
    return parseTrace(text);
  } catch (error) {
    if (!(error instanceof TraceError)) throw error;
    throw usageError(
      `${file}:${error.line}: ${error.message}.`,
      `${error.remedy.slice(0, 1).toUpperCase()}${error.remedy.slice(1)}.`,
    );
  }
}
