import { readFileSync } from 'node:fs';
import { request } from 'node:https';

export interface ReadinessQuestion {
  readonly address: string;
  readonly port: number;
  /** Where the API server writes its certificate at its first start; not there yet means not ready. */
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

/** Whether the API server answers 200 at that path. Any failure to connect is a no. */
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

/** Ready, and the namespace that every user expects is there: it is made a moment after `/readyz` turns good. */
export async function isReady(question: ReadinessQuestion): Promise<boolean> {
  return (await answersOk(question, '/readyz')) && (await answersOk(question, '/api/v1/namespaces/default'));
}
