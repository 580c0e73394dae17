import { afterAll, beforeAll, expect, test } from 'vitest';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { LARGEST_SEED, readStrictly } from '../settings/reader.ts';
import { FuseFolder, FuseProcess, fuseIn } from '../simulation/deadman/fuse-model.ts';
import { Container } from './container.ts';
import { compareWithShell } from './model-worlds.ts';
import { type OwnKeyService, ownKeyService } from './own-key-service.ts';

const DAY_MS = 86_400_000;
const WORLDS = 5;
/** Other worlds each day. */
const FIRST_SEED =
  readStrictly(process.env, (reader) => reader.whole('FIRST_SEED', 1, LARGEST_SEED - WORLDS)) ??
  1_000 * Math.floor(Date.now() / DAY_MS);

const shelf = new Container();
let service: OwnKeyService;

beforeAll(async () => {
  service = await ownKeyService(shelf.folder);
});

afterAll(async () => {
  await service.close();
  shelf.remove();
});

test.each(Array.from({ length: WORLDS }, (_, at) => FIRST_SEED + at))(
  'the model of a fuse does what the shell does in the world of seed %d',
  { timeout: 200_000 },
  async (seed) => {
    expect(await compareWithShell(seed, service)).toBeUndefined();
  },
);

const FUSE = {
  ...{ sleepSeconds: 30, lifeStep: 30, leaseStep: 30, lifeSeconds: 150, leaseSeconds: 60 },
  ...{ unarmed: -999_999_999, probeSeconds: 300, host: 'market.example' },
  ...{ isRenewable: true, isKept: true, isRepeated: true },
  ...{ reportSeconds: undefined, isReplyProven: false },
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a shell reads it
  path: '/api/v0/instances/${CONTAINER_ID:?}/',
};

test('a fuse is read from the text that the operator sends', () => {
  const { selfEnd: facts } = vastFacts;
  const line =
    facts && fuseLine({ url: 'https://market.example', facts }, { lifeSeconds: 150, leaseSeconds: 60 });
  expect(fuseIn(startText(line ?? '', 'python3 train.py'))).toEqual(FUSE);
  expect(fuseIn('python3 train.py')).toBeUndefined();
  const target = { url: 'https://market.example', reportUrl: 'https://reports.example' };
  const asking = facts && fuseLine({ ...target, facts }, { lifeSeconds: 150, leaseSeconds: 60 });
  expect(fuseIn(asking)).toEqual({ ...FUSE, reportSeconds: 8, isReplyProven: true });
});

test('a fuse whose folder is deleted counts its life on, and no lease that nothing could renew', async () => {
  const folder = new FuseFolder();
  const fuse = new FuseProcess(FUSE, folder, 1);
  const calls: string[] = [];
  const tick = () =>
    fuse.tick((method) => {
      calls.push(method);
      return Promise.resolve(true);
    });
  folder.write('renew', '1\n');
  await tick();
  expect([fuse.isArmed, folder.read('t')]).toEqual([true, '30\n']);
  folder.delete();
  for (let count = 60; count < 150; count += 30) await tick();
  expect(calls.filter((method) => method === 'DELETE')).toEqual([]);
  expect([folder.read('t'), fuse.count]).toEqual([undefined, 120]);
  await tick();
  expect(calls.at(-1)).toBe('DELETE');
});
