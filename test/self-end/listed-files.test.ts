import { describe, expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { SelfEndChecks } from '../../src/controllers/gpu-instance/self-end-check.ts';
import { fuseLine } from '../../src/instance/self-end.ts';
import { startText } from '../../src/instance/start-text.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { createPacer } from '../../src/market/pacing.ts';
import { openMarket } from '../../src/markets/catalog.ts';
import { vastFacts } from '../../src/markets/vast/facts.ts';
import { packOnStart } from '../../src/markets/vast/instances/rent.ts';
import type { Settings } from '../../src/simulator/settings.ts';
import { simulatedService } from '../builders/simulated-service.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

const FOLDER = 'var/tmp/.gpurental';
const PATHS = ['absolute', 'relative', 'both'] as const;

interface Machine {
  readonly containers: Partial<Settings['containers']>;
  readonly onStart?: string;
  /** Names of the files of its fuse; undefined for those of the model. */
  readonly names?: readonly string[];
}

/** Returns the answer on a machine of the simulator. */
async function settled({ containers, onStart, names }: Machine) {
  const service = simulatedService({ settings: { containers, boot: { scale: 0 } } });
  const clock = createVirtualClock({ startMs: service.simulator.now() });
  const market = openMarket('Vast', {
    ...{ url: 'http://127.0.0.1:9', key: new Secret(service.simulator.apiKey), clock },
    ...{ transport: service.simulator.handle, random: seededRandom(1), log: silentLogger },
    pacer: createPacer({ clock, scale: 0 }),
  });
  const [offer] = await market.offers({
    filters: [{ field: 'rentable', operator: 'eq', value: true }],
    limit: 1,
  });
  const start = { ssh: false, ...(onStart !== undefined && { onStart }) };
  const request = { image: 'x', diskGB: 10, label: 'l', env: {}, ports: [], ...start };
  const { instanceId: id } = await market.rent(offer?.id ?? '', request, { deadlineMs: 30_000 });
  const contract = service.simulator.world().tables.contracts[Number(id)];
  if (!contract) throw new Error('nothing was rented');
  if (names) {
    const files = Object.fromEntries(names.map((name) => [`${FOLDER}/${name}`, 0]));
    service.put('contracts', { ...contract, files });
  }
  const checks = new SelfEndChecks({
    ...{ clock, log: silentLogger, marketOf: () => market, onChange() {} },
  });
  const object = {
    metadata: { name: 'a' },
    spec: {},
    status: { instanceId: id, actualStatus: 'running', selfEnd: { lifeSeconds: 1, proof: 'Unproven' } },
  } as unknown as GpuInstance;
  checks.view('a', object);
  await clock.advance(3_600_000);
  return checks.view('a', object);
}

test.each(PATHS)(
  'the proof of a machine is read when the marketplace serves %s paths (C11)',
  async (commandPaths) => {
    const answer = (names: readonly string[]) => settled({ containers: { commandPaths }, names });
    expect(await answer(['ok', 't'])).toEqual({ type: 'proven' });
    expect(await answer(['t'])).toEqual({ type: 'noProof' });
    expect(await answer([])).toEqual({ type: 'noFuse' });
  },
);

describe.each([
  ['plain', ''],
  ['packed', Array.from({ length: 300 }, (_, line) => `echo line ${line}\n`).join('')],
] as const)('a modelled machine with a %s start text', (form, script) => {
  const line =
    vastFacts.selfEnd &&
    fuseLine({ url: 'http://127.0.0.1:9', facts: vastFacts.selfEnd }, { lifeSeconds: 700 });
  const sent = packOnStart(startText(line ?? '', script));

  test('is proven when its image has a client, and unproven when it has none', async () => {
    if (sent.type === 'tooLong') throw new Error(sent.message);
    expect(sent.type).toBe(form);
    const answer = (imageHasClient: boolean) =>
      settled({ containers: { imageHasClient }, onStart: sent.script });
    expect(await answer(true)).toEqual({ type: 'proven' });
    expect(await answer(false)).toEqual({ type: 'noProof' });
  });
});
