import { create } from '@bufbuild/protobuf';
import type { Duration } from '@bufbuild/protobuf/wkt';
import type { ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import { REQUEST_ID_HEADER } from './envoy-config.ts';
import type { GrpcService } from './grpc-server.ts';
import type { HTTPAccessLogEntry } from './protocol/envoy/access_log_pb.js';
import {
  AccessLogService,
  type StreamAccessLogsMessage,
  type StreamAccessLogsResponse,
  StreamAccessLogsResponseSchema,
} from './protocol/envoy/access_log_service_pb.js';
import type { Address } from './protocol/envoy/core_pb.js';
import { EVENTS_KEY, METADATA, TOKENS_KEY } from './usage-filter.ts';

/** How a request ended, as Envoy logs it. */
export interface EndedRequest {
  /** The id that the picker gave it. Where it ended before Envoy had the answer, what the client sent, if anything. */
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

type Stream = ServerReadableStream<StreamAccessLogsMessage, StreamAccessLogsResponse>;

/** The access-log service of Envoy: the only exact source of the end of a request. */
export function accessLogService(onEnd: (request: EndedRequest) => void): GrpcService {
  const read = (stream: Stream, answer: sendUnaryData<StreamAccessLogsResponse>): void => {
    stream.on('data', ({ logEntries }: StreamAccessLogsMessage) => {
      if (logEntries.case !== 'httpLogs') return;
      for (const entry of logEntries.value.logEntry) {
        onEnd(endOf(entry));
      }
    });
    stream.on('error', () => {});
    stream.on('end', () => answer(null, create(StreamAccessLogsResponseSchema)));
  };
  return { service: AccessLogService, handlers: { StreamAccessLogs: read } };
}

function endOf({ commonProperties, request, response }: HTTPAccessLogEntry): EndedRequest {
  return {
    id: request?.requestHeaders[REQUEST_ID_HEADER] || undefined,
    requestId: request?.requestId ?? '',
    upstream: upstreamOf(commonProperties?.upstreamRemoteAddress),
    status: response?.responseCode ?? 0,
    attempts: commonProperties?.upstreamRequestAttemptCount ?? 0,
    durationMs: millisecondsOf(commonProperties?.duration) ?? 0,
    firstByteMs: millisecondsOf(commonProperties?.timeToFirstDownstreamTxByte),
    usage: usageOf(commonProperties?.metadata?.filterMetadata[METADATA]),
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

function upstreamOf(remote: Address | undefined): string | undefined {
  if (remote?.address.case !== 'socketAddress') return undefined;
  const { address, portSpecifier } = remote.address.value;
  return `${address.includes(':') ? `[${address}]` : address}:${portSpecifier.value}`;
}

function millisecondsOf(duration: Duration | undefined): number | undefined {
  return duration && Number(duration.seconds) * 1000 + duration.nanos / 1e6;
}
