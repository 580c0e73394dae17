import { accessLogService } from '../../src/gateway/access-log.ts';
import { type ClientIdentity, Discovery } from '../../src/gateway/discovery.ts';
import { envoyBootstrap } from '../../src/gateway/envoy-config.ts';
import { startEnvoy } from '../../src/gateway/envoy-process.ts';
import { extProcService } from '../../src/gateway/ext-proc.ts';
import { serveGrpc } from '../../src/gateway/grpc-server.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { until } from '../builders/until.ts';
import { workerNameOf } from '../builders/worker-identities.ts';
import { findFreePort } from '../cluster/free-port.ts';
import { envoyBinary } from '../tools/envoy.ts';

const KEY = 'default/llm';

/** A real Envoy that sends each request to the worker that it was led to last. */
export interface TlsBench {
  readonly url: string;
  /** Routes requests to this loopback port, where that worker must prove its identity. */
  leadTo(port: number, uid: string, identity: ClientIdentity): Promise<void>;
  close(): Promise<void>;
}

export async function tlsBench(): Promise<TlsBench> {
  let destination = '';
  const discovery = new Discovery({ log: silentLogger, onAccepted: () => {}, onFresh: () => {} });
  const extProc = extProcService(
    async () => ({
      type: 'route',
      id: 'one',
      headers: { 'x-gateway-cluster': KEY },
      destinations: [destination],
    }),
    silentLogger,
  );
  const services = [
    extProc,
    accessLogService({ onEnd: () => {}, onProgress: () => {}, onClose: () => {} }),
    discovery.service,
  ];
  const grpc = await serveGrpc(services, { host: '127.0.0.1', port: 0 });
  const port = await findFreePort();
  const config = envoyBootstrap({
    listen: { host: '127.0.0.1', port },
    picker: { host: '127.0.0.1', port: grpc.port },
  });
  const envoy = await startEnvoy({
    path: await envoyBinary(),
    config,
    clock: systemClock,
    log: silentLogger,
  });
  await until('Envoy is connected', () => discovery.isConnected());
  return {
    url: `http://127.0.0.1:${port}/v1`,
    async leadTo(at, uid, identity) {
      const endpoint = { address: `127.0.0.1:${at}`, dnsName: workerNameOf(uid) };
      discovery.set([{ key: KEY, endpoints: [endpoint], identity }]);
      await until('Envoy knows it', () => discovery.knows(KEY, endpoint));
      destination = endpoint.address;
    },
    async close() {
      await envoy.stop();
      grpc.close();
    },
  };
}
