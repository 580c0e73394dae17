import { request } from 'node:http';

/** What is asked of an Envoy through its admin socket. */
export interface EnvoyAdmin {
  /** Whether it takes requests; false also where it cannot be asked. Never rejects. */
  isReady(): Promise<boolean>;
  /** From now on each response closes its connection, and new connections are still taken. Rejects where it does not answer. */
  closeConnections(): Promise<void>;
  /** Takes that back. Rejects where it does not answer. */
  keepConnections(): Promise<void>;
}

const ANSWER_MS = 2_000;

/** The admin interface of Envoy at that Unix socket. */
export function envoyAdmin(socketPath: string): EnvoyAdmin {
  return {
    isReady: async () => (await call(socketPath, 'GET', '/ready').catch(() => 0)) === 200,
    // The only command after which an Envoy with a listener of its own configuration ends keep-alive and goes on serving.
    closeConnections: () => command(socketPath, '/healthcheck/fail'),
    keepConnections: () => command(socketPath, '/healthcheck/ok'),
  };
}

async function command(socketPath: string, path: string): Promise<void> {
  const status = await call(socketPath, 'POST', path);
  if (status !== 200) throw new Error(`Envoy answered ${status} to ${path}`);
}

/** Resolves to the status. */
function call(socketPath: string, method: string, path: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath, method, path, agent: false, timeout: ANSWER_MS }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.statusCode ?? 0));
      response.once('error', reject);
    });
    asked.once('timeout', () => asked.destroy(new Error(`Envoy did not answer within ${ANSWER_MS} ms`)));
    asked.once('error', reject);
    asked.end();
  });
}
