import { create } from '@bufbuild/protobuf';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';
import type { ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import {
  type AccessLogCommon,
  AccessLogType,
  type HTTPAccessLogEntry,
} from '../../proto/gen/envoy/access_log_pb.js';
import {
  AccessLogService,
  type StreamAccessLogsMessage,
  type StreamAccessLogsResponse,
  StreamAccessLogsResponseSchema,
} from '../../proto/gen/envoy/access_log_service_pb.js';
import type { Address } from '../../proto/gen/envoy/core_pb.js';
import { bracketedHost } from '../lib/host-port.ts';
import type { Connection } from './client-connections.ts';
import type { GrpcService } from './grpc-server.ts';
import { METADATA, NOTES } from './request-notes.ts';
import { EVENTS_KEY, TOKENS_KEY } from './response-filter.ts';

/** A finished request in Envoy's access log. */
export interface EndedRequest {
  /** Id that the picker assigned; undefined if the request ended before Envoy had the answer. */
  readonly id: string | undefined;
  /** The `x-request-id` of Envoy, or of the client if Envoy trusts it. */
  readonly requestId: string;
  /** `ip:port` of the worker that was tried last; undefined if none was reached. */
  readonly upstream: string | undefined;
  /** Status; 0 if the client disconnected before there was one. */
  readonly status: number;
  readonly attempts: number;
  readonly durationMs: number;
  /** Milliseconds from its arrival to the first byte of the response. */
  readonly firstByteMs: number | undefined;
  /** Usage in its response; undefined if none was read. */
  readonly usage: ReadUsage | undefined;
}

export interface ReadUsage {
  /** Tokens of request and response, as the worker reported. */
  readonly tokens: number | undefined;
  /** Events of a stream whose worker reported no tokens. */
  readonly events: number | undefined;
}

/** A running request. */
export interface LastingRequest {
  /** Id that the picker assigned; undefined before. */
  readonly id: string | undefined;
  /** True if its body has not arrived and no response has begun. */
  readonly isArriving: boolean;
}

type Stream = ServerReadableStream<StreamAccessLogsMessage, StreamAccessLogsResponse>;

/** Handlers of entries in Envoy's access log. */
export interface AccessLogHandlers {
  readonly onEnd: (request: EndedRequest) => void;
  /** Called for each running request at intervals, until it ends. */
  readonly onProgress: (request: LastingRequest) => void;
  /** Called when a client's connection closes. */
  readonly onClose: (connection: Connection) => void;
}

/** Returns the access-log service of Envoy, the only exact source of the ends of requests and connections. */
export function accessLogService({ onEnd, onProgress, onClose }: AccessLogHandlers): GrpcService {
  const read = (stream: Stream, answer: sendUnaryData<StreamAccessLogsResponse>): void => {
    stream.on('data', ({ logEntries }: StreamAccessLogsMessage) => {
      if (logEntries.case === 'httpLogs')
        for (const entry of logEntries.value.logEntry) {
          const isLasting = entry.commonProperties?.accessLogType === AccessLogType.DownstreamPeriodic;
          if (isLasting) onProgress(progressOf(entry));
          else onEnd(endOf(entry));
        }
      if (logEntries.case === 'tcpLogs')
        for (const { commonProperties } of logEntries.value.logEntry) {
          const place = placeOf(commonProperties?.downstreamRemoteAddress);
          const start = secondsOf(commonProperties?.startTime);
          if (place !== undefined && start !== undefined) onClose({ place, start });
        }
    });
    stream.on('error', () => {});
    stream.on('end', () => answer(null, create(StreamAccessLogsResponseSchema)));
  };
  return { service: AccessLogService, handlers: { StreamAccessLogs: read } };
}

function progressOf({ commonProperties }: HTTPAccessLogEntry): LastingRequest {
  const { timeToLastRxByte, timeToFirstDownstreamTxByte } = commonProperties ?? {};
  const isArriving = timeToLastRxByte === undefined && timeToFirstDownstreamTxByte === undefined;
  return { id: idOf(commonProperties), isArriving };
}

function idOf(properties: AccessLogCommon | undefined): string | undefined {
  const id = properties?.metadata?.filterMetadata[METADATA]?.[NOTES.id];
  return typeof id === 'string' ? id : undefined;
}

function endOf({ commonProperties, request, response }: HTTPAccessLogEntry): EndedRequest {
  const notes = commonProperties?.metadata?.filterMetadata[METADATA];
  return {
    id: idOf(commonProperties),
    requestId: request?.requestId ?? '',
    upstream: placeOf(commonProperties?.upstreamRemoteAddress),
    status: response?.responseCode ?? 0,
    attempts: commonProperties?.upstreamRequestAttemptCount ?? 0,
    durationMs: millisecondsOf(commonProperties?.duration) ?? 0,
    firstByteMs: millisecondsOf(commonProperties?.timeToFirstDownstreamTxByte),
    usage: usageOf(notes),
  };
}

/** Returns the usage in the metadata. A worker may report anything: an invalid number counts as missing. */
function usageOf(metadata: Readonly<Record<string, unknown>> | undefined): ReadUsage | undefined {
  const tokens = countOf(metadata?.[TOKENS_KEY]);
  const events = countOf(metadata?.[EVENTS_KEY]);
  return tokens === undefined && events === undefined ? undefined : { tokens, events };
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.round(value), MAX_COUNT) : undefined;
}

const MAX_COUNT = 1e9;

/** Returns `ip:port`. */
function placeOf(remote: Address | undefined): string | undefined {
  if (remote?.address.case !== 'socketAddress') return undefined;
  const { address, portSpecifier } = remote.address.value;
  return `${bracketedHost(address)}:${portSpecifier.value}`;
}

/** Returns the seconds since the epoch with nine decimals. */
function secondsOf(time: Timestamp | undefined): string | undefined {
  return time && `${time.seconds}.${String(time.nanos).padStart(9, '0')}`;
}

function millisecondsOf(duration: Duration | undefined): number | undefined {
  return duration && Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}
