/**
 * Rents a machine of the simulator, lets ten minutes pass and reads its bill: docs/how-to/simulator-library.md explains it.
 * Opens no socket and costs nothing.
 */
import process from 'node:process';
import {
  createMarketplaceClient,
  createPacer,
  Secret,
  silentLogger,
  systemClock,
  systemRandom,
} from 'gpu-rental-operator/client';
import { createSimulator } from 'gpu-rental-operator/simulator';

const simulator = createSimulator({
  catalog: [{ id: 1, gpuName: 'RTX 4090', pricePerHour: 0.36, hostId: 7 }],
  settings: { boot: { scale: 0.01 }, pauses: { scale: 0 } },
});
const pacer = createPacer({ clock: systemClock });
const client = createMarketplaceClient({
  baseUrl: 'http://127.0.0.1',
  apiKey: new Secret(simulator.apiKey),
  transport: simulator.handle,
  pacer,
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});

try {
  const { instanceId } = await client.instances.rent(
    '1',
    { image: 'ubuntu:24.04', diskGB: 10, label: 'example' },
    { deadlineMs: 60_000 },
  );
  simulator.advance(600);
  const instance = await client.instances.get(instanceId);
  process.stdout.write(
    `machine ${instanceId} is ${instance?.actualStatus} for ${instance?.pricePerHour} micro-dollars an hour\n`,
  );
  await client.instances.destroy(instanceId);
} finally {
  pacer.stop();
}
