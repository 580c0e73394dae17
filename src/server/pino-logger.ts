import { type LoggerOptions, pino } from 'pino';
import type { LogFields, Logger } from '../lib/logger.ts';

export interface LogOptions {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  /** Where the lines go; stdout where absent. */
  readonly destination?: { write(line: string): void };
}

/**
 * JSON lines with time, level name and a constant message. Secrets are safe in fields since their class prints
 * `[redacted]`; headers are cut out in case an error carries its request.
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

/** The class by the name that an error gives itself: that of its constructor is a letter or two in the minified program. */
function serializedError(error: Error): object {
  const serialized = pino.stdSerializers.err(error);
  const isNamed = error instanceof Error && error.name !== 'Error' && error.name !== '';
  return isNamed ? { ...serialized, type: error.name } : serialized;
}

/** Line by line: what is kept for later would, with nobody left to read it, be tried for ever when the process ends. */
function stdout(): ReturnType<typeof pino.destination> {
  return pino.destination({ dest: process.stdout.fd, sync: true });
}

/** What is used of pino, so that children fit the same adapter. */
interface PinoLike {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
  child(fields: object): PinoLike;
}

/** A child costs as much as a line, and most passes of a controller log nothing: it is made when its first line is. */
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
