import { parseTrace, type Trace, TraceError } from '../../replay/trace.ts';
import { usageError } from '../command-error.ts';

/** Returns the trace of a file. Throws a usage error that names the line if it is invalid. */
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
