import { expect, test } from 'vitest';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { SelfEndChecks } from '../../src/controllers/gpu-instance/self-end-check.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { createPacer } from '../../src/market/pacing.ts';
import { openMarket } from '../../src/markets/catalog.ts';
import { simulatedService } from '../builders/simulated-service.ts';
import { createVirtualClock } from '../builders/virtual-clock.ts';

const FOLDER = 'var/tmp/.gpurental';
const PATHS = ['absolute', 'relative', 'both'] as const;

/** Returns the answer on a machine whose disk has these files, at a marketplace that serves paths in that form. */
async function settled(commandPaths: (typeof PATHS)[number], names: readonly string[]) {
  const service = simulatedService({ settings: { containers: { commandPaths }, boot: { scale: 0 } } });
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
  const request = { image: 'x', diskGB: 10, label: 'l', env: {}, ports: [], ssh: false };
  const { instanceId: id } = await market.rent(offer?.id ?? '', request, { deadlineMs: 30_000 });
  const contract = service.simulator.world().tables.contracts[Number(id)];
  if (!contract) throw new Error('nothing was rented');
  const files = Object.fromEntries(names.map((name) => [`${FOLDER}/${name}`, 0]));
  service.put('contracts', { ...contract, files });
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
  async (paths) => {
    expect(await settled(paths, ['ok', 't'])).toEqual({ type: 'proven' });
    expect(await settled(paths, ['t'])).toEqual({ type: 'noProof' });
    expect(await settled(paths, [])).toEqual({ type: 'noFuse' });
  },
);
