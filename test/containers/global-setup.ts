import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestProject } from 'vitest/node';
import type {} from '../cluster/provided-context.ts';
import { operatorImage } from '../image/operator-image.ts';
import { ENGINE_NEEDED, type EngineSession, findEngine, openEngineSession } from './engine.ts';

/**
 * Returns true if the engine's networks are on this machine: Docker Desktop has them in a virtual machine, other
 * engines may be remote.
 */
async function isHere(session: EngineSession): Promise<boolean> {
  const { gateway } = await session.createNetwork();
  const server = createServer().listen(0, gateway);
  try {
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/**
 * Loads the image for the whole docker project. If no engine answers, its tests are skipped and one line reports why.
 */
export default async function loadSharedImage(project: TestProject): Promise<() => Promise<void>> {
  const engine = await findEngine();
  if (engine === undefined) {
    process.stderr.write(
      `Tests that need a Docker engine are skipped, because none answers: they need ${ENGINE_NEEDED}; then run node test/containers/main.ts npx vitest run --project docker.\n`,
    );
    project.provide('operatorImage', null);
    project.provide('isEngineHere', false);
    return async () => {};
  }
  process.stderr.write(`Docker engine ${engine.info.containerRuntime.serverVersion}\n`);
  const session = await openEngineSession(engine);
  project.provide('isEngineHere', await isHere(session));
  project.provide('operatorImage', await session.loadImage(await operatorImage()));
  return () => session.close();
}
