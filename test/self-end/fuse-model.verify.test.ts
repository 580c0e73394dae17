import { expect, test } from 'vitest';
import { Container } from './container.ts';
import { compareWithShell } from './model-worlds.ts';
import { ownKeyService } from './own-key-service.ts';

const WORLDS = 200;

test(`the model of a fuse does what the shell does in ${WORLDS} worlds`, { timeout: 3_600_000 }, async () => {
  const shelf = new Container();
  const service = await ownKeyService(shelf.folder);
  const differences: string[] = [];
  for (let seed = 1; seed <= WORLDS; seed++)
    differences.push(...[(await compareWithShell(seed, service)) ?? []].flat());
  await service.close();
  shelf.remove();
  expect(differences).toEqual([]);
});
