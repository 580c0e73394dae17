import { readFileSync } from 'node:fs';
import { request } from 'node:https';

export interface ReadinessQuestion {
  readonly address: string;
  readonly port: number;
  /**
   * Path of the certificate that the API server writes at its first start; while it is missing, the server is not
   * ready.
   */
  readonly caPath: string;
  readonly token: string;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** Returns true if the API server answers 200 at that path; false if the connection fails. */
function answersOk({ address, port, caPath, token }: ReadinessQuestion, path: string): Promise<boolean> {
  const ca = readIfThere(caPath);
  if (ca === undefined) return Promise.resolve(false);
  return new Promise((resolve) => {
    const question = request(
      {
        host: address,
        port,
        path,
        ca,
        agent: false,
        timeout: 5_000,
        headers: { authorization: `Bearer ${token}` },
      },
      (reply) => {
        reply.resume();
        resolve(reply.statusCode === 200);
      },
    );
    question.on('timeout', () => question.destroy(new Error('no reply in time')));
    question.on('error', () => resolve(false));
    question.end();
  });
}

/**
 * Returns true if the server is ready and the default namespace exists, which is created shortly after `/readyz`
 * succeeds.
 */
export async function isReady(question: ReadinessQuestion): Promise<boolean> {
  return (await answersOk(question, '/readyz')) && (await answersOk(question, '/api/v1/namespaces/default'));
}
