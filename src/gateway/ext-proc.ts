import { create } from '@bufbuild/protobuf';
import type { ServerDuplexStream } from '@grpc/grpc-js';
import {
  type HeaderMap,
  type HeaderValueOption,
  HeaderValueOption_HeaderAppendAction,
  HeaderValueOptionSchema,
} from '../../proto/gen/envoy/core_pb.js';
import {
  ProcessingMode_BodySendMode,
  ProcessingMode_HeaderSendMode,
} from '../../proto/gen/envoy/ext_proc_filter_pb.js';
import {
  ExternalProcessor,
  type HttpBody,
  type HttpHeaders,
  type ProcessingRequest,
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../proto/gen/envoy/ext_proc_pb.js';
import { inBackground } from '../lib/background.ts';
import type { Logger } from '../lib/logger.ts';
import { forgetLastMessage, type GrpcService } from './grpc-server.ts';
import type { BodyStart } from './openai-work.ts';
import { METADATA, NOTES, type ReadHeader, UNIT_TOKENS } from './request-notes.ts';

/** A request from Envoy. */
export interface RequestHead {
  readonly headers: ReadonlyMap<ReadHeader, string>;
  /** Aborted when the client disconnects, or Envoy cancels the request. */
  readonly left: AbortSignal;
  /** Length of its body by its header, 0 without a body; undefined if unknown. */
  readonly contentLength: number | undefined;
  /** The only workers that may be picked, as a proxy of another gateway may require; any worker if absent. */
  readonly subset?: readonly string[] | undefined;
  /**
   * Resolves to the body, or to the part that Envoy buffers; never if the client disconnects first. `route` has the
   * headers that decide the destination: Envoy needs them before a body that it does not buffer whole.
   */
  readonly readBody: (route: Headers) => Promise<BodyStart>;
  /**
   * Ends a request that has a worker, with this reply if no response has begun. No effect if the request was complete
   * with its headers. Absent if the proxy does not support it.
   */
  readonly cut?: (reply: Reply) => void;
}

/** Values by name in lower case. */
export type Headers = Readonly<Record<string, string>>;

/** An answer of the gateway itself. */
export interface Reply {
  readonly type: 'reply';
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Answer for Envoy. */
export type Answer =
  | Reply
  | {
      readonly type: 'route';
      /** Id of the request in the picker. */
      readonly id: string;
      /** Headers to set on the request. */
      readonly headers: Headers;
      /** Addresses of workers, `ip:port`, the preferred one first. */
      readonly destinations: readonly string[];
      /** True if Envoy reads the number of tokens in the response. */
      readonly readsUsage?: boolean;
      /** Headers to set on the response; none if absent. */
      readonly responseHeaders?: Headers | undefined;
    };

export type ProcessStream = ServerDuplexStream<ProcessingRequest, ProcessingResponse>;

/**
 * Returns the ext_proc service of Envoy for requests. Each is a stream, answered when `onRequest` resolves, which may
 * take as long as Envoy's `message_timeout`. The body is only requested if `onRequest` reads it. A rejection becomes
 * status 500.
 */
export function extProcService(
  onRequest: (request: RequestHead) => Promise<Answer>,
  log: Logger,
): GrpcService {
  const process = (stream: ProcessStream): void => {
    const exchange = new Exchange(stream);
    const decide = async (head: RequestHead): Promise<void> => exchange.answer(await onRequest(head));
    stream.on('cancelled', () => exchange.leave());
    stream.on('error', () => exchange.leave());
    stream.on('end', () => {
      exchange.leave();
      stream.end();
    });
    stream.on('data', ({ request }: ProcessingRequest) => {
      if (request.case === 'requestBody') exchange.takeBody(request.value);
      if (request.case === 'requestTrailers') exchange.passTrailers();
      if (request.case !== 'requestHeaders') return;
      const head = exchange.begin(request.value);
      inBackground(
        { task: 'request' },
        () => decide(head),
        (error) => {
          log.error('A request could not be decided', { error });
          exchange.answer(BROKEN);
        },
      );
    });
  };
  return { service: ExternalProcessor, handlers: { Process: process } };
}

/** State of the exchange about one request. */
class Exchange {
  readonly #stream: ProcessStream;
  readonly #left = new AbortController();
  /** Present while the body is read. It keeps no body: a request may wait for an hour afterwards. */
  #takesBody: ((body: BodyStart) => void) | undefined;
  #contentLength: number | undefined;
  /** True if the headers were answered with a request for the body, so that the body waits for the answer. */
  #asksForBody = false;
  /** True if more of the request may come after the pick. */
  #isOpen = false;

  constructor(stream: ProcessStream) {
    this.#stream = stream;
  }

  begin({ headers: map, endOfStream }: HttpHeaders): RequestHead {
    const headers = headersOf(map);
    const contentLength = endOfStream ? 0 : lengthOf(headers.get('content-length'));
    this.#contentLength = contentLength;
    this.#isOpen = !endOfStream && !isWebSocket(headers);
    return {
      headers,
      contentLength,
      left: this.#left.signal,
      readBody: (route) => this.#readBody(route, endOfStream),
      cut: (reply) => this.#write(replyOf(reply)),
    };
  }

  leave(): void {
    this.#left.abort(LEFT);
  }

  takeBody({ body, endOfStream }: HttpBody): void {
    this.#takesBody?.({ bytes: body, isWhole: endOfStream, contentLength: this.#contentLength });
    this.#takesBody = undefined;
    forgetLastMessage(this.#stream);
  }

  passTrailers(): void {
    this.#write(create(ProcessingResponseSchema, { response: { case: 'requestTrailers', value: {} } }));
  }

  answer(answer: Answer): void {
    this.#write(responseOf(answer, { toBody: this.#asksForBody, isOpen: this.#isOpen }));
  }

  #write(response: ProcessingResponse): void {
    if (!this.#left.signal.aborted) this.#stream.write(response);
  }

  #readBody(route: Headers, isEmpty: boolean): Promise<BodyStart> {
    if (isEmpty) return Promise.resolve({ bytes: NOTHING, isWhole: true, contentLength: 0 });
    const { promise, resolve } = Promise.withResolvers<BodyStart>();
    this.#takesBody = resolve;
    if (!this.#asksForBody) {
      this.#asksForBody = true;
      this.#write(askForBody(route));
    }
    return promise;
  }
}

export const NOTHING = new Uint8Array();
/** A shared reason: an abort without one creates an exception with a stack for each request. */
export const LEFT = new Error('the stream of the request ended');

/** Answer after a failed decision. */
export const BROKEN: Reply = { type: 'reply', status: 500, headers: {}, body: '' };

/** Request for the part that fits into Envoy's buffer; a longer body passes as well. */
const BODY_MODE = {
  requestHeaderMode: ProcessingMode_HeaderSendMode.SEND,
  responseHeaderMode: ProcessingMode_HeaderSendMode.SKIP,
  requestBodyMode: ProcessingMode_BodySendMode.BUFFERED_PARTIAL,
  requestTrailerMode: ProcessingMode_HeaderSendMode.SKIP,
  responseTrailerMode: ProcessingMode_HeaderSendMode.SKIP,
};

/**
 * Request for trailers only: the stream stays open until the response begins, so the request can be ended. No part of
 * the body passes through the picker.
 */
const OPEN_MODE = {
  ...BODY_MODE,
  requestBodyMode: ProcessingMode_BodySendMode.NONE,
  requestTrailerMode: ProcessingMode_HeaderSendMode.SEND,
};

/** Returns true for a WebSocket, which stays open in both directions. */
function isWebSocket(headers: RequestHead['headers']): boolean {
  return headers.get(':method') === 'GET' && headers.get('upgrade')?.toLowerCase() === 'websocket';
}

function askForBody(route: Headers): ProcessingResponse {
  const response = { headerMutation: { setHeaders: headerOptions(route) }, clearRouteCache: true };
  return create(ProcessingResponseSchema, {
    response: { case: 'requestHeaders', value: { response } },
    modeOverride: BODY_MODE,
  });
}

/** Returns the length in the header; undefined if it is invalid. */
export function lengthOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined;
}

/** Returns values by name in lower case; of equal names the last one. */
export function headersOf(map: HeaderMap | undefined): ReadonlyMap<ReadHeader, string> {
  const headers = new Map<ReadHeader, string>();
  for (const { key, value, rawValue } of map?.headers ?? [])
    headers.set(key as ReadHeader, rawValue.length > 0 ? Buffer.from(rawValue).toString('utf8') : value);
  return headers;
}

function responseOf(
  answer: Answer,
  { toBody, isOpen }: { readonly toBody: boolean; readonly isOpen: boolean },
): ProcessingResponse {
  if (answer.type === 'route') {
    const headers = headerOptions(answer.headers);
    // With a body the route is already known, and Envoy may be past it.
    const response = { headerMutation: { setHeaders: headers }, clearRouteCache: !toBody };
    return create(ProcessingResponseSchema, {
      response: { case: toBody ? 'requestBody' : 'requestHeaders', value: { response } },
      dynamicMetadata: { [METADATA]: notesOf(answer) },
      // A request whose body is read has an open stream in any case.
      ...(isOpen && !toBody && { modeOverride: OPEN_MODE }),
    });
  }
  return replyOf(answer);
}

/** Returns the notes for later filters, load balancer and access log. */
function notesOf({ id, destinations, readsUsage, responseHeaders }: Answer & { readonly type: 'route' }) {
  return {
    [NOTES.id]: id,
    [NOTES.destination]: destinations.join(','),
    ...(readsUsage && { [NOTES.unit]: UNIT_TOKENS }),
    ...(responseHeaders && { [NOTES.responseHeaders]: { ...responseHeaders } }),
  };
}

/** Returns an answer that is not from a worker. */
export function replyOf({ status, headers, body }: Reply): ProcessingResponse {
  return create(ProcessingResponseSchema, {
    response: {
      case: 'immediateResponse',
      value: {
        status: { code: status },
        headers: { setHeaders: headerOptions(headers) },
        body: Buffer.from(body),
        details: 'picker',
      },
    },
  });
}

/** Returns options that replace the request's headers of the same names. */
export function headerOptions(headers: Headers): HeaderValueOption[] {
  return Object.entries(headers).map(([key, value]) =>
    create(HeaderValueOptionSchema, {
      header: { key, rawValue: Buffer.from(value) },
      appendAction: HeaderValueOption_HeaderAppendAction.OVERWRITE_IF_EXISTS_OR_ADD,
    }),
  );
}
