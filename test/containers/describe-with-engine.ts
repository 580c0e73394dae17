import { afterAll, beforeAll, describe, inject } from 'vitest';
import type {} from '../cluster/provided-context.ts';
import { type EngineSession, findEngine, openEngineSession } from './engine.ts';
import { type ImageBench, openImageBench } from './image-bench.ts';

type Body = (bench: () => EngineBench) => void;

/** What a test file has of a Docker engine. */
export interface EngineBench extends ImageBench {
  readonly session: EngineSession;
}

/**
 * Tests of the docker project, with the image of these sources in a Docker engine; they are skipped where none answers.
 * The function that `body` gets gives the engine while tests and their hooks run; what is made in it goes with the last
 * test.
 */
export function describeWithEngine(title: string, body: Body): void {
  const image = inject('operatorImage');
  describe.skipIf(image === null)(title, () => {
    let bench: EngineBench | undefined;
    beforeAll(async () => {
      const client = await findEngine();
      if (image === null || client === undefined) throw new Error('The Docker engine has gone.');
      const session = await openEngineSession(client);
      bench = { session, ...(await openImageBench(session, image)) };
    });
    afterAll(() => bench?.session.close());
    body(() => {
      if (bench === undefined) throw new Error('The engine is there while tests and hooks run.');
      return bench;
    });
  });
}

/** The same for containers that speak to a program of this machine, which those in a virtual machine do not reach. */
export function describeWithEngineHere(title: string, body: Body): void {
  describe.skipIf(!inject('isEngineHere'))('with the engine of this machine:', () =>
    describeWithEngine(title, body),
  );
}
