/** Values of a log line in addition to its constant message. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * A log whose message is constant and whose values are fields
 * (kubernetes-sigs/controller-runtime:TMP-LOGGING.md). Never give it a secret: wrap one in `Secret`.
 */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to each line. */
  child(fields: LogFields): Logger;
}

/** Drops every line. */
export const silentLogger: Logger = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => silentLogger,
};
