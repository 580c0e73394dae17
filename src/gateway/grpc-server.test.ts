import { type ClientHttp2Session, connect, constants } from 'node:http2';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, expect, test } from 'vitest';
import { ProcessingRequestSchema } from '../../proto/gen/envoy/ext_proc_pb.js';
import { selfSigned } from '../../test/builders/self-signed.ts';
import { until } from '../../test/builders/until.ts';
import { silentLogger } from '../lib/logger.ts';
import { type Answer, extProcService, type RequestHead } from './ext-proc.ts';
import { healthService } from './grpc-health.ts';
import { serveGrpc } from './grpc-server.ts';

/** More resets than Node's HTTP/2 server allows by default. */
const RESETS = 1_600;
const AT_ONCE = 100;

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0).toReversed()) close();
});

async function session(
  onRequest: (head: RequestHead) => Promise<Answer> = () => new Promise(() => {}),
): Promise<ClientHttp2Session> {
  const service = extProcService(onRequest, silentLogger);
  const { port, close } = await serveGrpc([service], { host: '127.0.0.1', port: 0 });
  closing.push(close);
  const client = connect(`http://127.0.0.1:${port}`);
  client.on('error', () => {});
  await new Promise((resolve) => client.once('connect', resolve));
  closing.push(() => client.destroy());
  return client;
}

function open(client: ClientHttp2Session) {
  const stream = client.request({
    ':method': 'POST',
    ':path': '/envoy.service.ext_proc.v3.ExternalProcessor/Process',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.on('error', () => {});
  return stream;
}

/** Resolves when all messages sent before have been read. */
function answered(client: ClientHttp2Session): Promise<void> {
  return new Promise((resolve, reject) => {
    client.ping((error) => (error ? reject(error) : resolve()));
  });
}

test('a request that waits is kept when thousands of others are given up', async () => {
  const client = await session();
  const waiting = open(client);
  for (let reset = 0; reset < RESETS; reset += AT_ONCE) {
    const streams = Array.from({ length: AT_ONCE }, () => open(client));
    await answered(client);
    for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
    await answered(client);
  }
  expect({ client: client.closed, waiting: waiting.closed }).toEqual({ client: false, waiting: false });
});

test('serves with TLS by the identity that it is given', async () => {
  const day = 86_400_000;
  const { cert, key } = selfSigned({
    notBefore: new Date(Date.now() - day),
    notAfter: new Date(Date.now() + day),
  });
  const identity = { certificate: Buffer.from(cert), key: Buffer.from(key) };
  const health = healthService(() => false);
  const { port, close } = await serveGrpc([health], { host: '127.0.0.1', port: 0 }, identity);
  closing.push(close);
  const client = connect(`https://127.0.0.1:${port}`, { ca: cert });
  closing.push(() => client.destroy());
  const stream = client.request({
    ':method': 'POST',
    ':path': '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    te: 'trailers',
  });
  stream.end(Buffer.from([0, 0, 0, 0, 0]));
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  // A message of two bytes: its status is NOT_SERVING.
  expect([...Buffer.concat(chunks)]).toEqual([0, 0, 0, 0, 2, 8, 2]);
});

/** Returns a message in gRPC framing. */
function framed(request: NonNullable<Parameters<typeof create<typeof ProcessingRequestSchema>>[1]>): Buffer {
  const bytes = toBinary(ProcessingRequestSchema, create(ProcessingRequestSchema, request));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

test('keeps no body of a request that waits', async () => {
  const [streams, length] = [200, 131_072];
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const held = (): number => {
    gc();
    return process.memoryUsage().arrayBuffers;
  };
  const read: number[] = [];
  const client = await session(async ({ readBody }) => {
    const { bytes } = await readBody({});
    read.push(bytes.length);
    return new Promise(() => {});
  });
  const before = held();
  for (let count = 1; count <= streams; count += 1) {
    const stream = open(client);
    stream.resume();
    stream.write(framed({ request: { case: 'requestHeaders', value: {} } }));
    stream.write(framed({ request: { case: 'requestBody', value: { body: Buffer.alloc(length, 'x') } } }));
    await until('its body is read', () => read.length === count);
  }
  expect(new Set(read)).toEqual(new Set([length]));
  await until('the bodies are gone', () => held() - before < (streams * length) / 10);
});
