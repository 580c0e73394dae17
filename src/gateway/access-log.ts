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
import type { Connection } from './client-connections.ts';
import type { GrpcService } from './grpc-server.ts';
import { METADATA, NOTES } from './request-notes.ts';
import { EVENTS_KEY, TOKENS_KEY } from './response-filter.ts';

/** How a request ended, as Envoy logs it. */
export interface EndedRequest {
  /** Id that the picker gave it; undefined if it ended before Envoy had the answer. */
  readonly id: string | undefined;
  /** The `x-request-id` of Envoy, or of the client where Envoy trusts it. */
  readonly requestId: string;
  /** `ip:port` of the worker that was tried last; undefined where none was reached. */
  readonly upstream: string | undefined;
  /** 0 where the client left before there was a status. */
  readonly status: number;
  readonly attempts: number;
  readonly durationMs: number;
  /** From its arrival to the first byte of the response. */
  readonly firstByteMs: number | undefined;
  /** What was read in its response; undefined where nothing was. */
  readonly usage: ReadUsage | undefined;
}

export interface ReadUsage {
  /** Of request and response, as the worker said. */
  readonly tokens: number | undefined;
  /** Of a stream whose worker did not say. */
  readonly events: number | undefined;
}

/** A request that has not ended. */
export interface LastingRequest {
  /** Id that the picker gave it; undefined before. */
  readonly id: string | undefined;
  /** Its body has not arrived, and no response has begun. */
  readonly isArriving: boolean;
}

type Stream = ServerReadableStream<StreamAccessLogsMessage, StreamAccessLogsResponse>;

/** What Envoy logs. */
export interface AccessLogHandlers {
  readonly onEnd: (request: EndedRequest) => void;
  /** Of each request from time to time, until it ends. */
  readonly onProgress: (request: LastingRequest) => void;
  /** A connection of a client is closed. */
  readonly onClose: (connection: Connection) => void;
}

/** The access-log service of Envoy: the only exact source of the ends of requests and of connections. */
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

/** A worker may say anything: a number that is none is not said. */
function usageOf(metadata: Readonly<Record<string, unknown>> | undefined): ReadUsage | undefined {
  const tokens = countOf(metadata?.[TOKENS_KEY]);
  const events = countOf(metadata?.[EVENTS_KEY]);
  return tokens === undefined && events === undefined ? undefined : { tokens, events };
}

function countOf(value: unknown): number | undefined {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.round(value), MAX_COUNT) : undefined;
}

const MAX_COUNT = 1e9;

/** `ip:port`. */
function placeOf(remote: Address | undefined): string | undefined {
  if (remote?.address.case !== 'socketAddress') return undefined;
  const { address, portSpecifier } = remote.address.value;
  return `${address.includes(':') ? `[${address}]` : address}:${portSpecifier.value}`;
}

/** Seconds since the epoch with nine decimals. */
function secondsOf(time: Timestamp | undefined): string | undefined {
  return time && `${time.seconds}.${String(time.nanos).padStart(9, '0')}`;
}

function millisecondsOf(duration: Duration | undefined): number | undefined {
  return duration && Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}
