import { create } from '@bufbuild/protobuf';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import { inBackground } from '../lib/background.ts';
import type { Logger } from '../lib/logger.ts';
import type { GrpcService } from './grpc-server.ts';
import {
  type HeaderMap,
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from './protocol/envoy/core_pb.js';
import {
  ExternalProcessor,
  type ProcessingRequest,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from './protocol/envoy/ext_proc_pb.js';

/** The head of a request that Envoy asks about. */
export interface RequestHead {
  /** By name in lower case; pseudo headers as `:path`. */
  readonly headers: ReadonlyMap<string, string>;
  /** Aborted when the client leaves, or Envoy gives the request up. */
  readonly left: AbortSignal;
}

/** What Envoy is to do with it. */
export type Answer =
  | { readonly type: 'route'; readonly headers: Readonly<Record<string, string>> }
  | {
      readonly type: 'reply';
      readonly status: number;
      readonly headers: Readonly<Record<string, string>>;
      readonly body: string;
    };

type Stream = ServerDuplexStream<ProcessingRequest, ProcessingResponse>;

/**
 * The ext_proc service of Envoy for request headers: a stream per request, answered when `onRequest` resolves, which may
 * take as long as the `message_timeout` of Envoy. A rejection becomes the status 500.
 */
export function extProcService(
  onRequest: (request: RequestHead) => Promise<Answer>,
  log: Logger,
): GrpcService {
  const process = (stream: Stream): void => {
    const left = new AbortController();
    const leave = (): void => left.abort();
    stream.on('cancelled', leave);
    stream.on('error', leave);
    stream.on('end', () => {
      leave();
      stream.end();
    });
    stream.on('data', ({ request }: ProcessingRequest) => {
      if (request.case !== 'requestHeaders') return;
      const headers = headersOf(request.value.headers);
      inBackground(
        { task: 'request' },
        async () => {
          const answer = await onRequest({ headers, left: left.signal });
          if (!left.signal.aborted) stream.write(responseOf(answer));
        },
        (error) => {
          log.error('A request could not be decided', { error });
          if (!left.signal.aborted) stream.write(responseOf(BROKEN));
        },
      );
    });
  };
  return { service: ExternalProcessor, handlers: { Process: process } };
}

const BROKEN: Answer = { type: 'reply', status: 500, headers: {}, body: '' };

function headersOf(map: HeaderMap | undefined): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  for (const { key, value, rawValue } of map?.headers ?? [])
    headers.set(key, rawValue.length > 0 ? Buffer.from(rawValue).toString('utf8') : value);
  return headers;
}

function responseOf(answer: Answer): ProcessingResponse {
  const headers = Object.entries(answer.headers).map(([name, value]) => headerOf(name, value));
  if (answer.type === 'route') {
    const response = { headerMutation: { setHeaders: headers }, clearRouteCache: true };
    return create(ProcessingResponseSchema, { response: { case: 'requestHeaders', value: { response } } });
  }
  return create(ProcessingResponseSchema, {
    response: {
      case: 'immediateResponse',
      value: {
        status: { code: answer.status },
        headers: { setHeaders: headers },
        body: Buffer.from(answer.body),
        details: 'picker',
      },
    },
  });
}

function headerOf(key: string, value: string): HeaderValueOption {
  return create(HeaderValueOptionSchema, {
    header: { key, rawValue: Buffer.from(value) },
    appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
  });
}
