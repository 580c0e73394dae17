import { request } from 'node:http';

/** Calls to an Envoy through its admin socket. */
export interface EnvoyAdmin {
  /** Returns true if Envoy accepts requests; false also if it does not answer. Never rejects. */
  isReady(): Promise<boolean>;
  /**
   * Makes each response close its connection; new connections are still accepted. Rejects if Envoy does not answer.
   */
  closeConnections(): Promise<void>;
  /** Undoes {@link closeConnections}. Rejects if Envoy does not answer. */
  keepConnections(): Promise<void>;
}

const ANSWER_MS = 2_000;

/** Returns the admin interface of Envoy at that Unix socket. */
export function envoyAdmin(socketPath: string): EnvoyAdmin {
  return {
    isReady: async () => (await call(socketPath, 'GET', '/ready').catch(() => 0)) === 200,
    // The only command that ends keep-alive without ending service, for a listener in Envoy's own configuration.
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
