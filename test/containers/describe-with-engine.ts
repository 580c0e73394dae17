import { afterAll, beforeAll, describe, inject } from 'vitest';
import type {} from '../cluster/provided-context.ts';
import { type EngineSession, findEngine, openEngineSession } from './engine.ts';
import { type ImageBench, openImageBench } from './image-bench.ts';

type Body = (bench: () => EngineBench) => void;

/** Docker engine of a test file. */
export interface EngineBench extends ImageBench {
  readonly session: EngineSession;
}

/**
 * Declares tests of the docker project, with the image of these sources; they are skipped if no engine answers.
 * `body` receives a function that returns the engine while tests and their hooks run; everything created in it is
 * removed after the last test.
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

/** Declares tests whose containers connect to a program on this machine, which is impossible from a virtual machine. */
export function describeWithEngineHere(title: string, body: Body): void {
  describe.skipIf(!inject('isEngineHere'))('with the engine of this machine:', () =>
    describeWithEngine(title, body),
  );
}
