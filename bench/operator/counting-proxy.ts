import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Request that passed. `at` is `performance.now()` when its headers arrived. */
export interface Passed {
  readonly at: number;
  readonly method: string;
  readonly path: string;
}

export interface CountingProxy {
  readonly url: string;
  readonly passed: Passed[];
  close(): Promise<void>;
}

/** Stands between operator and simulator and notes when each request came. */
export async function startCountingProxy(target: string): Promise<CountingProxy> {
  const passed: Passed[] = [];
  const { hostname, port } = new URL(target);
  const server = createServer((incoming, outgoing) => {
    passed.push({ at: performance.now(), method: incoming.method ?? '', path: incoming.url ?? '' });
    const { method, url: path, headers } = incoming;
    const onward = request({ hostname, port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    onward.on('error', () => outgoing.destroy());
    incoming.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    passed,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
