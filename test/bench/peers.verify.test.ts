import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OPERATORS } from '../../bench/peers/contenders.ts';
import { type Market, startMarket } from '../../bench/peers/market.ts';
import { runOf } from '../../bench/peers/run.ts';
import type { Scenario } from '../../bench/peers/scenarios.ts';
import { openStage, type Stage } from '../../bench/peers/stage.ts';

/** Few objects, and all parts of a run: each ends in the same ledger and the same statuses, or it is unfinished. */
const LIFE: Scenario = {
  ...{ name: 'life', contenders: [], rounds: 1, dropped: 0, roundTripMs: 20, paced: false },
  plan: {
    ...{
      objects: 5,
      workersPerGroup: 0,
      trickle: 2,
      pollSeconds: 1,
      outage: true,
      failover: false,
      restart: true,
    },
    ...{ restPollSeconds: 2, restSeconds: 4, deletion: true, limitSeconds: 120 },
  },
};

let stage: Stage;
let market: Market;
const folder = mkdtempSync(join(tmpdir(), 'peers-'));

beforeAll(async () => {
  stage = await openStage(() => {});
  market = startMarket();
});

afterAll(async () => {
  market?.stop();
  await stage?.stop();
  rmSync(folder, { recursive: true, force: true });
});

test.for(OPERATORS)('$name rents, keeps and ends a machine for each object', async (contender, { skip }) => {
  const missing = await contender.prepare(() => {}).catch((error: Error) => error.message);
  skip(missing !== undefined, `${contender.name} cannot be had here: ${missing}`);
  const figures = await runOf(contender, LIFE, { stage, market, folder, ownObject: undefined });
  expect(figures).toMatchObject({ 'at rest, writes': 0, 'answers 429': 0 });
  expect(figures['writes of its Secret']).toBeLessThanOrEqual(2);
});
