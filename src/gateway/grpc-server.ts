import type { ServerOptions } from 'node:http2';
import type { DescMessage, DescService, MessageShape } from '@bufbuild/protobuf';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type handleBidiStreamingCall,
  type handleClientStreamingCall,
  Server,
  ServerCredentials,
  type ServiceDefinition,
} from '@grpc/grpc-js';
import { bracketedHost } from '../lib/host-port.ts';

/** Handler of one method. */
type Handler = handleBidiStreamingCall<never, never> | handleClientStreamingCall<never, never>;

/** A service, and its handlers by method name. */
export interface GrpcService {
  readonly service: DescService;
  readonly handlers: Readonly<Record<string, unknown>>;
}

export interface GrpcListening {
  /** URL with the port in use. */
  readonly port: number;
  /** Ends all streams and closes the server. */
  close(): void;
}

/** Maximum streams of one connection: each held request is one. */
const MAX_STREAMS = 100_000;

/**
 * Maximum streams that a client may reset. Envoy resets one for each request that is answered or whose client
 * disconnected. Node's HTTP/2 server allows 1,000 and then 33 per second, and ends the connection, with all waiting
 * requests, at the next.
 */
const STREAM_RESETS = { streamResetBurst: 1_000_000_000, streamResetRate: 1_000_000_000 };

/** TLS identity of a server, PEM. */
export interface ServerIdentity {
  readonly certificate: Buffer;
  readonly key: Buffer;
}

/**
 * Serves these services. Without an identity it uses no TLS, for an Envoy beside it on loopback. Rejects if the address
 * cannot be used.
 */
export function serveGrpc(
  services: readonly GrpcService[],
  { host, port }: { readonly host: string; readonly port: number },
  identity?: ServerIdentity,
): Promise<GrpcListening> {
  const server = new Server({
    'grpc.max_concurrent_streams': MAX_STREAMS,
    // Its counters of each stream are unused.
    'grpc.enable_channelz': 0,
  });
  takeResets(server);
  for (const { service, handlers } of services)
    server.addService(definitionOf(service), handlers as Record<string, Handler>);
  const bound = host === '' ? '[::]' : bracketedHost(host);
  return new Promise((resolve, reject) => {
    server.bindAsync(`${bound}:${port}`, credentialsOf(identity), (error, taken) => {
      if (error) reject(error);
      else resolve({ port: taken, close: () => server.forceShutdown() });
    });
  });
}

function credentialsOf(identity: ServerIdentity | undefined): ServerCredentials {
  if (!identity) return ServerCredentials.createInsecure();
  const { certificate: cert_chain, key: private_key } = identity;
  return ServerCredentials.createSsl(null, [{ cert_chain, private_key }]);
}

/** Raises the limit of resets. The library has no option for it, and creates its HTTP/2 server when it binds. */
function takeResets(server: Server): void {
  const { commonServerOptions } = server as unknown as { readonly commonServerOptions?: ServerOptions };
  if (!commonServerOptions)
    throw new TypeError('this release of @grpc/grpc-js keeps its HTTP/2 options elsewhere');
  Object.assign(commonServerOptions, STREAM_RESETS);
}

/** The part of the library's stream that reads its messages. */
interface Reading {
  readonly call?: {
    readonly decoder?: {
      readonly readState: number;
      readPartialMessage: readonly Uint8Array[];
      /** A byte of the buffer in which the message began. */
      readCompressFlag: Buffer;
    };
  };
}
/** No message is half read. */
const BETWEEN_MESSAGES = 0;

/**
 * Frees the bytes of the last message of a stream. The library keeps them until the next one, which takes as long as
 * the request waits if the body was the last message.
 */
export function forgetLastMessage(stream: object): void {
  const decoder = (stream as Reading).call?.decoder;
  if (!decoder || !Array.isArray(decoder.readPartialMessage) || decoder.readCompressFlag?.length !== 1)
    throw new TypeError('this release of @grpc/grpc-js keeps what it reads elsewhere');
  if (decoder.readState !== BETWEEN_MESSAGES) return;
  decoder.readPartialMessage = [];
  decoder.readCompressFlag = Buffer.alloc(1);
}

function definitionOf(service: DescService): ServiceDefinition {
  const methods = service.methods.map((method) => {
    const { input, output, methodKind } = method;
    const path = `/${service.typeName}/${method.name}`;
    const definition = {
      path,
      requestStream: methodKind === 'bidi_streaming' || methodKind === 'client_streaming',
      responseStream: methodKind === 'bidi_streaming' || methodKind === 'server_streaming',
      requestSerialize: bytesOf(input),
      requestDeserialize: messageOf(input),
      responseSerialize: bytesOf(output),
      responseDeserialize: messageOf(output),
    };
    return [method.name, definition] as const;
  });
  return Object.fromEntries(methods);
}

function bytesOf<Desc extends DescMessage>(desc: Desc): (message: MessageShape<Desc>) => Buffer {
  return (message) => {
    const { buffer, byteOffset, byteLength } = toBinary(desc, message);
    return Buffer.from(buffer, byteOffset, byteLength);
  };
}

function messageOf<Desc extends DescMessage>(desc: Desc): (bytes: Buffer) => MessageShape<Desc> {
  return (bytes) => fromBinary(desc, bytes, { readUnknownFields: false });
}
