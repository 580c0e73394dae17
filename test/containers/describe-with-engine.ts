import { afterAll, beforeAll, describe } from 'vitest';
import { type EngineSession, findEngine, openEngineSession } from './engine.ts';

/**
 * Tests with a session of a Docker engine, or skipped where none answers. The function that `body` gets gives the
 * session while tests and their hooks run; what is made in it goes with the last test.
 */
export async function describeWithEngine(
  title: string,
  body: (session: () => EngineSession) => void,
): Promise<void> {
  const client = await findEngine();
  describe.skipIf(client === undefined)(title, () => {
    let session: EngineSession | undefined;
    beforeAll(async () => {
      session = client && (await openEngineSession(client));
    });
    afterAll(() => session?.close());
    body(() => {
      if (session === undefined) throw new Error('The session is there while tests and hooks run.');
      return session;
    });
  });
}
