import { isJsonObject } from '../lib/json.ts';

/** Path of the logs of machines at the operator: `/log/NAMESPACE/NAME`. */
export const LOG_PATH = '/log';

/** Media type of a stream with one JSON object for each line; any other client gets plain text. */
export const LOG_EVENTS_TYPE = 'application/x-ndjson';

/** Reasons of the operator's own lines and of the end of a stream. */
export const logReasons = [
  // Notes.
  'Waiting',
  'Replaced',
  'SlowReads',
  'TextMissing',
  'TooSlow',
  'NotReadable',
  // Ends.
  'Complete',
  'Deleted',
  'NotLeading',
  'Forbidden',
] as const;
export type LogReason = (typeof logReasons)[number];

/** Part of the stream of a log. */
export type LogEvent =
  /** Text of the container, unchanged. `position`: its end, for `since` of a later request; not in every event. */
  | { readonly type: 'text'; readonly text: string; readonly position?: string }
  /** A message of the operator. */
  | { readonly type: 'note'; readonly reason: LogReason; readonly message: string }
  /** The last part. A stream without it broke off: follow again from the last position. */
  | { readonly type: 'end'; readonly reason: LogReason; readonly message: string };

/** Returns the event as one line of JSON. */
export function logEventLine(event: LogEvent): string {
  return `${JSON.stringify(event)}\n`;
}

/** Returns the event of a line; undefined for a line of another form, also of a newer operator. */
export function parseLogEvent(line: string): LogEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (!isJsonObject(value)) return undefined;
  const { type, text, position, reason, message } = value;
  if (type === 'text' && typeof text === 'string')
    return { type, text, ...(typeof position === 'string' && { position }) };
  const known = logReasons.find((each) => each === reason);
  if ((type === 'note' || type === 'end') && known !== undefined && typeof message === 'string')
    return { type, reason: known, message };
  return undefined;
}

/** Request for the log of the machine of a GpuInstance. */
export interface LogRequest {
  readonly namespace: string;
  readonly name: string;
  /** Position of an earlier event. Without it the stream begins with the text that the operator holds. */
  readonly since?: string | undefined;
  /** True: until the GpuInstance needs no machine any more. False: what is there now. */
  readonly follow: boolean;
}

/** An event, encoded once for all its receivers. */
export interface LogPiece {
  readonly event: LogEvent;
  /** Returns the line of {@link logEventLine}. */
  json(): Buffer;
  /** Returns the text of the container, or the operator's message as a line of its own. */
  plain(): Buffer;
}

/** Receives the pieces of a stream; one with an `end` is the last. */
export type LogSink = (piece: LogPiece) => void;

/** Refusal of a request before its stream begins. */
export interface LogRefusal {
  /** 410: the log ended with its run; `message` names the Secret of the log. */
  readonly status: 404 | 409 | 410 | 429 | 501 | 503;
  /** Message with the remedy. */
  readonly message: string;
}

/** Opens the stream of a log. `close` ends it early; it may be called at any time. */
export type OpenLog = (
  request: LogRequest,
  sink: LogSink,
) =>
  | { readonly type: 'refused'; readonly refusal: LogRefusal }
  | { readonly type: 'open'; readonly close: () => void };

/** Returns the piece of an event. */
export function logPiece(event: LogEvent): LogPiece {
  let json: Buffer | undefined;
  let plain: Buffer | undefined;
  return {
    event,
    json: () => (json ??= Buffer.from(logEventLine(event))),
    plain: () => (plain ??= Buffer.from(event.type === 'text' ? event.text : plainNote(event.message))),
  };
}

function plainNote(message: string): string {
  return `--- gpu-rent: ${message}\n`;
}
