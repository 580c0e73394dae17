import { ENGINE_NEEDED, findEngine } from './engine.ts';

/** Where no Docker engine answers the tests are skipped, and one line says why. */
export default async function announceEngine(): Promise<void> {
  const engine = await findEngine();
  process.stderr.write(
    engine === undefined
      ? `Tests that need a Docker engine are skipped, because none answers: they need ${ENGINE_NEEDED}, and then node test/containers/main.ts vitest run --project docker.\n`
      : `Docker engine ${engine.info.containerRuntime.serverVersion}\n`,
  );
}
