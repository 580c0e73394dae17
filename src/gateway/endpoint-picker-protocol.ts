import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { Metadata } from '../../proto/gen/envoy/core_pb.js';
import { ProcessingMode_BodySendMode as BodyMode } from '../../proto/gen/envoy/ext_proc_filter_pb.js';
import {
  ExternalProcessor,
  type HttpBody,
  type HttpHeaders,
  type ProcessingRequest,
  ProcessingResponseSchema,
} from '../../proto/gen/envoy/ext_proc_pb.js';
import { inBackground } from '../lib/background.ts';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/logger.ts';
import type { ReadUsage } from './access-log.ts';
import { BUFFER_BYTES } from './envoy-config.ts';
import {
  type Answer,
  BROKEN,
  headerOptions,
  headersOf,
  LEFT,
  lengthOf,
  NOTHING,
  type ProcessStream,
  type RequestHead,
  replyOf,
} from './ext-proc.ts';
import { forgetLastMessage, type GrpcService } from './grpc-server.ts';
import type { BodyStart } from './openai-work.ts';
import { PRIVATE_HEADERS } from './request-notes.ts';
import { ResponseUsage } from './response-usage.ts';

/** A finished request of a proxy. */
export interface ProxiedEnd {
  /** `ip:port` of the worker that served it, if the proxy reports it. */
  readonly served: string | undefined;
  /** Status; 0 without a response. */
  readonly status: number;
  readonly durationMs: number;
  readonly firstByteMs: number | undefined;
  readonly usage: ReadUsage | undefined;
}

/** Decision about a request, and the callback for its end. */
export interface Decision {
  readonly answer: Answer;
  readonly onEnd: (end: ProxiedEnd) => void;
}

export interface EndpointPickerOptions {
  /** Resolves when a worker was picked or the request is refused. */
  readonly onRequest: (head: RequestHead) => Promise<Decision>;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Header and metadata key with the address of the worker. */
const DESTINATION_HEADER = 'x-gateway-destination-endpoint';
/** Namespace of the load balancing metadata, in both directions. */
const LB = 'envoy.lb';
const SUBSET_HINT = 'envoy.lb.subset_hint';
const SUBSET_KEY = 'x-gateway-destination-endpoint-subset';
const SERVED_KEY = 'x-gateway-destination-endpoint-served';

/**
 * Returns the endpoint picker protocol of the Gateway API Inference Extension: an ext_proc service for proxies of other
 * projects. Such a proxy streams bodies through the picker, which returns each part unchanged, and sends the request to
 * the one address in header and metadata. The end of its stream is the end of the request.
 */
export function endpointPickerService({ onRequest, clock, log }: EndpointPickerOptions): GrpcService {
  const process = (stream: ProcessStream): void => {
    const exchange = new ProxiedExchange(stream, clock);
    const decide = async (head: RequestHead): Promise<void> => exchange.decide(await onRequest(head));
    stream.on('cancelled', () => exchange.end());
    stream.on('error', () => exchange.end());
    stream.on('end', () => {
      exchange.end();
      stream.end();
    });
    stream.on('data', (message: ProcessingRequest) => {
      const head = exchange.take(message);
      if (!head) return;
      inBackground(
        { task: 'request' },
        () => decide(head),
        (error) => {
          log.error('A request could not be decided', { error });
          exchange.decide({ answer: BROKEN, onEnd: () => {} });
        },
      );
    });
  };
  return { service: ExternalProcessor, handlers: { Process: process } };
}

type Response = NonNullable<MessageInitShape<typeof ProcessingResponseSchema>['response']>;

/** State of the exchange with such a proxy about one request. */
class ProxiedExchange {
  readonly #stream: ProcessStream;
  readonly #clock: Clock;
  readonly #startedAt: number;
  readonly #left = new AbortController();
  #body = Promise.withResolvers<BodyStart>();
  /** Default of the reference picker, which does not negotiate it. */
  #requestMode: BodyMode = BodyMode.FULL_DUPLEX_STREAMED;
  #responseMode: BodyMode = BodyMode.FULL_DUPLEX_STREAMED;
  #contentLength: number | undefined;
  /** True if the headers were answered, so that the decision is sent with the answer to the body. */
  #asksForBody = false;
  #decision: Decision | undefined;
  /** Parts of the request that arrived before the decision. */
  readonly #held: Response[] = [];
  readonly #parts: Uint8Array[] = [];
  #heldBytes = 0;
  #served: string | undefined;
  #status = 0;
  #firstByteMs: number | undefined;
  #usage: ResponseUsage | undefined;

  constructor(stream: ProcessStream, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    this.#startedAt = clock.monotonic();
  }

  /** Processes a message. Returns the request to decide when its headers arrive. */
  take({ request, metadataContext, protocolConfig }: ProcessingRequest): RequestHead | undefined {
    if (protocolConfig) {
      this.#requestMode = protocolConfig.requestBodyMode;
      this.#responseMode = protocolConfig.responseBodyMode;
    }
    switch (request.case) {
      case 'requestHeaders':
        return this.#begin(request.value, metadataContext);
      case 'requestBody':
        this.#takeRequestBody(request.value);
        break;
      case 'requestTrailers':
        this.#resolveBody(true);
        this.#pass({ case: 'requestTrailers', value: {} });
        break;
      case 'responseHeaders':
        this.#takeResponse(request.value, metadataContext);
        this.#write({ case: 'responseHeaders', value: this.#responseHeaders() });
        break;
      case 'responseBody':
        this.#usage?.push(request.value.body);
        this.#write({ case: 'responseBody', value: echoOf(request.value, this.#responseMode) });
        break;
      case 'responseTrailers':
        this.#write({ case: 'responseTrailers', value: {} });
        break;
      case undefined:
        break;
    }
    return undefined;
  }

  decide(decision: Decision): void {
    if (this.#left.signal.aborted) {
      decision.onEnd(this.#ended());
      return;
    }
    this.#decision = decision;
    // A request in flight keeps no body.
    this.#parts.length = 0;
    this.#body = Promise.withResolvers<BodyStart>();
    forgetLastMessage(this.#stream);
    const { answer } = decision;
    if (answer.type === 'reply') this.#stream.write(replyOf(answer));
    else this.#route(answer);
    for (const response of this.#held.splice(0)) if (answer.type === 'route') this.#write(response);
    this.#stream.resume();
  }

  /** Ends the exchange: the client disconnected, or the proxy is done. */
  end(): void {
    if (this.#left.signal.aborted) return;
    this.#left.abort(LEFT);
    this.#decision?.onEnd(this.#ended());
  }

  #begin({ headers: map, endOfStream }: HttpHeaders, metadata: Metadata | undefined): RequestHead {
    const headers = headersOf(map);
    this.#contentLength = endOfStream ? 0 : lengthOf(headers.get('content-length'));
    if (endOfStream) this.#resolveBody(true);
    return {
      headers,
      contentLength: this.#contentLength,
      left: this.#left.signal,
      subset: subsetOf(metadata),
      readBody: () => this.#readBody(),
    };
  }

  /**
   * Reads the body. It lets a proxy that waits for an answer to the headers continue, if the body comes in one
   * message.
   */
  #readBody(): Promise<BodyStart> {
    switch (this.#requestMode) {
      case BodyMode.FULL_DUPLEX_STREAMED:
        break;
      case BodyMode.BUFFERED:
      case BodyMode.BUFFERED_PARTIAL:
        this.#asksForBody = true;
        this.#write({ case: 'requestHeaders', value: {} });
        break;
      default:
        this.#resolveBody(false);
    }
    return this.#body.promise;
  }

  #takeRequestBody(body: HttpBody): void {
    if (this.#decision === undefined) {
      this.#parts.push(body.body);
      this.#heldBytes += body.body.length;
      if (body.endOfStream || this.#asksForBody) this.#resolveBody(body.endOfStream);
      else if (this.#heldBytes >= BUFFER_BYTES) {
        this.#resolveBody(false);
        this.#stream.pause();
      }
      // The decision answers the one message of a buffered body.
      if (this.#asksForBody) return;
    }
    this.#pass({ case: 'requestBody', value: echoOf(body, this.#requestMode) });
  }

  #resolveBody(isWhole: boolean): void {
    const bytes = this.#parts.length === 0 ? NOTHING : Buffer.concat(this.#parts);
    this.#body.resolve({ bytes, isWhole, contentLength: this.#contentLength });
  }

  #responseHeaders() {
    const answer = this.#decision?.answer;
    const headers = answer?.type === 'route' ? answer.responseHeaders : undefined;
    return headers ? { response: { headerMutation: { setHeaders: headerOptions(headers) } } } : {};
  }

  #takeResponse({ headers: map }: HttpHeaders, metadata: Metadata | undefined): void {
    const headers = new Map(map?.headers.map(({ key, value, rawValue }) => [key, textOf(value, rawValue)]));
    this.#status = Number(headers.get(':status') ?? 0);
    this.#firstByteMs = this.#clock.monotonic() - this.#startedAt;
    const served = metadata?.filterMetadata[LB]?.[SERVED_KEY];
    this.#served = typeof served === 'string' ? served : undefined;
    this.#usage = new ResponseUsage({
      contentType: headers.get('content-type'),
      contentEncoding: headers.get('content-encoding'),
    });
  }

  /** Sends the route to the proxy, which keeps host and path and uses one destination. */
  #route({ destinations: [destination = ''] }: Answer & { readonly type: 'route' }): void {
    const picked = { [DESTINATION_HEADER]: destination };
    const setHeaders = headerOptions(picked);
    const response = { headerMutation: { setHeaders, removeHeaders: [...PRIVATE_HEADERS] } };
    this.#stream.write(
      create(ProcessingResponseSchema, {
        response: this.#asksForBody
          ? { case: 'requestBody', value: { response } }
          : { case: 'requestHeaders', value: { response: { ...response, clearRouteCache: true } } },
        dynamicMetadata: { [LB]: picked },
      }),
    );
  }

  /** Sends a response, after the decision: until then no part of a request is forwarded. */
  #pass(response: Response): void {
    if (this.#decision === undefined) this.#held.push(response);
    else if (this.#decision.answer.type === 'route') this.#write(response);
  }

  #write(response: Response): void {
    const hasRoom = this.#stream.write(create(ProcessingResponseSchema, { response }));
    if (hasRoom || this.#decision === undefined) return;
    this.#stream.pause();
    this.#stream.once('drain', () => this.#stream.resume());
  }

  #ended(): ProxiedEnd {
    return {
      served: this.#served,
      status: this.#status,
      durationMs: this.#clock.monotonic() - this.#startedAt,
      firstByteMs: this.#firstByteMs,
      usage: this.#usage?.read(),
    };
  }
}

/** Returns the part unchanged: a streaming proxy forwards the returned part, any other forwards its own. */
function echoOf({ body, endOfStream }: HttpBody, mode: BodyMode) {
  if (mode !== BodyMode.FULL_DUPLEX_STREAMED) return {};
  const mutation = { case: 'streamedResponse', value: { body, endOfStream } } as const;
  return { response: { bodyMutation: { mutation } } };
}

/** Returns the only addresses that may be picked, as a list or with commas; undefined if any may. */
function subsetOf(metadata: Metadata | undefined): readonly string[] | undefined {
  const hint = metadata?.filterMetadata[SUBSET_HINT]?.[SUBSET_KEY];
  if (hint === undefined) return undefined;
  const texts = (Array.isArray(hint) ? hint : [hint]).filter((text) => typeof text === 'string');
  return texts
    .flatMap((text) => text.split(','))
    .map((text) => text.trim())
    .filter((text) => text !== '');
}

function textOf(value: string, raw: Uint8Array): string {
  return raw.length > 0 ? Buffer.from(raw).toString('utf8') : value;
}
