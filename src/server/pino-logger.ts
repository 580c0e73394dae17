import { type LoggerOptions, pino } from 'pino';
import type { LogFields, Logger } from '../lib/logger.ts';

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Destination of the lines; stdout by default. */
  readonly destination?: { write(line: string): void };
}

/**
 * Creates a logger of JSON lines with time, level name and a constant message. Secrets are safe in fields: their class
 * prints `[redacted]`. Headers are removed in case an error carries its request.
 */
export function createLogger(options: LogOptions): Logger {
  const settings: LoggerOptions = {
    level: options.level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: { paths: ['headers', '*.headers', 'authorization', '*.authorization'], censor: '[redacted]' },
    serializers: { error: serializedError },
  };
  const root: PinoLike = pino(settings, options.destination ?? stdout());
  return adapt(() => root);
}

/**
 * Returns the fields of an error with the name that it sets itself: the minified program shortens the names of
 * constructors.
 */
function serializedError(error: Error): object {
  const serialized = pino.stdSerializers.err(error);
  const isNamed = error instanceof Error && error.name !== 'Error' && error.name !== '';
  return isNamed ? { ...serialized, type: error.name } : serialized;
}

/**
 * Returns stdout with synchronous writes. If the reader is gone at the end of the process, pino would otherwise retry
 * a buffered line for ever.
 */
function stdout(): ReturnType<typeof pino.destination> {
  return pino.destination({ dest: process.stdout.fd, sync: true });
}

/** The part of pino in use; children fit the same adapter. */
interface PinoLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): PinoLike;
}

/**
 * Adapts pino. Creating a child logger costs as much as a line, and most reconciles log nothing, so it is created
 * with its first line.
 */
function adapt(lineOf: () => PinoLike): Logger {
  let known: PinoLike | undefined;
  const line = () => {
    known ??= lineOf();
    return known;
  };
  const at = (level: 'debug' | 'info' | 'warn' | 'error') => (message: string, fields?: LogFields) =>
    line()[level](fields ?? {}, message);
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => adapt(() => line().child(fields)),
  };
}
